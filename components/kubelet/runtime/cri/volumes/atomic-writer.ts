/**
 * Writes files so that readers see either all old ones or all new ones. The files are in a folder whose name is the
 * time; the link `..data` points to that folder, and users see links through `..data`. A change writes a new folder and
 * renames a new `..data` over the old one, which is atomic and an inotify event for those who watch `..data`. Source:
 * pkg/volume/util/atomic_writer.go.
 */
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises"
import { dirname, join } from "node:path"
import { cleanPayload, contentOf, type Payload, type PayloadFile } from "../../payload.ts"
import type { PayloadRequest } from "../../volume-files.ts"
import { unlessMissing } from "./missing.ts"
import { setOwnership } from "./ownership.ts"

const DATA = "..data"
const NEXT_DATA = "..data_tmp"

/** @returns whether anything changed */
export async function writePayload({ folder, payload: sent, ownership, stamp }: PayloadRequest): Promise<boolean> {
  const payload = cleanPayload(sent)
  const made = await mkdir(folder, { recursive: true })
  // The umask limits the mode that mkdir sets.
  if (made !== undefined) await chmod(folder, 0o777)

  const old = await unlessMissing(readlink(join(folder, DATA)))
  if (old !== undefined && (await holds(join(folder, old), payload))) return false

  const fresh = await mkdtemp(join(folder, `..${stamp}.`))
  try {
    await chmod(fresh, 0o755)
    await writeFiles(fresh, payload)
    if (ownership !== undefined) await setOwnership(folder, { ...ownership, policy: "Always" })
    // Left behind by a kubelet that was killed at this point.
    await rm(join(folder, NEXT_DATA), { force: true })
    await symlink(fresh.slice(folder.length + 1), join(folder, NEXT_DATA))
    await rename(join(folder, NEXT_DATA), join(folder, DATA))
  } catch (err) {
    await rm(fresh, { recursive: true, force: true })
    throw err
  }
  await showFiles(folder, payload)
  // Includes folders of earlier writes that were interrupted.
  const stale = (await readdir(folder)).filter((name) => /^\.\.\d{4}_/.test(name) && join(folder, name) !== fresh)
  await Promise.all(stale.map((name) => rm(join(folder, name), { recursive: true, force: true })))
  return true
}

/** Whether the folder has exactly these files. */
async function holds(folder: string, payload: Payload): Promise<boolean> {
  const present = await unlessMissing(readdir(folder, { recursive: true, withFileTypes: true }))
  if (present === undefined) return false
  const files = present
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  if (files.length !== payload.size || !files.every((path) => payload.has(path))) return false
  const same = await Promise.all([...payload].map(([path, file]) => isSame(join(folder, path), file)))
  return same.every((one) => one)
}

async function isSame(path: string, file: PayloadFile): Promise<boolean> {
  const content = contentOf(file)
  const wanted = typeof content === "string" ? Buffer.from(content) : content
  const there = await readFile(path)
  return there.equals(wanted)
}

async function writeFiles(folder: string, payload: Payload): Promise<void> {
  const folders = new Set(
    [...payload.keys()].filter((path) => path.includes("/")).map((path) => dirname(join(folder, path))),
  )
  for (const path of folders) await mkdir(path, { recursive: true, mode: 0o777 })
  await Promise.all(
    [...payload].map(async ([path, { data, mode, user }]) => {
      const file = join(folder, path)
      await writeFile(file, contentOf({ data }), { mode })
      // The umask limits the mode given to open.
      await chmod(file, mode)
      if (user !== undefined) await chown(file, user, (await stat(file)).gid)
    }),
  )
}

/**
 * Creates and removes the links that users see: one for the first part of each path. Entries that are not links, such
 * as a folder made for a subPath, stay.
 */
async function showFiles(folder: string, payload: Payload): Promise<void> {
  const wanted = new Set([...payload.keys()].map((path) => path.split("/", 1)[0]!))
  const there = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith(".."))
  const names = new Set(there.map(({ name }) => name))
  await Promise.all([
    ...[...wanted].filter((name) => !names.has(name)).map((name) => symlink(join(DATA, name), join(folder, name))),
    ...there
      .filter((entry) => entry.isSymbolicLink() && !wanted.has(entry.name))
      .map(({ name }) => unlink(join(folder, name))),
  ])
}
