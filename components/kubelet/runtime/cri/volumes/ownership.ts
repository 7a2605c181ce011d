import { chmod, lchown, lstat, readdir } from "node:fs/promises"
import { join } from "node:path"
import type { Stats } from "node:fs"
import type { Ownership } from "../../../volumes/volume-files.ts"

/** What the group may do with files, and with folders beside that; new files in a folder get its group. */
const READ = 0o440
const WRITE = 0o660
const FOLDER = 0o2110

/**
 * Gives a folder with all that is in it to the group. With OnRootMismatch nothing is touched when the folder itself is right already, which spares
 * the walk through large volumes. Source: pkg/volume/volume_linux.go SetVolumeOwnership.
 */
export async function setOwnership(folder: string, { group, readOnly, policy }: Ownership): Promise<void> {
  const mask = readOnly ? READ : WRITE
  const root = await lstat(folder)
  if (policy === "OnRootMismatch" && root.gid === group && (root.mode & (mask | FOLDER)) === (mask | FOLDER)) return
  await own(folder, root)

  async function own(path: string, found: Stats): Promise<void> {
    if (found.isDirectory()) {
      for (const name of await readdir(path)) {
        const child = join(path, name)
        await own(child, await lstat(child))
      }
    }
    await lchown(path, found.uid, group)
    if (found.isSymbolicLink()) return
    // The folder itself last: only when all below is right does it say so, to OnRootMismatch.
    await chmod(path, (found.mode & 0o7777) | mask | (found.isDirectory() ? FOLDER : 0))
  }
}
