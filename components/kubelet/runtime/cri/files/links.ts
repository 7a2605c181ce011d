import { constants } from "node:fs"
import { mkdir, readdir, readlink, symlink, unlink } from "node:fs/promises"
import { join } from "node:path"
import { OwnedFile } from "../../../../../pkg/files/owned-file.ts"
import { unlessMissing } from "../volumes/missing.ts"

/** Opens only a folder, and no link to one. */
const FOLDER_ITSELF = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * Calls `use` with the path of an open folder. A pod with a part of /var/log may put a link in the folder's place at
 * any moment: entries are made and removed through the descriptor, so never elsewhere.
 */
async function inFolder<T>(folder: string, use: (path: string) => Promise<T>): Promise<T | undefined> {
  const place = await unlessMissing(OwnedFile.open(folder, FOLDER_ITSELF))
  if (place === undefined) return undefined
  try {
    return await use(`/proc/self/fd/${place.fd}`)
  } finally {
    await place.close()
  }
}

/** Returns the target of a link; undefined where there is none, or something else. */
const targetOf = (path: string): Promise<string | undefined> =>
  readlink(path).catch((err: unknown) => {
    if (["EINVAL", "ENOENT"].includes(codeOf(err))) return undefined
    throw err
  })

const codeOf = (err: unknown): string => String((err as NodeJS.ErrnoException).code)

/** Returns the links of a folder, with their targets; none where the folder does not exist. */
export async function linksIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  await inFolder(folder, async (path) => {
    for (const entry of await readdir(path, { withFileTypes: true })) {
      const target = entry.isSymbolicLink() ? await targetOf(join(path, entry.name)) : undefined
      if (target !== undefined) found.set(entry.name, target)
    }
  })
  return found
}

/**
 * Makes a link, and its folder. Returns what has the name already, where that is not the same link: the target of
 * another, or `no link`. @throws Error where the folder is no folder
 */
export async function makeLink(folder: string, name: string, target: string): Promise<string | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o755 })
  const found = await inFolder(folder, async (path) => {
    const link = join(path, name)
    try {
      await symlink(target, link)
      return target
    } catch (err) {
      if (codeOf(err) !== "EEXIST") throw err
      return (await targetOf(link)) ?? "no link"
    }
  })
  if (found === undefined)
    throw new Error(`${folder} is no folder, but perhaps a link, which is not followed; remove it`)
  return found === target ? undefined : found
}

/** Removes a link that has this target. Anything else of this name stays. */
export async function removeLink(folder: string, name: string, target: string): Promise<void> {
  await inFolder(folder, async (path) => {
    const link = join(path, name)
    if ((await targetOf(link)) === target) await unlessMissing(unlink(link))
  })
}
