import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { damagedSnapshot, type SnapshotSource } from "./format.ts"

/** Returns a source that reads a snapshot in memory. */
export const bytesSource = (bytes: Uint8Array, name = "in memory"): SnapshotSource => ({
  name,
  size: bytes.length,
  read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)),
})

/**
 * Opens a snapshot file while `use` runs. With `noLinks`, a path that ends in a symbolic link is refused.
 * @throws Error with `syscall` set
 */
export async function withFile<T>(
  path: string,
  use: (source: SnapshotSource) => Promise<T>,
  { noLinks = false }: { noLinks?: boolean } = {},
): Promise<T> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | (noLinks ? constants.O_NOFOLLOW : 0))
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw damagedSnapshot(path, "it is not a regular file")
    return await use({
      name: path,
      size: stat.size,
      async read(offset, length) {
        const buffer = Buffer.allocUnsafe(length)
        for (let done = 0; done < length;) {
          const { bytesRead } = await file.read(buffer, done, length - done, offset + done)
          if (bytesRead === 0) throw damagedSnapshot(path, "it became shorter while it was read")
          done += bytesRead
        }
        return buffer
      },
    })
  } finally {
    await file.close()
  }
}
