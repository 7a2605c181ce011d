import { readFile } from "node:fs/promises"

/** One line of /proc/self/mountinfo. Source: proc(5). */
export interface MountPoint {
  readonly path: string
  /** What of the file system is mounted there, as a path in it: `/` but for binds. */
  readonly root: string
  /** Its file system's type, such as ext4. */
  readonly type: string
  /** What is mounted: a device, or a name of the file system's own. */
  readonly device: string
  /** Options of the file system, such as prjquota; those of the mount alone are not among them. */
  readonly options: readonly string[]
  /** Whether mounts below it come to others that have it too, such as containers. */
  readonly isShared: boolean
}

/** Mount points of this host in the order in which they were mounted. */
export const mountPoints = async (): Promise<readonly MountPoint[]> =>
  parseMountPoints(await readFile("/proc/self/mountinfo", "utf8"))

/** @param text /proc/self/mountinfo */
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

/** Returns the mount on which a path lies, there or not; undefined only where nothing is mounted at all. */
export function mountOf(path: string, mounts: readonly MountPoint[]): MountPoint | undefined {
  let found: MountPoint | undefined
  for (const mount of mounts) {
    const lies = mount.path === "/" || path === mount.path || path.startsWith(`${mount.path}/`)
    // One that came later on the same place hides the earlier.
    if (lies && mount.path.length >= (found?.path.length ?? 0)) found = mount
  }
  return found
}

/** Spaces and the like are written `\040`. */
const unescapePath = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
