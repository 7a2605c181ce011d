/**
 * Walks through a folder that a container may change at the same time. Paths cannot be used: between two calls a
 * container could replace a folder with a link, and so lead the walk anywhere on the node. So each folder is kept open,
 * and only names directly in an open folder are used.
 */
import { constants, type Stats } from "node:fs"
import { chmod, lstat, readdir } from "node:fs/promises"
import { OwnedFile, withOpenFile } from "../../../../../pkg/files/owned-file.ts"
import { O_PATH } from "../files/regular-file.ts"
import { isMissing, unlessMissing } from "./missing.ts"

/**
 * An entry that was found. The path goes through the open folder; its last name may have been replaced by a link in the
 * meantime, which must not be followed.
 */
export interface Entry {
  readonly path: string
  readonly stats: Stats
}

/** The deepest nesting of folders; each level keeps a file open. */
const MAX_DEPTH = 250
/** The largest size of a folder itself, which is half a million names; reading them takes 70 MB. */
const MAX_FOLDER_BYTES = 16 * 1024 * 1024
/** The error of a folder that is nested too deeply or has too many entries. */
export class TooLargeToWalk extends Error {}

/** Entries that are examined concurrently. */
const TOGETHER = 64

/**
 * Calls `visit` for each entry below the folder, for a folder after its content. The folder itself, entries on other
 * file systems, and entries that disappear during the walk are left out.
 * @throws TooLargeToWalk for folders that are nested too deeply or too large
 */
export async function walk(folder: string, visit: (found: Entry) => Promise<void> | void): Promise<void> {
  await withOpenFile([folder, FOLDER_ONLY], async (root) => {
    const { dev } = await root.stat()
    await below(root, 1)

    async function below(handle: OwnedFile, depth: number): Promise<void> {
      const place = placeOf(handle)
      if (depth > MAX_DEPTH) throw new TooLargeToWalk(`${folder} has folders nested deeper than ${MAX_DEPTH}`)
      if ((await handle.stat()).size > MAX_FOLDER_BYTES)
        throw new TooLargeToWalk(`${folder} has a folder with too many files`)
      const names = (await unlessMissing(readdir(place))) ?? []
      for (let from = 0; from < names.length; from += TOGETHER) {
        const folders: Entry[] = []
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
  })
}

/** Changes the mode of a file or folder; a link is left as it is. */
export async function chmodUnlessLink(path: string, mode: number): Promise<void> {
  const handle = await unlessMissing(OwnedFile.open(path, O_PATH | constants.O_NOFOLLOW))
  if (handle === undefined) return
  try {
    if (!(await handle.stat()).isSymbolicLink()) await chmodOpen(handle, mode)
  } finally {
    await handle.close()
  }
}

/** Changes the mode of an open file or folder, which must not be a link. */
export const chmodOpen = (handle: OwnedFile, mode: number): Promise<void> => chmod(placeOf(handle), mode)

const FOLDER_ONLY = O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY
const placeOf = ({ fd }: OwnedFile): string => `/proc/self/fd/${fd}`

/** Opens a folder; returns undefined when it is no longer a folder. */
async function openFolder(path: string): Promise<OwnedFile | undefined> {
  try {
    return await OwnedFile.open(path, FOLDER_ONLY)
  } catch (err) {
    if (isMissing(err) || (err instanceof Error && "code" in err && err.code === "ELOOP")) return undefined
    throw err
  }
}
