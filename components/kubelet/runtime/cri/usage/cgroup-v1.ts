import { existsSync } from "node:fs"
import { join } from "node:path"
import type { CpuUsage, Detail, DeviceUsage, MemoryUsage } from "../../usage.ts"
import type { DeviceNames } from "./devices.ts"
import type { ReadCgroup } from "./read-cgroup.ts"
import { readKernelFile, readNumber, readTable } from "./kernel-files.ts"

const TICK_NS = 1e7
/**
 * The limit that the kernel shows for a cgroup without one is just below 2^63; anything above this counts as no limit.
 */
const NO_LIMIT = 2 ** 62

/**
 * Reads cgroups v1, with a hierarchy for each controller below `root`. Source of which figure comes from which file:
 * cadvisor container/libcontainer/handler.go.
 */
export function cgroupV1(root: string, deviceNames: DeviceNames): ReadCgroup {
  const hierarchy = (...names: readonly string[]) =>
    names.map((name) => join(root, name)).find((path) => existsSync(path)) ?? join(root, names[0]!)
  const [cpuacct, cpu, memory, pids, blkio] = [
    hierarchy("cpuacct", "cpu,cpuacct"),
    hierarchy("cpu", "cpu,cpuacct"),
    hierarchy("memory"),
    hierarchy("pids"),
    hierarchy("blkio"),
  ]
  return async (folder, detail) => {
    if (detail === "cpu and memory") {
      const [nanoseconds, memoryUsage] = await Promise.all([
        readNumber(join(cpuacct, folder, "cpuacct.usage")),
        readMemory(join(memory, folder), detail),
      ])
      const cpuUsage = nanoseconds === undefined ? undefined : { nanoseconds }
      return cpuUsage === undefined && memoryUsage === undefined ? undefined : { cpu: cpuUsage, memory: memoryUsage }
    }
    const [cpuUsage, memoryUsage, processes, io] = await Promise.all([
      readCpu(join(cpuacct, folder), join(cpu, folder)),
      readMemory(join(memory, folder), detail),
      readNumber(join(pids, folder, "pids.current")),
      readIo(join(blkio, folder), deviceNames),
    ])
    return cpuUsage === undefined && memoryUsage === undefined
      ? undefined
      : { cpu: cpuUsage, memory: memoryUsage, processes, io }
  }
}

async function readCpu(accounting: string, bandwidth: string): Promise<CpuUsage | undefined> {
  const [all, user, system, ticks, stat] = await Promise.all([
    readNumber(join(accounting, "cpuacct.usage")),
    readNumber(join(accounting, "cpuacct.usage_user")),
    readNumber(join(accounting, "cpuacct.usage_sys")),
    readTable(join(accounting, "cpuacct.stat")),
    readTable(join(bandwidth, "cpu.stat")),
  ])
  if (all === undefined) return undefined
  const periods = stat.get("nr_periods")
  return {
    nanoseconds: all,
    userNanoseconds: user ?? (ticks.get("user") ?? 0) * TICK_NS,
    systemNanoseconds: system ?? (ticks.get("system") ?? 0) * TICK_NS,
    throttling:
      periods === undefined
        ? undefined
        : {
            periods,
            throttledPeriods: stat.get("nr_throttled") ?? 0,
            throttledNanoseconds: stat.get("throttled_time") ?? 0,
          },
  }
}

async function readMemory(folder: string, detail: Detail): Promise<MemoryUsage | undefined> {
  const [stat, usage, limit, peak, failures] = await Promise.all([
    readTable(join(folder, "memory.stat")),
    readNumber(join(folder, "memory.usage_in_bytes")),
    readNumber(join(folder, "memory.limit_in_bytes")),
    ...(detail === "all"
      ? [readNumber(join(folder, "memory.max_usage_in_bytes")), readNumber(join(folder, "memory.failcnt"))]
      : [undefined, undefined]),
  ])
  if (usage === undefined) return undefined
  // The values named `total_` include the child cgroups.
  const of = (name: string): number => stat.get(`total_${name}`) ?? 0
  return {
    usage,
    workingSet: Math.max(0, usage - of("inactive_file")),
    rss: of("rss"),
    cache: of("cache"),
    mappedFiles: of("mapped_file"),
    swap: stat.get("total_swap"),
    peak,
    limit: limit === undefined || limit >= NO_LIMIT ? undefined : limit,
    pageFaults: of("pgfault"),
    majorPageFaults: of("pgmajfault"),
    failures: failures ?? 0,
  }
}

async function readIo(folder: string, deviceNames: DeviceNames): Promise<readonly DeviceUsage[]> {
  const [bytes, operations, names] = await Promise.all([
    readKernelFile(join(folder, "blkio.throttle.io_service_bytes_recursive")),
    readKernelFile(join(folder, "blkio.throttle.io_serviced_recursive")),
    deviceNames(),
  ])
  const devices = new Map<string, Record<string, number>>()
  const note = (text: string, kind: string) => {
    for (const [, device, what, count] of text.matchAll(/^(\d+:\d+) (Read|Write) (\d+)$/gm))
      devices.set(device!, { ...devices.get(device!), [`${what} ${kind}`]: Number(count) })
  }
  note(bytes, "bytes")
  note(operations, "times")
  return [...devices].map(([device, counts]) => {
    const [major = "", minor = ""] = device.split(":")
    return {
      device: names.get(`${major}:${minor}`) ?? "",
      major,
      minor,
      readBytes: counts["Read bytes"] ?? 0,
      writtenBytes: counts["Write bytes"] ?? 0,
      reads: counts["Read times"] ?? 0,
      writes: counts["Write times"] ?? 0,
    }
  })
}
