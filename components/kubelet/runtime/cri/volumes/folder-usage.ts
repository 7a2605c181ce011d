import { lstat } from "node:fs/promises"
import type { FolderUsage } from "../../../volumes/volume-files.ts"
import { unlessMissing } from "./missing.ts"
import { walk } from "./walk.ts"

/** The size of the blocks in which a file's place on the disk is counted, whatever those of the file system are. */
const BLOCK_BYTES = 512

/**
 * What a folder and all below it take on the disk. A file of several names counts once; what is mounted inside is not
 * counted, and what goes away in the meantime neither. Undefined when there is no such folder. Source:
 * pkg/volume/util/fs/fs.go DiskUsage.
 * @throws Error for a folder that is too large to be looked into
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
