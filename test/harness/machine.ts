/**
 * Machines for tests of several nodes. A machine is a set of namespaces: its own network with one interface in a
 * segment of the test's, processes, mounts (/run, /var/log, /var/lib/kubelet … are its own), host name and cgroups. It
 * shares the kernel, the programs and the disk of this host. A containerd that runs on it sees nothing of the others.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { onCutOff } from "./abandoned.ts"
import { run, type Ran } from "./kubectl.ts"
import { enterCgroups, makeCgroups, removeCgroups, unified } from "./machine/cgroups.ts"
import { Lan } from "./machine/lan.ts"

/** Machines in one network segment. Disposing it ends and removes all. */
export interface Machines extends AsyncDisposable {
  readonly lan: Lan
  /** Makes a machine, which is its host name too, and switches it on. */
  add(name: string): Promise<Machine>
  /** Drops all packets between two machines until `heal`. */
  cut(a: Machine, b: Machine): Promise<void>
  heal(): Promise<void>
}

/** What this host lacks for machines; empty if nothing. */
export function machinesLack(): readonly string[] {
  if (process.getuid?.() !== 0) return ["root"]
  const programs = ["ip", "nft", "nsenter", "unshare", "awk"]
  const lacking = programs.filter((program) => spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0)
  if (lacking.length > 0) return lacking
  const tried = spawnSync("unshare", ["--mount", "--net", "--uts", "--ipc", "--pid", "--cgroup", "--fork", "true"])
  return tried.status === 0 ? [] : [`namespaces (${tried.stderr.toString().trim()})`]
}

export async function startMachines(): Promise<Machines> {
  const lan = await Lan.create()
  const folder = mkdtempSync(join(tmpdir(), "k3ts-machines-"))
  const all: Machine[] = []
  const kept = onCutOff(() => {
    for (const machine of all) machine.die()
    lan.removeNow()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    lan,
    async add(name) {
      const machine = new Machine(name, all.length + 1, join(folder, name), lan)
      all.push(machine)
      await machine.powerOn()
      return machine
    },
    cut: (a, b) => lan.cut(a.index, b.index),
    heal: () => lan.heal(),
    async [Symbol.asyncDispose]() {
      kept.release()
      await Promise.all(all.map((machine) => machine.powerOff()))
      await lan.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export class Machine {
  readonly name: string
  readonly index: number
  /** A folder of this host in which the machine keeps its files; it has the same path on the machine. */
  readonly folder: string
  readonly dataDir: string
  readonly address: string
  readonly address6: string
  readonly #lan: Lan
  readonly #cgroupName: string
  #init: { readonly pid: number; readonly cgroups: readonly string[]; readonly outer: ChildProcess } | undefined

  constructor(name: string, index: number, folder: string, lan: Lan) {
    this.name = name
    this.index = index
    this.folder = folder
    this.dataDir = join(folder, "data")
    this.#lan = lan
    this.#cgroupName = `${basename(join(folder, ".."))}-${name}`
    const { address, address6 } = lan.place(index)
    this.address = address
    this.address6 = address6
    mkdirSync(this.dataDir, { recursive: true })
    writeFileSync(join(folder, "resolv.conf"), `nameserver ${lan.gateway.address}\n`)
    writeFileSync(join(folder, "hosts"), `127.0.0.1 localhost\n::1 localhost\n${address} ${name}\n`)
    if (unified) writeFileSync(join(folder, "cgroup2"), "")
  }

  /** Starts the machine without any program of k3ts. It has the files that it had when it was switched off. */
  async powerOn(): Promise<void> {
    const cgroups = makeCgroups(this.#cgroupName)
    const boot = ["bash", join(import.meta.dirname, "machine/boot.sh"), this.folder, this.name]
    const namespaces = ["--mount", "--net", "--uts", "--ipc", "--pid", "--cgroup", "--mount-proc"]
    const outer = spawn(
      "bash",
      [
        "-c",
        `${enterCgroups(cgroups, false)} && exec "$@"`,
        "bash",
        "unshare",
        ...namespaces,
        "--fork",
        "--kill-child",
        ...boot,
      ],
      { stdio: ["ignore", "pipe", "pipe"] },
    )
    let complaint = ""
    outer.stderr.on("data", (bytes: Buffer) => (complaint += bytes.toString()))
    const up = await Promise.race([once(outer.stdout, "data").then(() => true), once(outer, "exit").then(() => false)])
    if (!up) {
      await removeCgroups(cgroups)
      throw new Error(`The machine ${this.name} does not start: ${complaint.trim()}`)
    }
    this.#init = { pid: childOf(outer.pid!)!, cgroups, outer }
    await this.#lan.connect(this.index, this.#init.pid)
  }

  /** Ends all processes at once, as a loss of power does. */
  async powerOff(): Promise<void> {
    const init = this.#init
    if (init === undefined) return
    this.#init = undefined
    const ended = init.outer.exitCode === null ? once(init.outer, "exit") : undefined
    killIfThere(init.pid)
    await ended
    await removeCgroups(init.cgroups)
  }

  /** The same without waiting, for a test run that a signal ends. The machine's empty cgroups stay. */
  die(): void {
    if (this.#init !== undefined) killIfThere(this.#init.pid)
  }

  /** Pulls out the network cable, or puts it in again and waits until the machine has noticed. */
  async plug(plugged: boolean): Promise<void> {
    await this.#lan.plug(this.index, plugged)
    // The kernel tells an interface of its carrier once a second at most, and drops packets until then.
    if (plugged) await this.sh("until [ $(cat /sys/class/net/eth0/operstate) = up ]; do sleep 0.05; done")
  }

  /** The command by which this host runs a program on the machine. */
  command(program: string, ...args: readonly string[]): readonly [string, ...string[]] {
    if (this.#init === undefined) throw new Error(`The machine ${this.name} is switched off`)
    const { pid, cgroups } = this.#init
    const enter = `${enterCgroups(cgroups, true)} && exec nsenter --all --target ${pid} -- "$@"`
    return ["bash", "-c", enter, "bash", program, ...args]
  }

  /** Runs a program on the machine to its end. */
  run(program: string, ...args: readonly string[]): Promise<Ran> {
    const [first, ...rest] = this.command(program, ...args)
    return run(first, rest)
  }

  /** Runs a shell script on the machine and returns its output. @throws Error with the errors of the script */
  async sh(script: string): Promise<string> {
    const { code, out, err } = await this.run("sh", "-c", script)
    if (code !== 0) throw new Error(`${this.name}: ${script} ended with ${code}: ${(err || out).trim()}`)
    return out
  }
}

/** Ends a process that may have ended by itself. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (err) {
    if ((err as { code?: string }).code !== "ESRCH") throw err
  }
}

/** Returns the pid of the first child of a process: what `nsenter` and `unshare` have started. */
export function childOf(pid: number): number | undefined {
  const path = `/proc/${pid}/task/${pid}/children`
  const first = existsSync(path) ? readFileSync(path, "utf8").trim().split(" ")[0] : undefined
  return first === undefined || first === "" ? undefined : Number(first)
}
