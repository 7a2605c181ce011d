import { existsSync, readFileSync } from "node:fs"
import { found, missing, warning, type Finding } from "./finding.ts"

/** The cgroups of the host. hybrid: v1 controllers, and a v2 hierarchy without controllers. */
export interface Cgroups {
  readonly version: "v2" | "v1" | "hybrid" | "none"
  readonly controllers: readonly string[]
}

/**
 * Required controllers. Source: kubeadm's system validators (cgroup_validator.go). v2 has devices and freezer built in.
 */
const REQUIRED = {
  v2: ["cpu", "cpuset", "memory", "pids"],
  v1: ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory"],
}
const USEFUL = { v2: ["io", "hugetlb"], v1: ["pids", "blkio", "hugetlb"] }

/** @param mounts /proc/mounts; @param v2Controllers /sys/fs/cgroup/cgroup.controllers, if there is one */
export function readCgroups(mounts: string, v2Controllers: string | undefined): Cgroups {
  if (v2Controllers !== undefined)
    return {
      version: "v2",
      controllers: v2Controllers
        .trim()
        .split(/\s+/)
        .filter((name) => name !== ""),
    }
  const entries = mounts.split("\n").map((line) => line.split(" "))
  const v1 = entries.filter(([, , type]) => type === "cgroup").flatMap(([, , , options = ""]) => options.split(","))
  const known = [...REQUIRED.v1, ...USEFUL.v1, "net_cls", "net_prio", "perf_event", "rdma", "misc"]
  const controllers = known.filter((name) => v1.includes(name))
  if (controllers.length === 0) return { version: "none", controllers }
  return { version: entries.some(([, , type]) => type === "cgroup2") ? "hybrid" : "v1", controllers }
}

/** Returns a finding for the version, and one for each controller. */
export function judgeCgroups({ version, controllers }: Cgroups): Finding[] {
  if (version === "none")
    return [missing("cgroups", "no cgroup hierarchy is mounted", "mount it: mount -t cgroup2 none /sys/fs/cgroup")]
  const generation = version === "v2" ? "v2" : "v1"
  const enable = (name: string) =>
    name === "memory" || name === "cpuset"
      ? `start the kernel with cgroup_enable=${name}${name === "memory" ? " cgroup_memory=1" : ""}`
      : `start a kernel that has the ${name} controller`
  return [
    found("cgroups", version === "hybrid" ? "v1, with an empty v2 hierarchy beside it (hybrid)" : version),
    ...REQUIRED[generation].map((name) =>
      controllers.includes(name)
        ? found(`cgroup ${name}`, "enabled")
        : missing(`cgroup ${name}`, "not enabled", enable(name)),
    ),
    ...USEFUL[generation].map((name) =>
      controllers.includes(name)
        ? found(`cgroup ${name}`, "enabled")
        : warning(`cgroup ${name}`, "not enabled: its limits will not hold", enable(name)),
    ),
  ]
}

export function checkCgroups(): Finding[] {
  const unified = "/sys/fs/cgroup/cgroup.controllers"
  return judgeCgroups(
    readCgroups(readFileSync("/proc/mounts", "utf8"), existsSync(unified) ? readFileSync(unified, "utf8") : undefined),
  )
}
