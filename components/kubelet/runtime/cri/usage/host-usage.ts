import { existsSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import type { CgroupDriver } from "../../../../../pkg/cri/cgroup-driver.ts"
import type { UsageMeter } from "../../usage.ts"
import { cgroupFolder } from "../cgroups.ts"
import { cgroupV1 } from "./cgroup-v1.ts"
import { cgroupV2 } from "./cgroup-v2.ts"
import { deviceNames } from "./devices.ts"
import { readKernelFile } from "./kernel-files.ts"
import { interfacesOf, machineUsage } from "./proc.ts"

export interface KernelFolders {
  readonly cgroups: string
  readonly proc: string
}
const HOST: KernelFolders = { cgroups: "/sys/fs/cgroup", proc: "/proc" }

/** Reads usage from the cgroups of this host, v1 or v2. */
export function hostUsage(driver: CgroupDriver, { cgroups, proc }: KernelFolders = HOST): UsageMeter {
  const unified = existsSync(join(cgroups, "cgroup.controllers"))
  const read = unified ? cgroupV2(cgroups, deviceNames(proc)) : cgroupV1(cgroups, deviceNames(proc))
  /** The hierarchy in which the cgroups of containers are searched. */
  const listed = unified ? cgroups : join(cgroups, "memory")

  /**
   * Returns the cgroup of a container: its name contains the id, with a prefix and suffix of the runtime and systemd.
   */
  async function folderOf(pod: readonly string[], id: string): Promise<string | undefined> {
    const parent = cgroupFolder(pod, driver)
    const plain = join(parent, id)
    if (existsSync(join(listed, plain))) return plain
    const names = await readdir(join(listed, parent)).catch(() => [])
    const name = names.find((one) => one.includes(id))
    return name === undefined ? undefined : join(parent, name)
  }

  return {
    machine: () => machineUsage(proc),
    group: (path, detail = "all") => read(cgroupFolder(path, driver), detail),
    async container(pod, id, detail = "all") {
      const folder = await folderOf(pod, id)
      return folder === undefined ? undefined : read(folder, detail)
    },
    async interfaces(pod, sandboxId) {
      const folder = await folderOf(pod, sandboxId)
      if (folder === undefined) return []
      const [pid = ""] = (await readKernelFile(join(listed, folder, "cgroup.procs"))).split("\n")
      return pid === "" ? [] : (await interfacesOf(join(proc, pid, "net/dev"))).filter(({ name }) => name !== "lo")
    },
  }
}
