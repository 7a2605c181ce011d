/**
 * A machine and its pods, each a network namespace of its own. The plugin's program runs there as containerd would
 * start it.
 */
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../../../../pkg/clock/real.ts"
import { silent } from "../../../../pkg/log/log.ts"
import { hostIn } from "../../../../pkg/netfilter/host.ts"
import { SourceGuard } from "../sources/source-guard.ts"
import { containerdPaths } from "../../paths.ts"
import { busybox } from "../../needs.fixtures.ts"
import { findCniBinDir } from "../../host.ts"
import { hasPlugins, installPlugins } from "./install-plugins.ts"
import { PluginServer } from "./plugin-server.ts"
import type { CniCommand } from "./cni.ts"

/** Returns what this machine lacks for a lab. */
export const LACKING = [
  process.platform === "linux" && process.getuid?.() === 0 ? undefined : "root on Linux",
  spawnSync("ip", ["netns"]).status === 0 ? undefined : "ip netns",
  busybox === undefined ? "busybox-static" : undefined,
].filter((name) => name !== undefined)

export const HOST_PLUGINS = findCniBinDir()
export const BRIDGE = "cni0"
export const RANGES = ["10.98.0.0/24", "fd98::/64"]

/** containerd's own configuration of the loopback interface. */
export const LOOPBACK = { cniVersion: "0.3.1", name: "cni-loopback", type: "loopback" }

export interface Answer {
  readonly code: number | null
  /** The parsed output of the plugin; undefined if it printed nothing. */
  readonly said: Record<string, unknown>
}

export class PluginLab implements AsyncDisposable {
  readonly machine: string
  readonly folder = mkdtempSync(join(tmpdir(), "k3ts-plugin-"))
  readonly #paths = containerdPaths(join(this.folder, "data"), join(this.folder, "run"))
  readonly #server: PluginServer
  readonly #namespaces: string[] = []

  private constructor(name: string, guarded: boolean) {
    this.machine = this.#namespace(name)
    const guard = new SourceGuard({ clock: realClock, log: silent, pods: () => [], host: hostIn(name) })
    this.#server = new PluginServer({
      ...{ paths: this.#paths, clock: realClock, log: silent },
      guard: guarded ? guard : undefined,
    })
  }

  /** @param guarded whether pods are held to their own addresses */
  static async start({ guarded = false } = {}): Promise<PluginLab> {
    const lab = new PluginLab(`k3ts-lab-${process.pid}${guarded ? "-guarded" : ""}`, guarded)
    installPlugins(lab.#paths, HOST_PLUGINS)
    if (!hasPlugins(lab.#paths)) throw new Error("the plugin's program does not run here")
    await lab.#server.start()
    return lab
  }

  #namespace(name: string): string {
    spawnSync("ip", ["netns", "delete", name])
    run("ip", "netns", "add", name)
    this.#namespaces.push(name)
    return name
  }

  /** Makes an empty network namespace, and returns its name, which is also the id of the container. */
  sandbox(name: string): string {
    return this.#namespace(`${this.machine}-${name}`)
  }

  config(options: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      cniVersion: "1.0.0",
      name: "k3ts",
      type: "k3ts",
      bridge: BRIDGE,
      mtu: 1400,
      ipam: { ranges: RANGES.map((subnet) => [{ subnet }]), dataDir: this.addressFolder },
      ...options,
    }
  }

  get addressFolder(): string {
    return join(this.folder, "networks")
  }

  /** Returns the addresses in use, in no particular order. */
  addresses(): readonly string[] {
    return readdirSync(join(this.addressFolder, "k3ts")).filter((name) => /^[0-9a-f.:]+$/.test(name))
  }

  /** The id of the container that has an address. */
  ownerOf(address: string): string {
    return readFileSync(join(this.addressFolder, "k3ts", address), "utf8").split(/\r?\n/)[0]!
  }

  /** Returns the path of one of our plugins. */
  plugin(name: "k3ts" | "loopback"): string {
    return join(this.#paths.cniBin, name)
  }

  /** Calls a plugin on the machine, by default ours. */
  async call(
    command: CniCommand | "",
    container: string,
    config: unknown = this.config(),
    { plugin = this.plugin("k3ts"), environment = {} as Record<string, string> } = {},
  ): Promise<Answer> {
    const child = spawn("ip", ["netns", "exec", this.machine, plugin], {
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        PATH: process.env.PATH,
        CNI_COMMAND: command,
        CNI_CONTAINERID: container,
        CNI_NETNS: `/run/netns/${container}`,
        CNI_IFNAME: "eth0",
        CNI_PATH: this.#paths.cniBin,
        ...environment,
      },
    })
    let output = ""
    child.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()))
    child.stdin.end(typeof config === "string" ? config : JSON.stringify(config))
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve))
    return { code, said: output.trim() === "" ? {} : (JSON.parse(output) as Record<string, unknown>) }
  }

  /** The socket by which plugins reach the server. */
  get socket(): string {
    return this.#paths.cniSocket
  }

  /** Starts our plugin, writes a part of its configuration and kills it. */
  async callAndKill(command: CniCommand, container: string): Promise<void> {
    const env = { CNI_COMMAND: command, CNI_CONTAINERID: container, CNI_IFNAME: "eth0" }
    const child = spawn(this.plugin("k3ts"), { stdio: ["pipe", "ignore", "inherit"], env })
    child.stdin.on("error", () => undefined)
    await new Promise((resolve) => child.stdin.write("{", resolve))
    child.kill("SIGKILL")
    await new Promise((resolve) => child.once("close", resolve))
  }

  /** Makes a pod and returns its addresses, one from each range. */
  async pod(name: string): Promise<{ name: string; addresses: readonly string[] }> {
    const container = this.sandbox(name)
    await this.call("ADD", container, LOOPBACK)
    const { code, said } = await this.call("ADD", container)
    if (code !== 0) throw new Error(`ADD failed: ${JSON.stringify(said)}`)
    const ips = said["ips"] as readonly { address: string }[]
    return { name: container, addresses: ips.map(({ address }) => address.split("/")[0]!) }
  }

  /** Runs a command in a namespace and returns what it prints. */
  run(namespace: string, ...command: readonly string[]): string {
    return run("ip", "netns", "exec", namespace, ...command)
  }

  /** Whether a ping from a namespace is answered. */
  reaches(from: string, address: string, ...options: readonly string[]): boolean {
    const ping = [busybox!, "ping", "-c", "1", "-W", "1", ...options, address]
    const answers = () => spawnSync("ip", ["netns", "exec", from, ...ping]).status === 0
    // The kernel asks again after a second for a neighbour whose interface was not ready yet.
    return answers() || answers() || answers()
  }

  /** The same asynchronously, so that several pings can run at once. */
  async isAnswered(from: string, address: string, ...options: readonly string[]): Promise<boolean> {
    const ping = [busybox!, "ping", "-c", "1", "-W", "1", ...options, address]
    const child = spawn("ip", ["netns", "exec", from, ...ping], { stdio: "ignore" })
    return (await new Promise((resolve) => child.once("close", resolve))) === 0
  }

  /**
   * Makes a folder for CNI_PATH in which the host's plugins are, so that they act on the machine although they are
   * started beside it.
   */
  pluginsOnMachine(...names: readonly string[]): string {
    const folder = join(this.folder, "plugins")
    mkdirSync(folder, { recursive: true })
    for (const name of names)
      writeFileSync(
        join(folder, name),
        `#!/bin/sh\nexec ip netns exec ${this.machine} ${join(HOST_PLUGINS ?? "", name)}\n`,
        { mode: 0o755 },
      )
    return folder
  }

  /** Makes a plugin that writes to a pipe when it starts, and closes the pipe when it ends, which it never does. */
  hangingPlugin(name: string): { readonly path: string; readonly pipe: string } {
    const path = join(this.folder, "hanging")
    const pipe = join(path, "pipe")
    mkdirSync(path)
    run("mkfifo", pipe)
    writeFileSync(join(path, name), `#!/bin/sh\nexec 3>${pipe}\necho >&3\nexec sleep infinity\n`, { mode: 0o755 })
    return { path, pipe }
  }

  stopServer(): Promise<void> {
    return this.#server.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop()
    for (const name of this.#namespaces) spawnSync("ip", ["netns", "delete", name])
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`)
  return stdout
}
