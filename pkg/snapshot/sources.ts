import { constants } from "node:fs"
import { withOpenFile } from "../files/owned-file.ts"
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
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (noLinks ? constants.O_NOFOLLOW : 0)
  return withOpenFile([path, flags], async (file) => {
    const stat = await file.stat()
    if (!stat.isFile()) throw damagedSnapshot(path, "it is not a regular file")
    return use({
      name: path,
      size: stat.size,
      async read(offset, length) {
        const buffer = Buffer.allocUnsafe(length)
        if ((await file.fill(buffer, offset)) < length)
          throw damagedSnapshot(path, "it became shorter while it was read")
        return buffer
      },
    })
  })
}
