import { readFileSync } from "node:fs"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { makeDisk, type MachineImages } from "./debian.ts"

export interface MachineRun {
  /** The content of /folder in the machine, which is the command's working directory. */
  readonly folder: string
  /** A script for the machine's sh, run as root. */
  readonly command: string
  /** Milliseconds after which the machine is switched off. */
  readonly timeoutMs: number
  readonly memoryMiB?: number
  readonly cpus?: number
  /** Whether systemd starts the machine, and then the command. */
  readonly systemd?: boolean
}

export interface MachineResult {
  /** Undefined when the machine ended before the command. */
  readonly exitCode: number | undefined
  /** Standard output and standard error of the command. */
  readonly output: string
  /** The messages of the kernel. */
  readonly console: string
}

/** The size of the disk for /folder. */
const FOLDER_SIZE = "2G"

/**
 * Runs one command in a new virtual machine and switches the machine off. Changes to the disks are discarded. Without
 * hardware virtualization the machine is emulated, about 20 times slower.
 */
export async function runInMachine(images: MachineImages, request: MachineRun): Promise<MachineResult> {
  const { folder, command, timeoutMs, memoryMiB = 2048, cpus = 2, systemd = false } = request
  const work = await mkdtemp(join(tmpdir(), "k3ts-vm-"))
  const at = (name: string) => join(work, name)
  const textOf = (name: string) => readFile(at(name), "utf8").catch(() => "")
  try {
    await writeFile(join(folder, ".command"), command)
    await makeDisk(folder, at("folder.ext4"), FOLDER_SIZE)
    const ports = ["console", "output", "code"].flatMap((name) => ["-serial", `file:${at(name)}`])
    const disks = [images.root, at("folder.ext4")].flatMap((file) => [
      "-drive",
      `file=${file},if=virtio,format=raw,snapshot=on`,
    ])
    await run(
      "qemu-system-x86_64",
      [
        ...["-accel", hasVirtualisation() ? "kvm" : "tcg,thread=multi", "-cpu", "max", "-M", "q35"],
        ...["-m", String(memoryMiB), "-smp", String(cpus), "-display", "none", "-no-reboot", "-nic", "none"],
        ...[
          "-kernel",
          images.kernel,
          "-initrd",
          images.initramfs,
          "-append",
          `console=ttyS0 panic=-1 quiet${systemd ? " k3ts.systemd" : ""}`,
        ],
        ...ports,
        ...disks,
      ],
      { signal: AbortSignal.timeout(timeoutMs) },
    ).catch((err: unknown) => {
      if (!(err instanceof Error) || !err.message.includes("abort")) throw err
    })
    const code = (await textOf("code")).trim()
    return {
      exitCode: code === "" ? undefined : Number(code),
      output: await textOf("output"),
      console: await textOf("console"),
    }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/**
 * Returns whether the processor can virtualize. /dev/kvm is no proof: inside a virtual machine it may exist without
 * hardware support.
 */
const hasVirtualisation = (): boolean => /^flags.*\b(vmx|svm)\b/m.test(readFileSync("/proc/cpuinfo", "utf8"))
