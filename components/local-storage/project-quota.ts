import { basename, dirname } from "node:path"
import { mountOf, mountPath, type MountPoint } from "../../pkg/process/mount-points.ts"
import type { run } from "../../pkg/process/run.ts"

/** What quotas need of the machine. */
export interface QuotaHost {
  mounts(): Promise<readonly MountPoint[]>
  readonly run: typeof run
}

/** Limits how much folders may hold. */
export interface ProjectQuota {
  /** Why no size is enforced here, in one sentence without a full stop; undefined where all are. */
  lacking(): Promise<string | undefined>
  /** Lets the folder, and what will be below it, take at most so many bytes. It must be empty the first time. */
  limit(folder: string, bytes: number): Promise<void>
  /** Lets the limit of a folder go with the number that it was kept under; before the folder is removed. */
  lift(folder: string): Promise<void>
}

/** The first project id. The kubelet of Kubernetes counts from 1,048,577 for the quotas of its own volumes. */
const FIRST_ID = 1_800_000_000

/**
 * Sizes by the project quota of XFS and ext4: a folder has a number, new files below it inherit that, and the file
 * system counts and limits by number. The folders themselves keep the numbers (`lsattr -p`), so no list can be lost.
 * Through e2fsprogs' chattr and quota's setquota, which do so on both file systems, and not through ioctl and quotactl:
 * starting two programs takes some 5 ms for each volume, and Bun has neither call without a foreign function interface.
 *
 * @param root the folder of volumes
 */
export function projectQuota(root: string, host: QuotaHost): ProjectQuota {
  /** Numbers are given one after the other. */
  let numbering: Promise<unknown> = Promise.resolve()
  const mount = async () => mountOf(await mountPath(root), await host.mounts())
  /** Where the file system was mounted first: setquota knows it by that place only. */
  async function place(): Promise<string> {
    const mounts = await host.mounts()
    const found = mountOf(await mountPath(root), mounts)
    return mounts.find(({ device, type }) => device === found?.device && type === found.type)?.path ?? "/"
  }

  /** The numbers of volumes, by their folder's name. */
  async function numbers(): Promise<ReadonlyMap<string, number>> {
    const said = await host.run("lsattr", ["-p", "--", root])
    const lines = [...said.matchAll(/^\s*(\d+)\s+\S+\s+(.+)$/gm)]
    return new Map(lines.map((match) => [basename(match[2]!), Number(match[1])]))
  }

  async function numberFor(folder: string): Promise<number> {
    const taken = await numbers()
    const own = taken.get(basename(folder)) ?? 0
    if (own >= FIRST_ID) return own
    const used = new Set(taken.values())
    let id = FIRST_ID
    while (used.has(id)) id++
    await host.run("chattr", ["-p", String(id), "+P", "--", folder])
    return id
  }

  const setLimit = async (id: number, blocks: number) =>
    void (await host.run("setquota", ["-P", String(id), "0", String(blocks), "0", "0", await place()]))

  return {
    async lacking() {
      const found = await mount()
      const without = whyWithout(found)
      if (without !== undefined) return without
      for (const [program, pack] of PROGRAMS) {
        const missing = await host.run("sh", ["-c", `command -v ${program}`]).then(
          () => false,
          () => true,
        )
        if (missing) return `the program ${program} is missing: install ${pack}`
      }
      return undefined
    },
    async limit(folder, bytes) {
      if (dirname(folder) !== root) throw new Error(`${folder} is not directly below ${root}`)
      const id = numbering.then(() => numberFor(folder))
      numbering = id.catch(() => undefined)
      // In blocks of 1 KiB; a quota of none would be no limit.
      await setLimit(await id, Math.max(1, Math.ceil(bytes / 1024)))
    },
    async lift(folder) {
      const id = (await numbers()).get(basename(folder)) ?? 0
      if (id >= FIRST_ID) await setLimit(id, 0)
    },
  }
}

const PROGRAMS = [
  ["chattr", "e2fsprogs"],
  ["lsattr", "e2fsprogs"],
  ["setquota", "quota"],
] as const

/** What a file system lacks to limit projects; undefined for one that does. */
export function whyWithout(mount: MountPoint | undefined): string | undefined {
  if (mount === undefined) return "its file system is not known"
  const { path, type, options } = mount
  if (type !== "xfs" && type !== "ext4") return `${path} is of type ${type}, which has no project quota`
  if (options.includes("prjquota")) return undefined
  return `${path} (${type}) is mounted without prjquota`
}
