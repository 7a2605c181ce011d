import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { CgroupDriver } from "../../../../pkg/cri/cgroup-driver.ts"
import type { CgroupLimits, PodCgroups } from "../runtime.ts"
import { removeCgroup } from "./remove-cgroup.ts"
import { systemdSlices, weightOf, type Slices } from "./systemd-slices.ts"

const ROOT = "/sys/fs/cgroup"
/**
 * The v1 hierarchies in which pods get cgroups; those that a host lacks are skipped. A host may also have a v2
 * hierarchy without controllers (`unified`), in which runc creates a cgroup for every container.
 */
const V1_CONTROLLERS = [
  "cpu,cpuacct",
  "cpu",
  "cpuacct",
  "memory",
  "cpuset",
  "pids",
  "hugetlb",
  "freezer",
  "blkio",
  "devices",
  "net_cls,net_prio",
  "perf_event",
  "systemd",
  "unified",
]
const V2_CONTROLLERS = ["cpu", "cpuset", "memory", "pids", "io", "hugetlb"]

/**
 * Returns the name of `["kubepods", "burstable", "podab-c"]` for systemd: each slice contains the names of its parents.
 * `-` separates the levels, so inside of a name it is written `_`.
 */
export const sliceName = (path: readonly string[]): string =>
  `${path.map((part) => part.replaceAll("-", "_")).join("-")}.slice`

/** Returns the path of the cgroup below each hierarchy. */
export const cgroupFolder = (path: readonly string[], driver: CgroupDriver): string =>
  driver === "systemd" ? path.map((_, i) => sliceName(path.slice(0, i + 1))).join("/") : path.join("/")

/** What tests replace. */
interface CgroupHost {
  /** Where the hierarchies are mounted. */
  readonly root: string
  readonly slices: Slices
}

/** The cgroups of this host, v1 or v2. Source: pkg/kubelet/cm/cgroup_manager_linux.go. */
export function hostCgroups(
  driver: CgroupDriver,
  clock: Clock,
  { root, slices }: CgroupHost = { root: ROOT, slices: systemdSlices },
): PodCgroups {
  const unified = existsSync(join(root, "cgroup.controllers"))
  const relative = (path: readonly string[]): string => cgroupFolder(path, driver)
  const hierarchies = unified
    ? [root]
    : V1_CONTROLLERS.filter((name) => existsSync(join(root, name))).map((name) => join(root, name))
  const made = new Set<string>()

  async function make(path: readonly string[]): Promise<void> {
    for (let depth = 1; depth <= path.length; depth++) {
      const part = relative(path.slice(0, depth))
      if (made.has(part)) continue
      for (const hierarchy of hierarchies) {
        if (unified) await delegate(join(hierarchy, depth === 1 ? "" : relative(path.slice(0, depth - 1))))
        await mkdir(join(hierarchy, part), { recursive: true })
        if (hierarchy.endsWith("/cpuset")) await inheritCpuset(join(hierarchy, part))
      }
      // The cgroup of a single pod is not remembered as created, since it may be removed; those above it stay.
      if (depth < path.length) made.add(part)
    }
  }

  return {
    async ensure(path, resources) {
      await make(path)
      const part = relative(path)
      const write = () => writeV2(join(root, part), resources)
      if (unified && driver === "systemd") await slices.set(sliceName(path), resources).catch(write)
      else if (unified) await write()
      else await writeV1(part, resources)
    },
    async remove(path) {
      const folders = hierarchies.map((hierarchy) => join(hierarchy, relative(path))).filter((one) => existsSync(one))
      if (folders.length === 0) return
      if (driver === "systemd") await slices.stop(sliceName(path)).catch(() => undefined)
      for (const folder of folders) await removeCgroup(folder, clock)
    },
    async children(path) {
      const folder = join(hierarchies[0] ?? root, relative(path))
      try {
        return (await readdir(folder, { withFileTypes: true }))
          .filter((entry) => entry.isDirectory())
          .map(({ name }) => name)
      } catch {
        return []
      }
    },
    // containerd's systemd driver wants the name of the last slice only, from which systemd derives the parents.
    parentName: (path) => (driver === "systemd" ? sliceName(path) : `/${path.join("/")}`),
  }

  async function writeV1(
    part: string,
    { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, mostPids }: CgroupLimits,
  ): Promise<void> {
    const cpu =
      hierarchies.find((path) => path.endsWith("/cpu,cpuacct")) ?? hierarchies.find((path) => path.endsWith("/cpu"))
    if (cpu !== undefined) {
      if (cpuShares) await put(join(cpu, part, "cpu.shares"), cpuShares)
      if (cpuPeriod) await put(join(cpu, part, "cpu.cfs_period_us"), cpuPeriod)
      if (cpuQuota) await put(join(cpu, part, "cpu.cfs_quota_us"), cpuQuota)
    }
    const memory = hierarchies.find((path) => path.endsWith("/memory"))
    if (memory !== undefined && memoryLimitInBytes)
      await put(join(memory, part, "memory.limit_in_bytes"), memoryLimitInBytes)
    const pids = hierarchies.find((path) => path.endsWith("/pids"))
    if (pids !== undefined && mostPids) await put(join(pids, part, "pids.max"), mostPids)
  }
}

async function writeV2(
  folder: string,
  { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, mostPids }: CgroupLimits,
): Promise<void> {
  if (cpuShares) await put(join(folder, "cpu.weight"), weightOf(cpuShares))
  if (cpuQuota) await put(join(folder, "cpu.max"), `${cpuQuota < 0 ? "max" : cpuQuota} ${cpuPeriod ?? 100_000}`)
  if (memoryLimitInBytes) await put(join(folder, "memory.max"), memoryLimitInBytes)
  if (mostPids) await put(join(folder, "pids.max"), mostPids)
}

/** Enables controllers for the children of a v2 cgroup. */
async function delegate(folder: string): Promise<void> {
  const has = (await readFile(join(folder, "cgroup.controllers"), "utf8")).trim().split(/\s+/)
  for (const name of V2_CONTROLLERS.filter((controller) => has.includes(controller)))
    await put(join(folder, "cgroup.subtree_control"), `+${name}`)
}

/** Copies the cpuset of the parent. A new v1 cpuset is empty, and no process can run in it. */
async function inheritCpuset(folder: string): Promise<void> {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    if ((await readFile(join(folder, file), "utf8")).trim() !== "") continue
    await put(join(folder, file), (await readFile(join(folder, "..", file), "utf8")).trim())
  }
}

/**
 * Writes a limit. One that this kernel or container cannot set is left out instead of failing the pod, since the limits
 * of the containers still apply.
 */
async function put(file: string, value: number | string): Promise<void> {
  try {
    await writeFile(file, String(value))
  } catch {
    // Not logged, since that would happen for every pod.
  }
}
