import type { Stats } from "node:fs"
import { mkdir, stat } from "node:fs/promises"
import type { HostPathVolumeSource } from "../../../../../pkg/api/core/v1/volume/volume.ts"
import { withOpenFile } from "../../../../../pkg/files/owned-file.ts"
import { unlessMissing } from "./missing.ts"
import { chmodUnlessLink } from "./walk.ts"

type Type = NonNullable<HostPathVolumeSource["type"]>

/**
 * Checks that a hostPath has its type, or creates it when the type says so. Source: pkg/volume/hostpath/host_path.go
 * checkType.
 */
export async function checkHostPath(path: string, type: Type): Promise<void> {
  if (type === "") return
  let found = await unlessMissing(stat(path))
  if (found === undefined && type === "DirectoryOrCreate") {
    const made = await mkdir(path, { recursive: true, mode: 0o755 })
    // Another pod may have this folder's parent as its volume, and put a link there.
    if (made !== undefined) await chmodUnlessLink(path, 0o755)
    return
  }
  if (found === undefined && type === "FileOrCreate") {
    if (await createFile(path)) return
    found = await unlessMissing(stat(path))
  }
  const wanted = type === "DirectoryOrCreate" ? "Directory" : type === "FileOrCreate" ? "File" : type
  const is = found === undefined ? undefined : typeOf(found)
  if (is !== wanted)
    throw new Error(
      `hostPath type check failed: ${path} is not a ${WORDS[wanted]}, ${is === undefined ? "it does not exist" : `it's a ${is}`}`,
    )
}

/**
 * Creates an empty file; returns false where there is something by now. Nothing that exists is opened: another pod may
 * have put a named pipe there, on which the open would wait for ever, or a dangling link to anywhere on the node.
 */
async function createFile(path: string): Promise<boolean> {
  try {
    await withOpenFile([path, "wx", 0o644], async () => {})
    return true
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "EEXIST") return false
    throw err
  }
}

const WORDS = {
  Directory: "directory",
  File: "file",
  Socket: "socket file",
  CharDevice: "character device",
  BlockDevice: "block device",
} as const

function typeOf(found: Stats): keyof typeof WORDS | "pipe" {
  if (found.isDirectory()) return "Directory"
  if (found.isSocket()) return "Socket"
  if (found.isCharacterDevice()) return "CharDevice"
  if (found.isBlockDevice()) return "BlockDevice"
  return found.isFIFO() ? "pipe" : "File"
}
