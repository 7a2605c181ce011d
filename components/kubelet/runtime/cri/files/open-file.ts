import { stat } from "node:fs/promises"
import type { OwnedFile } from "../../../../../pkg/files/owned-file.ts"
import type { OpenFile } from "../../open-file.ts"
import { unlessMissing } from "../volumes/missing.ts"

/**
 * Wraps an open file for reading in parts, and closes it if that fails. `path` is the path by which it was opened.
 */
export async function openFile(file: OwnedFile, path: string): Promise<OpenFile> {
  const { ino, dev } = await identityOf(file)
  return {
    read: (offset, length) => file.read(length, offset),
    size: async () => (await file.stat()).size,
    async isCurrent() {
      const now = await unlessMissing(stat(path))
      return now?.ino === ino && now.dev === dev
    },
    close: () => file.close(),
  }
}

async function identityOf(file: OwnedFile): Promise<{ readonly ino: number; readonly dev: number }> {
  try {
    return await file.stat()
  } catch (err) {
    await file.close()
    throw err
  }
}
