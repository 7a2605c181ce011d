import type { Stats } from "node:fs"
import { lchown, lstat } from "node:fs/promises"
import type { Ownership } from "../../volume-files.ts"
import { unlessMissing } from "./missing.ts"
import { chmodUnlessLink, walk, type Entry } from "./walk.ts"

/** Mode bits for the group: on files, and in addition on folders, whose new files inherit the group (setgid). */
const READ = 0o440
const WRITE = 0o660
const FOLDER = 0o2110

/**
 * Gives a folder and all in it to a group. With OnRootMismatch nothing is changed when the folder itself has group and
 * mode already, which saves the walk through large volumes. Containers may change the folder at the same time, so links
 * are never followed and nothing outside the folder is changed. Source: pkg/volume/volume_linux.go SetVolumeOwnership.
 */
export async function setOwnership(folder: string, { group, readOnly, policy }: Ownership): Promise<void> {
  const mask = readOnly ? READ : WRITE
  const root = await lstat(folder)
  if (policy === "OnRootMismatch" && root.gid === group && (root.mode & (mask | FOLDER)) === (mask | FOLDER)) return
  if (root.isDirectory()) await walk(folder, (found) => own(found, group, mask))
  // The folder itself comes last: OnRootMismatch takes it as the sign that all below it is done.
  await own({ path: folder, stats: root }, group, mask)
}

async function own({ path, stats }: Entry, group: number, mask: number): Promise<void> {
  if (stats.gid !== group) await unlessMissing(lchown(path, stats.uid, group))
  if (stats.isSymbolicLink()) return
  const mode = modeFor(stats, mask)
  // chown clears setuid and setgid.
  if (stats.gid !== group || mode !== (stats.mode & 0o7777)) await chmodUnlessLink(path, mode)
}

const modeFor = (stats: Stats, mask: number): number =>
  (stats.mode & 0o7777) | mask | (stats.isDirectory() ? FOLDER : 0)
