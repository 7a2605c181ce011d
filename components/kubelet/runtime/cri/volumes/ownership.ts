import type { Stats } from "node:fs"
import { lchown, lstat } from "node:fs/promises"
import type { Ownership } from "../../../volumes/volume-files.ts"
import { unlessMissing } from "./missing.ts"
import { chmodUnlessLink, walk, type Found } from "./walk.ts"

/** What the group may do with files, and with folders beside that; new files in a folder get its group. */
const READ = 0o440
const WRITE = 0o660
const FOLDER = 0o2110

/**
 * Gives a folder with all that is in it to the group. With OnRootMismatch nothing is touched when the folder itself is
 * right already, which spares the walk through large volumes. Containers may run that write to it: nothing outside of
 * the folder is ever touched. Source: pkg/volume/volume_linux.go SetVolumeOwnership.
 */
export async function setOwnership(folder: string, { group, readOnly, policy }: Ownership): Promise<void> {
  const mask = readOnly ? READ : WRITE
  const root = await lstat(folder)
  if (policy === "OnRootMismatch" && root.gid === group && (root.mode & (mask | FOLDER)) === (mask | FOLDER)) return
  if (root.isDirectory()) await walk(folder, (found) => own(found, group, mask))
  // The folder itself last: only when all below is right does it say so, to OnRootMismatch.
  await own({ path: folder, stats: root }, group, mask)
}

async function own({ path, stats }: Found, group: number, mask: number): Promise<void> {
  if (stats.gid !== group) await unlessMissing(lchown(path, stats.uid, group))
  if (stats.isSymbolicLink()) return
  const mode = modeFor(stats, mask)
  // A change of the owner takes setuid and setgid away.
  if (stats.gid !== group || mode !== (stats.mode & 0o7777)) await chmodUnlessLink(path, mode)
}

const modeFor = (stats: Stats, mask: number): number =>
  (stats.mode & 0o7777) | mask | (stats.isDirectory() ? FOLDER : 0)
