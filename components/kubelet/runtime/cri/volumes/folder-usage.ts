import { lstat, readdir } from "node:fs/promises"
import { join } from "node:path"
import type { FolderUsage } from "../../../volumes/volume-files.ts"
import { unlessMissing } from "./missing.ts"

/** The size of the blocks in which a file's place on the disk is counted, whatever those of the file system are. */
const BLOCK_BYTES = 512

/**
 * What a folder and all below it take on the disk. A file of several names counts once; what is mounted inside is not counted, and what goes away in the
 * meantime neither. Undefined when there is no such folder. Source: pkg/volume/util/fs/fs.go DiskUsage.
 */
export async function folderUsage(folder: string): Promise<FolderUsage | undefined> {
  const root = await unlessMissing(lstat(folder))
  if (root === undefined) return undefined
  let [bytes, inodes] = [root.blocks * BLOCK_BYTES, 1]
  const linked = new Set<number>()
  const folders = root.isDirectory() ? [folder] : []
  for (let current = folders.pop(); current !== undefined; current = folders.pop()) {
    const names = (await unlessMissing(readdir(current))) ?? []
    const found = await Promise.all(
      names.map(async (name) => ({ name, stats: await unlessMissing(lstat(join(current!, name))) })),
    )
    for (const { name, stats } of found) {
      if (stats === undefined || stats.dev !== root.dev) continue
      if (stats.isDirectory()) folders.push(join(current, name))
      else if (stats.nlink > 1) {
        if (linked.has(stats.ino)) continue
        linked.add(stats.ino)
      }
      bytes += stats.blocks * BLOCK_BYTES
      inodes++
    }
  }
  return { bytes, inodes }
}
