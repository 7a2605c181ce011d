import { readFile, realpath } from "node:fs/promises"
import { basename, dirname, join } from "node:path"

/** One line of /proc/self/mountinfo. Source: proc(5). */
export interface MountPoint {
  readonly path: string
  /** The path in the mounted file system that is shown at the mount point: `/` except for bind mounts. */
  readonly root: string
  /** The type of the file system, such as ext4. */
  readonly type: string
  /** The mounted device, or a name that the file system chooses. */
  readonly device: string
  /** Options of the file system, such as prjquota, without the options of this mount alone. */
  readonly options: readonly string[]
  /** Whether mounts below it propagate to others that share it, such as containers. */
  readonly isShared: boolean
}

/** Returns the mount points of this machine in the order in which they were mounted. */
export const mountPoints = async (): Promise<readonly MountPoint[]> =>
  parseMountPoints(await readFile("/proc/self/mountinfo", "utf8"))

/**
 * Returns a path as the list of mount points names it: with no links in it, such as a data directory that is a link to
 * another disk. The last name is not looked at: a mount there may be of a server that does not answer.
 */
export async function mountPath(path: string): Promise<string> {
  try {
    return join(await realpath(dirname(path)), basename(path))
  } catch {
    return path // its folder is not there, so nothing is mounted
  }
}

/** @param text the content of /proc/self/mountinfo */
export function parseMountPoints(text: string): readonly MountPoint[] {
  return text.split("\n").flatMap((line) => {
    const fields = line.split(" ")
    const path = fields[4]
    if (path === undefined) return []
    const dash = fields.indexOf("-", 6)
    return [
      {
        path: unescapePath(path),
        root: unescapePath(fields[3] ?? ""),
        type: fields[dash + 1] ?? "",
        device: unescapePath(fields[dash + 2] ?? ""),
        options: (fields[dash + 3] ?? "").split(","),
        isShared: fields.slice(6, dash).some((field) => field.startsWith("shared:")),
      },
    ]
  })
}

/**
 * Returns the mount that a path is on, whether the path exists or not; undefined only when nothing is mounted at all.
 */
export function mountOf(path: string, mounts: readonly MountPoint[]): MountPoint | undefined {
  let found: MountPoint | undefined
  for (const mount of mounts) {
    const lies = mount.path === "/" || path === mount.path || path.startsWith(`${mount.path}/`)
    // A later mount on the same path hides the earlier one.
    if (lies && mount.path.length >= (found?.path.length ?? 0)) found = mount
  }
  return found
}

/** Spaces and other special characters are written as octal, such as `\040`. */
const unescapePath = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
