import type { Stats } from "node:fs"
import { lstat } from "node:fs/promises"
import { run } from "../../../../../pkg/process/run.ts"
import type { FolderUsage } from "../../volume-files.ts"
import { unlessMissing } from "./missing.ts"
import { TooLargeToWalk, walk } from "./walk.ts"

/** The unit of `st_blocks`, whatever the block size of the file system is. */
const BLOCK_BYTES = 512

/**
 * Returns the disk usage of a folder and all below it. A file with several names counts once. Other file systems
 * mounted inside, and files that disappear during the walk, are not counted. Undefined when the folder does not exist.
 * Source: pkg/volume/util/fs/fs.go DiskUsage.
 */
export async function folderUsage(folder: string): Promise<FolderUsage | undefined> {
  const root = await unlessMissing(lstat(folder))
  if (root === undefined) return undefined
  if (!root.isDirectory()) return { bytes: root.blocks * BLOCK_BYTES, inodes: 1 }
  try {
    return await walked(folder, root)
  } catch (err) {
    // A pod could have no limit of its storage by folders that are nested too deeply.
    if (err instanceof TooLargeToWalk) return counted(folder)
    throw err
  }
}

async function walked(folder: string, root: Stats): Promise<FolderUsage> {
  let [bytes, inodes] = [root.blocks * BLOCK_BYTES, 1]
  const linked = new Set<number>()
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

/** Lets the program `du` do it, which keeps no folder open. */
async function counted(folder: string): Promise<FolderUsage> {
  const sum = async (...args: readonly string[]) => {
    const text = await run("du", ["-sx", ...args, "--", folder]).catch((err: Error) => {
      // It fails when a file disappears, which any pod can bring about, but it prints the sum of the others.
      const { stdout = "" } = err.cause as { readonly stdout?: string }
      if (stdout === "") throw err
      return stdout
    })
    return Number.parseInt(text, 10)
  }
  const [kilobytes, inodes] = await Promise.all([sum("-k"), sum("--inodes")])
  return { bytes: kilobytes * 1024, inodes }
}
