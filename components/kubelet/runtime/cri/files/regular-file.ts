import { constants } from "node:fs"
import { open, type FileHandle } from "node:fs/promises"
import { unlessMissing } from "../volumes/missing.ts"

/** Linux's O_PATH, which node does not name: a handle of the place, without opening what is there. */
export const O_PATH = 0o10000000

/**
 * Opens a file for reading; undefined when there is none, or something else. A container may have put anything in the
 * place of a file: a named pipe, on which the opening thread would wait for ever, or a device of the host. So what is
 * there is looked at first, and what was looked at is what is opened.
 */
export async function openRegular(path: string): Promise<FileHandle | undefined> {
  const place = await unlessMissing(open(path, O_PATH))
  if (place === undefined) return undefined
  try {
    return await reopened(place)
  } finally {
    await place.close()
  }
}

/** The file that the handle is of, for reading; undefined when it is of something else. */
export const reopened = async (place: FileHandle): Promise<FileHandle | undefined> =>
  (await place.stat()).isFile() ? open(`/proc/self/fd/${place.fd}`, constants.O_RDONLY) : undefined
