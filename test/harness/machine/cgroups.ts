import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { removeCgroup } from "../../../components/kubelet/runtime/cri/remove-cgroup.ts"
import { realClock } from "../../../pkg/clock/real.ts"

const ROOT = "/sys/fs/cgroup"
/** Whether this host has the one hierarchy of cgroups v2. */
export const unified = existsSync(join(ROOT, "cgroup.controllers"))

/** The folders of the hierarchies; with cgroups v1 each set of controllers has one. */
const hierarchies = (): readonly string[] =>
  unified
    ? [ROOT]
    : readFileSync("/proc/self/mounts", "utf8")
        .split("\n")
        .map((line) => line.split(" "))
        .filter(([, place, type]) => /^cgroup2?$/.test(type ?? "") && place!.startsWith(ROOT))
        .map(([, place]) => place!)

/** Makes a cgroup of that name in each hierarchy, and gives their folders. */
export function makeCgroups(name: string): readonly string[] {
  const controllers = unified ? readFileSync(join(ROOT, "cgroup.controllers"), "utf8").trim().split(" ") : []
  for (const controller of controllers) writeFileSync(join(ROOT, "cgroup.subtree_control"), `+${controller}`)
  return hierarchies().map((hierarchy) => {
    const folder = join(hierarchy, name)
    mkdirSync(folder, { recursive: true })
    // A cpuset without processors or memory takes no process.
    if (existsSync(join(folder, "cpuset.cpus")) && !unified)
      for (const file of ["cpuset.cpus", "cpuset.mems"])
        writeFileSync(join(folder, file), readFileSync(join(hierarchy, file)))
    return folder
  })
}

/** Removes cgroups and those below them. Their processes must have ended. @throws Error if one stays. */
export async function removeCgroups(folders: readonly string[]): Promise<void> {
  for (const folder of folders) await removeCgroup(folder, realClock)
  const left = folders.filter((folder) => existsSync(folder))
  if (left.length > 0) throw new Error(`These cgroups have processes yet: ${left.join(", ")}`)
}

/** The shell commands by which a shell enters the cgroups. Once booted, a machine with cgroups v2 has a part for it. */
export const enterCgroups = (folders: readonly string[], booted: boolean): string =>
  folders.map((folder) => `echo $$ >'${join(folder, unified && booted ? "init" : "")}/cgroup.procs'`).join(" && ")
