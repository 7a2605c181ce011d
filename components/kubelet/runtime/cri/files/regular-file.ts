import { constants } from "node:fs"
import { OwnedFile } from "../../../../../pkg/files/owned-file.ts"
import { unlessMissing } from "../volumes/missing.ts"

/** Linux's O_PATH, which node does not export: opens a handle to a path without opening the file itself. */
export const O_PATH = 0o10000000

/**
 * Opens a regular file for reading. Returns undefined when there is none, or something else. A container may have put
 * anything in the place of a file: a named pipe, on which the opening thread would block for ever, or a device of the
 * host. So the path is opened with O_PATH, its type is checked, and the same inode is opened for reading. With
 * O_NOFOLLOW in `flags`, a link is something else too.
 */
export async function openRegular(path: string, flags = 0): Promise<OwnedFile | undefined> {
  const place = await unlessMissing(OwnedFile.open(path, O_PATH | flags))
  if (place === undefined) return undefined
  try {
    return await reopened(place)
  } finally {
    await place.close()
  }
}

/** Opens the regular file of an O_PATH handle for reading; returns undefined when it is not a regular file. */
export const reopened = async (place: OwnedFile): Promise<OwnedFile | undefined> =>
  (await place.stat()).isFile() ? OwnedFile.open(`/proc/self/fd/${place.fd}`, constants.O_RDONLY) : undefined
