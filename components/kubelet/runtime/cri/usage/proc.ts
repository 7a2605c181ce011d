import { join } from "node:path"
import type { InterfaceUsage, MachineUsage } from "../../usage.ts"
import { readKernelFile, readTable } from "./kernel-files.ts"
import { readPressure } from "./pressure.ts"

/** Nanoseconds of a tick in /proc/stat: USER_HZ is 100 whatever the kernel uses inside. */
const TICK_NS = 1e7

/** Reads the usage of the machine from `proc` (usually /proc). */
export async function machineUsage(proc: string): Promise<MachineUsage> {
  const [stat, memory, faults, interfaces, routes, pressure] = await Promise.all([
    readKernelFile(join(proc, "stat")),
    readTable(join(proc, "meminfo")),
    readTable(join(proc, "vmstat")),
    interfacesOf(join(proc, "net/dev")),
    readKernelFile(join(proc, "net/route")),
    readPressure((resource) => join(proc, "pressure", resource)),
  ])
  const bytes = (name: string): number => (memory.get(name) ?? 0) * 1024
  // The fields are user nice system idle iowait irq softirq steal; the time of guests is included in user.
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? "")
    .split(" ")
    .map((ticks) => Number(ticks) * TICK_NS)
  return {
    cpu: {
      nanoseconds: user + nice + system + irq + softirq,
      userNanoseconds: user + nice,
      systemNanoseconds: system + irq + softirq,
    },
    memory: {
      usage: bytes("MemTotal") - bytes("MemFree"),
      workingSet: bytes("MemTotal") - bytes("MemAvailable"),
      rss: bytes("AnonPages"),
      cache: bytes("Cached") + bytes("Buffers"),
      mappedFiles: bytes("Mapped"),
      swap: bytes("SwapTotal") - bytes("SwapFree"),
      pageFaults: faults.get("pgfault") ?? 0,
      majorPageFaults: faults.get("pgmajfault") ?? 0,
      failures: 0,
    },
    pressure,
    interfaces: interfaces.filter(({ name }) => !OF_PODS.test(name)),
    mainInterface: routes
      .split("\n")
      .map((line) => line.split("\t"))
      .find(([, destination]) => destination === "00000000")?.[0],
    swapCapacityBytes: bytes("SwapTotal"),
    bootedAt: Number(/^btime (\d+)$/m.exec(stat)?.[1] ?? 0) * 1000,
  }
}

/**
 * Loopback, and the host's ends of the pods' interfaces, whose traffic is counted for the pods. Source: cadvisor
 * manager/machine.go ignored devices.
 */
const OF_PODS = /^(lo|veth.*|docker.*|nerdctl.*)$/

/** Returns the network interfaces that a file `net/dev` lists: of the machine, or of a process's network namespace. */
export async function interfacesOf(path: string): Promise<readonly InterfaceUsage[]> {
  const text = await readKernelFile(path)
  return [...text.matchAll(/^\s*([^\s:]+):\s*(\d.*)$/gm)].map(([, name = "", counts = ""]) => {
    const numbers = counts.trim().split(/\s+/).map(Number)
    const traffic = ([bytes = 0, packets = 0, errors = 0, dropped = 0]: readonly number[]) => ({
      bytes,
      packets,
      errors,
      dropped,
    })
    return { name, received: traffic(numbers.slice(0, 4)), transmitted: traffic(numbers.slice(8, 12)) }
  })
}
