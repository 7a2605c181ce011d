import { Buffer } from "node:buffer"
import { stat, type FileHandle } from "node:fs/promises"
import type { OpenFile } from "../../open-file.ts"
import { unlessMissing } from "../volumes/missing.ts"

/** Wraps an open file for reading in parts. `path` is the path by which it was opened. */
export async function openFile(file: FileHandle, path: string): Promise<OpenFile> {
  const { ino, dev } = await file.stat()
  return {
    async read(offset, length) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, offset)
      return buffer.subarray(0, bytesRead)
    },
    size: async () => (await file.stat()).size,
    async isCurrent() {
      const now = await unlessMissing(stat(path))
      return now?.ino === ino && now.dev === dev
    },
    close: () => file.close(),
  }
}
