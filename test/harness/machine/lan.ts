import { spawnSync } from "node:child_process"
import { run } from "../kubectl.ts"

/** The most networks of tests at once. */
const NETWORKS = 250

/** Runs a program. @throws Error with what it complains of */
export async function must(program: string, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await run(program, args)
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${(err || out).trim()}`)
  return out
}

/** The place of one machine in a network. */
export interface Place {
  readonly address: string
  readonly address6: string
}

/**
 * An Ethernet segment: a bridge in a network namespace of its own, so that no rule of this host concerns it. Nothing
 * leads out of it. This host has an address in it: tests connect to the machines from there.
 */
export class Lan {
  readonly #slot: number
  /** The namespace, and the interface of this host. */
  readonly #name: string

  private constructor(slot: number) {
    this.#slot = slot
    this.#name = nameOf(slot)
  }

  static async create(): Promise<Lan> {
    for (let slot = 1; slot <= NETWORKS; slot++) {
      if ((await run("ip", ["netns", "add", nameOf(slot)])).code !== 0) continue
      const lan = new Lan(slot)
      try {
        await lan.#make()
      } catch (err) {
        await lan.remove()
        throw err
      }
      return lan
    }
    throw new Error(`Cannot make a network for machines: ${NETWORKS} exist, the last is ${nameOf(NETWORKS)}`)
  }

  /** The address of this host. */
  get host(): string {
    return this.#place(254).address
  }

  /** The gateway of the machines, which forwards nothing. */
  get gateway(): Place {
    return this.#place(1)
  }

  /** Where machine `index`, from 1 on, is. */
  place(index: number): Place {
    return this.#place(index + 10)
  }

  /** Connects the namespace of a process by an interface `eth0`. */
  async connect(index: number, pid: number): Promise<void> {
    const { address, address6 } = this.place(index)
    // The kernel removes the interface of a machine that was switched off a while after its last process.
    await run("ip", ["-n", this.#name, "link", "delete", portOf(index)])
    await this.ip("link", "add", portOf(index), "type", "veth", "peer", "name", "eth0", "netns", String(pid))
    await this.ip("link", "set", portOf(index), "master", "lan", "up")
    const inside = (...args: readonly string[]) => must("nsenter", "--net", "--target", String(pid), "ip", ...args)
    await inside("link", "set", "lo", "up")
    await inside("addr", "add", `${address}/24`, "dev", "eth0")
    await inside("addr", "add", `${address6}/64`, "dev", "eth0", "nodad")
    await inside("link", "set", "eth0", "up")
    await inside("route", "add", "default", "via", this.gateway.address)
    await inside("-6", "route", "add", "default", "via", this.gateway.address6)
  }

  /** Pulls out a machine's cable, or puts it in again. */
  async plug(index: number, plugged: boolean): Promise<void> {
    await this.ip("link", "set", portOf(index), plugged ? "up" : "down")
  }

  /** Drops everything between two machines; both reach the others. */
  async cut(a: number, b: number): Promise<void> {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const)
      await this.#nft(`add rule bridge cuts forward iifname ${portOf(from)} oifname ${portOf(to)} drop`)
  }

  /** Ends all cuts. */
  heal(): Promise<void> {
    return this.#nft("flush chain bridge cuts forward")
  }

  async remove(): Promise<void> {
    // The bridge and all pairs of interfaces go with the namespace.
    await run("ip", ["netns", "delete", this.#name])
    await run("ip", ["link", "delete", this.#name])
  }

  /** The same without waiting, for a test run that is cut off. */
  removeNow(): void {
    spawnSync("ip", ["netns", "delete", this.#name])
  }

  async #make(): Promise<void> {
    await this.ip("link", "set", "lo", "up")
    await this.ip("link", "add", "lan", "type", "bridge", "forward_delay", "0")
    await this.ip("addr", "add", `${this.gateway.address}/24`, "dev", "lan")
    await this.ip("addr", "add", `${this.gateway.address6}/64`, "dev", "lan", "nodad")
    await this.ip("link", "set", "lan", "up")
    await this.#nft("add table bridge cuts")
    await this.#nft("add chain bridge cuts forward { type filter hook forward priority 0; }")
    await must("ip", "link", "add", this.#name, "type", "veth", "peer", "name", "host", "netns", this.#name)
    await this.ip("link", "set", "host", "master", "lan", "up")
    await must("ip", "addr", "add", `${this.host}/24`, "dev", this.#name)
    await must("ip", "link", "set", this.#name, "up")
  }

  /** Runs `ip` in the namespace of the bridge. */
  ip(...args: readonly string[]): Promise<string> {
    return must("ip", "-n", this.#name, ...args)
  }

  async #nft(command: string): Promise<void> {
    await must("ip", "netns", "exec", this.#name, "nft", command)
  }

  /** Addresses of RFC 2544, which nobody uses. */
  #place(last: number): Place {
    const [slot, end] = [this.#slot.toString(16), last.toString(16)]
    return { address: `198.18.${this.#slot}.${last}`, address6: `fd18:${slot}::${end}` }
  }
}

const nameOf = (slot: number): string => `k3tslan${slot}`
const portOf = (index: number): string => `port${index}`
