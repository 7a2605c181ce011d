/**
 * A machine and its pods as network namespaces: one with the bridge and the rules, and one for each pod, connected to
 * the bridge as the CNI plugin does it. Needs root, `ip` and `nft`.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { inFamily } from "./families.fixtures.ts"
import type { Answer, Command } from "./pod-program.fixtures.ts"

export const ableToMakePods =
  process.getuid?.() === 0 &&
  ["ip", "nft"].every((program) => Bun.which(program, { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` }) !== null)
if (!ableToMakePods) console.warn("SKIPPED: network policies with real packets need root, ip and nft")

/** The machine's address on the bridge. */
export const GATEWAY = "10.42.0.1"

type WithoutId<C> = C extends unknown ? Omit<C, "id"> : never

let machines = 0

export class PodNetwork {
  /** The namespace of the machine. */
  readonly machine = `k3ts-policy-${process.pid}-${machines++}`
  readonly #namespaces = [this.machine]
  readonly #pods: TestPod[] = []

  /**
   * `pods` has IPv4 addresses by name; each pod also has the corresponding IPv6 address. All of them listen on `ports`.
   */
  static async make(pods: Readonly<Record<string, string>>, ports: readonly number[]): Promise<PodNetwork> {
    const network = new PodNetwork()
    ip("netns", "add", network.machine)
    network.run("ip", "link", "set", "lo", "up")
    network.run("ip", "link", "add", "cni0", "type", "bridge")
    network.run("ip", "addr", "add", `${GATEWAY}/24`, "dev", "cni0")
    network.run("ip", "addr", "add", `${inFamily("IPv6", GATEWAY)}/64`, "dev", "cni0", "nodad")
    network.run("ip", "link", "set", "cni0", "up")
    const settings = [
      "net.ipv4.ip_forward",
      "net.ipv6.conf.all.forwarding",
      "net.bridge.bridge-nf-call-iptables",
      "net.bridge.bridge-nf-call-ip6tables",
    ]
    network.run("sysctl", "-q", "-w", ...settings.map((setting) => `${setting}=1`))
    await Promise.all(Object.entries(pods).map(([name, address]) => network.add(name, address, ports)))
    return network
  }

  /** Runs a program in the namespace of the machine. */
  run(program: string, ...args: readonly string[]): string {
    return ip("netns", "exec", this.machine, program, ...args)
  }

  /** Starts a server on the machine that sends `machine` to every client. */
  listenOnMachine(address: string, port: number): { readonly ready: Promise<unknown> } & AsyncDisposable {
    const code = `require("node:net").createServer((s) => s.end("machine")).listen(${port}, "${address}", () => console.log(1))`
    const child = spawn("ip", ["netns", "exec", this.machine, process.execPath, "-e", code])
    return {
      ready: once(child.stdout, "data"),
      async [Symbol.asyncDispose]() {
        child.kill("SIGKILL")
        await once(child, "exit")
      },
    }
  }

  /** Returns the addresses of a pod with this prefix. */
  addressesOf(pod: string, start: string): readonly string[] {
    const text = ip("-n", this.pod(pod).namespace, "-o", "addr", "show", "dev", "eth0")
    return [...text.matchAll(/ inet6? ([^/]+)/g)].map(([, address]) => address!).filter((one) => one.startsWith(start))
  }

  pod(name: string): TestPod {
    return this.#pods.find((pod) => pod.name === name && !pod.isGone)!
  }

  /** Creates the pod's network, as a runtime creates a sandbox, and then starts its program. */
  async add(name: string, address: string, ports: readonly number[]): Promise<TestPod> {
    const pod = this.sandbox(name, address)
    await pod.start(ports)
    return pod
  }

  sandbox(name: string, address: string): TestPod {
    const number = this.#namespaces.length
    const namespace = `${this.machine}-${number}`
    ip("netns", "add", namespace)
    this.#namespaces.push(namespace)
    const device = `veth${number}`
    this.run("ip", "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    this.run("ip", "link", "set", device, "master", "cni0", "up")
    this.run("bridge", "link", "set", "dev", device, "hairpin", "on")
    for (const args of [
      ["addr", "add", `${address}/24`, "brd", "+", "dev", "eth0"],
      ["addr", "add", `${inFamily("IPv6", address)}/64`, "dev", "eth0", "nodad"],
      ["link", "set", "eth0", "up"],
      ["link", "set", "lo", "up"],
      ["route", "add", "default", "via", GATEWAY],
      ["route", "add", "default", "via", inFamily("IPv6", GATEWAY)],
    ])
      ip("-n", namespace, ...args)
    const pod = new TestPod(name, address, namespace)
    this.#pods.push(pod)
    return pod
  }

  [Symbol.dispose](): void {
    for (const pod of this.#pods) pod.stop()
    for (const namespace of this.#namespaces) ip("netns", "delete", namespace)
  }
}

export class TestPod {
  readonly name: string
  readonly address: string
  readonly namespace: string
  isGone = false
  #process: ChildProcess | undefined
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #last = 0

  constructor(name: string, address: string, namespace: string) {
    this.name = name
    this.address = address
    this.namespace = namespace
  }

  async start(ports: readonly number[]): Promise<void> {
    const program = join(import.meta.dir, "pod-program.fixtures.ts")
    const child = spawn(
      "ip",
      ["netns", "exec", this.namespace, process.execPath, program, this.name, ...ports.map(String)],
      {
        stdio: ["pipe", "pipe", "inherit"],
      },
    )
    this.#process = child
    const ready = new Promise<Answer>((resolve) => this.#waiting.set(0, resolve))
    createInterface({ input: child.stdout }).on("line", (line) => {
      const answer = JSON.parse(line) as Answer
      this.#waiting.get(answer.id)?.(answer)
      this.#waiting.delete(answer.id)
    })
    await ready
  }

  /** Returns what the pod gets from the other end; undefined when nothing comes. */
  async tell(command: WithoutId<Command>): Promise<string | undefined> {
    const id = ++this.#last
    const answer = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve))
    this.#process!.stdin!.write(`${JSON.stringify({ ...command, id })}\n`)
    return (await answer).said
  }

  /** Ends the pod's program; its network disappears with it. */
  stop(): void {
    this.isGone = true
    this.#process?.kill("SIGKILL")
  }
}

function ip(...args: readonly string[]): string {
  return execFileSync("ip", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
}
