import { lstat, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { run } from "./run.ts"

const MOST_LEVELS = 16
const MOST_FOLDERS = 200
/** The largest size of a folder itself, which is thirty thousand names. */
const MOST_FOLDER_BYTES = 1024 * 1024

/**
 * Removes a folder and all in it, or a file; does nothing when it does not exist. Bun's `rm` takes time that grows with
 * the square of the depth, and a thread meanwhile: folders 1,000 deep, which any pod can make, take it minutes. So what
 * is large or deep is removed by the program `rm`. Nothing may be mounted below.
 */
export async function removeTree(path: string): Promise<void> {
  if (await isSmall(path)) await rm(path, { recursive: true, force: true })
  else await run("rm", ["-rf", "--", path])
}

async function isSmall(path: string): Promise<boolean> {
  let level = [path]
  let folders = 0
  for (let depth = 0; level.length > 0; depth++) {
    folders += level.length
    if (depth > MOST_LEVELS || folders > MOST_FOLDERS) return false
    const inner = await Promise.all(level.map(foldersIn))
    if (inner.includes(undefined)) return false
    level = inner.flatMap((found) => found ?? [])
  }
  return true
}

/** Returns undefined for a folder that cannot be read, or has too many names for that. */
async function foldersIn(path: string): Promise<readonly string[] | undefined> {
  try {
    const stats = await lstat(path)
    if (!stats.isDirectory()) return []
    if (stats.size > MOST_FOLDER_BYTES) return undefined
    const entries = await readdir(path, { withFileTypes: true })
    return entries.flatMap((entry) => (entry.isDirectory() ? [join(path, entry.name)] : []))
  } catch (err) {
    // It has gone; or nobody knows what is in it, such as one whose path is longer than a path may be.
    return err instanceof Error && "code" in err && err.code === "ENOENT" ? [] : undefined
  }
}
