import { join } from "node:path"
import type { CpuUsage, Detail, DeviceUsage, MemoryUsage } from "../../usage.ts"
import type { DeviceNames } from "./devices.ts"
import type { ReadCgroup } from "./read-cgroup.ts"
import { readPressure } from "./pressure.ts"
import { readKernelFile, readNumber, readTable } from "./kernel-files.ts"

/**
 * Reads cgroups of the unified hierarchy at `root`. Source of which figure comes from which file: cadvisor
 * container/libcontainer/handler.go.
 */
export const cgroupV2 =
  (root: string, deviceNames: DeviceNames): ReadCgroup =>
  async (folder, detail) => {
    const path = join(root, folder)
    if (detail === "cpu and memory") {
      const [cpu, memory] = await Promise.all([readCpu(path), readMemory(path, detail)])
      return cpu === undefined && memory === undefined ? undefined : { cpu, memory }
    }
    const [cpu, memory, processes, io, pressure] = await Promise.all([
      readCpu(path),
      readMemory(path, detail),
      readNumber(join(path, "pids.current")),
      readIo(path, deviceNames),
      readPressure((resource) => join(path, `${resource}.pressure`)),
    ])
    return cpu === undefined && memory === undefined ? undefined : { cpu, memory, processes, io, pressure }
  }

async function readCpu(folder: string): Promise<CpuUsage | undefined> {
  const stat = await readTable(join(folder, "cpu.stat"))
  const nanoseconds = (name: string): number => (stat.get(name) ?? 0) * 1000
  if (!stat.has("usage_usec")) return undefined
  const periods = stat.get("nr_periods")
  return {
    nanoseconds: nanoseconds("usage_usec"),
    userNanoseconds: nanoseconds("user_usec"),
    systemNanoseconds: nanoseconds("system_usec"),
    throttling:
      periods === undefined
        ? undefined
        : {
            periods,
            throttledPeriods: stat.get("nr_throttled") ?? 0,
            throttledNanoseconds: nanoseconds("throttled_usec"),
          },
  }
}

async function readMemory(folder: string, detail: Detail): Promise<MemoryUsage | undefined> {
  const isAll = detail === "all"
  const [usage, limit, peak, swap, stat, events] = await Promise.all([
    readNumber(join(folder, "memory.current")),
    readNumber(join(folder, "memory.max")),
    isAll ? readNumber(join(folder, "memory.peak")) : undefined,
    readNumber(join(folder, "memory.swap.current")),
    readTable(join(folder, "memory.stat")),
    isAll ? readTable(join(folder, "memory.events")) : undefined,
  ])
  if (usage === undefined) return undefined
  const of = (name: string): number => stat.get(name) ?? 0
  return {
    usage,
    workingSet: Math.max(0, usage - of("inactive_file")),
    rss: of("anon"),
    cache: of("file"),
    mappedFiles: of("file_mapped"),
    swap,
    peak,
    limit,
    pageFaults: of("pgfault"),
    majorPageFaults: of("pgmajfault"),
    failures: events?.get("max") ?? 0,
  }
}

async function readIo(folder: string, deviceNames: DeviceNames): Promise<readonly DeviceUsage[]> {
  const [text, names] = await Promise.all([readKernelFile(join(folder, "io.stat")), deviceNames()])
  return [...text.matchAll(/^(\d+):(\d+) (.*)$/gm)].map(([, major = "", minor = "", counts = ""]) => {
    const of = (name: string): number => Number(new RegExp(`\\b${name}=(\\d+)`).exec(counts)?.[1] ?? 0)
    return {
      device: names.get(`${major}:${minor}`) ?? "",
      major,
      minor,
      readBytes: of("rbytes"),
      writtenBytes: of("wbytes"),
      reads: of("rios"),
      writes: of("wios"),
    }
  })
}
