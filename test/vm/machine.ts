import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { mkdir, readFile } from "node:fs/promises"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { makeDisk, type MachineImages } from "./debian.ts"
import { Qmp } from "./qmp.ts"

const ROOT_DISK = "root.ext4"
const FOLDER_DISK = "folder.ext4"
const FOLDER_SIZE = "2G"

/** Times the bounds of commands are stretched, for a host that is busy with other things. */
export const PATIENCE = Number(process.env["K3TS_VM_PATIENCE"] ?? 1)
const KVM = ["-accel", "kvm", "-cpu", "max", "-smp", "2"]
/**
 * An emulated machine has the time of the host: with a clock that counts instructions (-icount) one thread runs all of
 * its processors, and everything takes twice to four times as long. The oldest processor that Bun runs on is emulated,
 * since wider vectors are slower.
 */
const EMULATED = ["-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-smp", "2"]

export interface MachineOptions {
  readonly images: MachineImages
  /** A folder of the host with the disks of the machine, which the machine changes. */
  readonly state: string
  /** The file with the memory of a machine that is continued. */
  readonly memory?: string | undefined
  /** `none`: systemd does not run, though the root has it. */
  readonly services?: "systemd" | "none"
}

export interface CommandResult {
  readonly exitCode: number
  /** Standard output and standard error. */
  readonly output: string
}

/**
 * A virtual machine that runs scripts for the test. Without hardware virtualization it is emulated, 10 to 20 times
 * slower than the host.
 */
export class Machine implements AsyncDisposable {
  readonly #options: MachineOptions
  readonly #qemu: ChildProcess
  readonly #ended: Promise<unknown>
  readonly #shell: Socket
  readonly #qmp: Qmp

  private constructor(options: MachineOptions, qemu: ChildProcess, shell: Socket, qmp: Qmp) {
    this.#options = options
    this.#qemu = qemu
    this.#ended = once(qemu, "exit")
    this.#shell = shell
    this.#qmp = qmp
  }

  /** Starts a machine with the disks of `state`, or continues one that had them. */
  static async start(options: MachineOptions): Promise<Machine> {
    const { images, state, memory, services = "systemd" } = options
    const at = (name: string) => join(state, name)
    const disks = [ROOT_DISK, FOLDER_DISK].flatMap((name) => [
      "-drive",
      `file=${at(name)},if=virtio,format=raw,cache=unsafe`,
    ])
    // Emulated processors that run at the same time have counters of cycles that differ: Linux 6.12 stops at them.
    // And QEMU 7.2 spoils the flags of the processor at `cmpxchg16b`, with which its kernel crashes.
    const append = `console=ttyS0 panic=-1 quiet no_timer_check tsc=unstable clearcpuid=cx16 services=${services}`
    const qemu = spawn(
      "qemu-system-x86_64",
      [
        ...(hasVirtualisation() ? KVM : EMULATED),
        ...["-M", "q35", "-m", "3072", "-display", "none", "-no-reboot"],
        // A network with an address and a gateway, and nothing behind it.
        ...["-nic", "user,model=virtio-net-pci,restrict=on"],
        ...["-kernel", images.kernel, "-initrd", images.initramfs, "-append", append],
        ...["-serial", `file:${at("console")}`, "-serial", `unix:${at("shell")},server=on,wait=off`],
        ...["-qmp", `unix:${at("qmp")},server=on,wait=off`],
        ...disks,
        ...(memory !== undefined ? ["-incoming", "defer"] : []),
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    )
    try {
      const qmp = await eventually(() => Qmp.open(at("qmp")), qemu)
      const shell = await eventually(() => opened(at("shell")), qemu)
      if (memory !== undefined) {
        await qmp.migrate("migrate-incoming", `exec:cat ${memory}`)
        await qmp.execute("cont")
      }
      return new Machine(options, qemu, shell, qmp)
    } catch (err) {
      qemu.kill("SIGKILL")
      throw err
    }
  }

  /** Runs a script with the machine's sh as root. @throws Error when it has not ended after `timeoutMs` */
  async run(script: string, timeoutMs: number): Promise<CommandResult> {
    const text = Buffer.from(script)
    const answer = this.#answer(timeoutMs)
    this.#shell.write(`${text.length}\n`)
    this.#shell.write(text)
    return answer
  }

  /** Resolves once the machine's shell has told that it is there, with which each start begins. */
  async up(timeoutMs: number): Promise<void> {
    await this.#answer(timeoutMs)
  }

  /** Writes the machine's memory to a file, and ends the machine. */
  async save(memory: string): Promise<void> {
    await this.#qmp.execute("stop")
    await this.#qmp.migrate("migrate", `exec:cat > ${memory}`)
    await this.#qmp.execute("quit")
    await this.#ended
  }

  /** Ends the machine as a power cut does: what is not on its disks is lost. */
  async cutPower(): Promise<void> {
    this.#qemu.kill("SIGKILL")
    await this.#ended
  }

  /** Resolves once the machine has switched itself off, or wants to start again. */
  async off(timeoutMs: number): Promise<void> {
    await within(this.#ended, timeoutMs, "the machine did not switch itself off")
  }

  /** The messages of the kernel. */
  console(): Promise<string> {
    return readFile(join(this.#options.state, "console"), "utf8")
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#qmp[Symbol.dispose]()
    this.#shell.destroy()
    if (this.#qemu.exitCode === null && this.#qemu.signalCode === null) await this.cutPower()
  }

  /** The exit code and the length of the output in a line, and then the output. */
  async #answer(timeoutMs: number): Promise<CommandResult> {
    let received = Buffer.alloc(0)
    const complete = new Promise<CommandResult>((resolve, reject) => {
      const end = () => reject(new Error("the machine ended before the command"))
      const read = (data: Buffer) => {
        received = Buffer.concat([received, data])
        const [head, exitCode = "", length = ""] = /^(\d+) (\d+)\n/.exec(received.toString("latin1")) ?? []
        if (head === undefined || received.length < head.length + Number(length)) return
        this.#shell.off("data", read).off("close", end)
        resolve({ exitCode: Number(exitCode), output: received.subarray(head.length).toString() })
      }
      this.#shell.on("data", read).once("close", end)
    })
    return within(complete, timeoutMs, "the command did not end")
  }
}

/** Gives a new machine its disks: copies of an image and of a folder of files, which is /folder there. */
export async function makeDisks(state: string, root: string, folder: string): Promise<void> {
  await mkdir(state, { recursive: true })
  await run("cp", ["--sparse=always", root, join(state, ROOT_DISK)])
  await makeDisk(folder, join(state, FOLDER_DISK), FOLDER_SIZE)
}

/** Copies the disks of a machine that does not run. */
export async function copyDisks(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of [ROOT_DISK, FOLDER_DISK]) await run("cp", ["--sparse=always", join(from, name), join(to, name)])
}

const opened = async (path: string): Promise<Socket> => {
  const socket = connect(path)
  await once(socket, "connect")
  socket.on("error", () => undefined)
  return socket
}

/** QEMU makes its sockets a moment after its start. */
async function eventually<T>(attempt: () => Promise<T>, qemu: ChildProcess): Promise<T> {
  for (let tries = 0; ; tries++)
    try {
      return await attempt()
    } catch (err) {
      if (tries > 200 || qemu.exitCode !== null) throw err
      await Bun.sleep(50)
    }
}

async function within<T>(promise: Promise<T>, boundMs: number, what: string): Promise<T> {
  const timeoutMs = boundMs * PATIENCE
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} within ${timeoutMs / 1000} s`)), timeoutMs)
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Returns whether the processor can virtualize. /dev/kvm is no proof: inside a virtual machine it may exist without
 * hardware support.
 */
const hasVirtualisation = (): boolean => /^flags.*\b(vmx|svm)\b/m.test(readFileSync("/proc/cpuinfo", "utf8"))
