/**
 * Looks at all that is in a folder which a container may be changing meanwhile. A path would not do: between two looks
 * a container can put a link in the place of a folder, and lead whoever follows anywhere on the node. So each folder is
 * held open, and only names directly in it are used.
 */
import { constants, type Stats } from "node:fs"
import { chmod, lstat, open, readdir, type FileHandle } from "node:fs/promises"
import { O_PATH } from "../files/regular-file.ts"
import { isMissing, unlessMissing } from "./missing.ts"

/**
 * Something that was found. The path leads there through the folder that is held open; its last name may be a link by
 * now, which nobody must follow.
 */
export interface Found {
  readonly path: string
  readonly stats: Stats
}

/** Folders inside each other; each holds a file open. */
const MAX_DEPTH = 250
/** A folder's own size: names of half a million files, which take 70 MB to read. */
const MAX_FOLDER_BYTES = 16 * 1024 * 1024
/** Things that are looked at together. */
const TOGETHER = 64

/**
 * Calls `visit` for each thing in the folder, a folder after what is in it; not for the folder itself, and not for what
 * is on another file system. What goes away meanwhile is left out. @throws Error for folders that are too deep or too
 * large to be looked into
 */
export async function walk(folder: string, visit: (found: Found) => Promise<void> | void): Promise<void> {
  const root = await open(folder, FOLDER_ONLY)
  try {
    const { dev } = await root.stat()
    await below(root, 1)

    async function below(handle: FileHandle, depth: number): Promise<void> {
      const place = placeOf(handle)
      if (depth > MAX_DEPTH) throw new Error(`${folder} has more than ${MAX_DEPTH} folders inside each other`)
      if ((await handle.stat()).size > MAX_FOLDER_BYTES) throw new Error(`${folder} has a folder with too many files`)
      const names = (await unlessMissing(readdir(place))) ?? []
      for (let from = 0; from < names.length; from += TOGETHER) {
        const folders: Found[] = []
        await Promise.all(
          names.slice(from, from + TOGETHER).map(async (name) => {
            const path = `${place}/${name}`
            const stats = await unlessMissing(lstat(path))
            if (stats === undefined || stats.dev !== dev) return
            if (stats.isDirectory()) folders.push({ path, stats })
            else await visit({ path, stats })
          }),
        )
        for (const found of folders) {
          const child = await openFolder(found.path)
          if (child === undefined) continue
          try {
            await below(child, depth + 1)
            await visit(found)
          } finally {
            await child.close()
          }
        }
      }
    }
  } finally {
    await root.close()
  }
}

/** Changes the mode of what the path's last name is; a link is left alone. */
export async function chmodUnlessLink(path: string, mode: number): Promise<void> {
  const handle = await unlessMissing(open(path, O_PATH | constants.O_NOFOLLOW))
  if (handle === undefined) return
  try {
    if (!(await handle.stat()).isSymbolicLink()) await chmod(placeOf(handle), mode)
  } finally {
    await handle.close()
  }
}

const FOLDER_ONLY = O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY
const placeOf = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`

/** Undefined for what has stopped being a folder. */
async function openFolder(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, FOLDER_ONLY)
  } catch (err) {
    if (isMissing(err) || (err instanceof Error && "code" in err && err.code === "ELOOP")) return undefined
    throw err
  }
}
