import { lstat } from "node:fs/promises"
import type { FolderUsage } from "../../../volumes/volume-files.ts"
import { unlessMissing } from "./missing.ts"
import { walk } from "./walk.ts"

/** The unit of `st_blocks`, whatever the block size of the file system is. */
const BLOCK_BYTES = 512

/**
 * Returns the disk usage of a folder and all below it. A file with several names counts once. Other file systems
 * mounted inside, and files that disappear during the walk, are not counted. Undefined when the folder does not exist.
 * Source: pkg/volume/util/fs/fs.go DiskUsage.
 * @throws Error when the folder is too large to walk
 */
export async function folderUsage(folder: string): Promise<FolderUsage | undefined> {
  const root = await unlessMissing(lstat(folder))
  if (root === undefined) return undefined
  let [bytes, inodes] = [root.blocks * BLOCK_BYTES, 1]
  const linked = new Set<number>()
  if (root.isDirectory())
    await walk(folder, ({ stats }) => {
      if (!stats.isDirectory() && stats.nlink > 1) {
        if (linked.has(stats.ino)) return
        linked.add(stats.ino)
      }
      bytes += stats.blocks * BLOCK_BYTES
      inodes++
    })
  return { bytes, inodes }
}
