import { run } from "../../../../pkg/process/run.ts"
import type { CgroupLimits } from "../runtime.ts"

/**
 * The slices of pods in systemd, with cgroup v2. What is written to the cgroup of a slice lasts until systemd looks
 * again at the slice, as with the first container in it or at `systemctl daemon-reload`: only what systemd itself was
 * told stays.
 */
export interface Slices {
  /** Starts a slice with limits, or changes those of a slice that is there. */
  set(name: string, resources: CgroupLimits): Promise<void>
  /** Ends a slice without processes. While it is there, systemd makes its cgroup again after a removal. */
  stop(name: string): Promise<void>
}

const MANAGER = ["org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"] as const
/** A limit of systemd that limits nothing. */
const INFINITY = 2n ** 64n - 1n
/** systemd keeps quotas as whole percents of a processor. */
const PERCENT_MICROSECONDS = 10_000
const DEFAULT_PERIOD_MICROSECONDS = 100_000
/** So that the cgroups of a slice have these controllers; and a shutdown does not end it before its containers. */
const MADE_WITH: readonly SliceProperty[] = [
  ["CPUAccounting", "b", "true"],
  ["MemoryAccounting", "b", "true"],
  ["IOAccounting", "b", "true"],
  ["TasksAccounting", "b", "true"],
  ["DefaultDependencies", "b", "false"],
]

/** The name of a property of systemd, the D-Bus type of its value, and the value. */
export type SliceProperty = readonly [name: string, type: "b" | "t", value: string]

/** Talks to systemd by its program busctl. Source: runc's cgroups/systemd/v2.go. */
export const systemdSlices: Slices = {
  async set(name, resources) {
    const properties = sliceProperties(resources)
    const made = [...MADE_WITH, ...properties]
    try {
      await call("StartTransientUnit", "ssa(sv)a(sa(sv))", name, "fail", ...array(made), "0")
    } catch {
      await call("SetUnitProperties", "sba(sv)", name, "true", ...array(properties))
    }
  },
  async stop(name) {
    await run("systemctl", ["stop", name])
  },
}

/**
 * Converts cpu shares to the weight of v2, from 1 to 10000. Source: runc libcontainer/cgroups
 * ConvertCPUSharesToCgroupV2Value.
 */
export const weightOf = (shares: number): number =>
  Math.floor(1 + ((Math.min(Math.max(shares, 2), 262_144) - 2) * 9999) / 262_142)

/** Returns the limits in systemd's terms; 0 stands for a limit that is not set, less for none at all. */
export function sliceProperties({
  cpuShares,
  cpuQuota,
  cpuPeriod = DEFAULT_PERIOD_MICROSECONDS,
  memoryLimitInBytes,
  mostPids,
}: CgroupLimits): readonly SliceProperty[] {
  const properties: SliceProperty[] = []
  if (cpuShares) properties.push(["CPUWeight", "t", String(weightOf(cpuShares))])
  if (cpuQuota) {
    const perSecond = Math.ceil((cpuQuota * 1e6) / cpuPeriod / PERCENT_MICROSECONDS) * PERCENT_MICROSECONDS
    properties.push(["CPUQuotaPerSecUSec", "t", String(cpuQuota < 0 ? INFINITY : perSecond)])
    properties.push(["CPUQuotaPeriodUSec", "t", String(cpuPeriod)])
  }
  if (memoryLimitInBytes)
    properties.push(["MemoryMax", "t", String(memoryLimitInBytes < 0 ? INFINITY : memoryLimitInBytes)])
  if (mostPids) properties.push(["TasksMax", "t", String(mostPids)])
  return properties
}

const array = (properties: readonly SliceProperty[]): readonly string[] => [
  String(properties.length),
  ...properties.flat(),
]

const call = (method: string, signature: string, ...args: readonly string[]): Promise<string> =>
  run("busctl", ["call", "--quiet", ...MANAGER, method, signature, ...args])
