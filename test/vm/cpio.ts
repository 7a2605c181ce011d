/** A file of an archive, or a folder when `data` is absent. */
export interface CpioEntry {
  /** The path without a slash at the start. */
  readonly path: string
  readonly data?: Uint8Array
  /** The permission bits. */
  readonly mode: number
}

const FOLDER = 0o040000
const FILE = 0o100000

/**
 * Returns a cpio archive in the format "newc", which Linux unpacks as its initramfs. Source:
 * Documentation/driver-api/early-userspace/buffer-format.rst.
 */
export function cpio(entries: readonly CpioEntry[]): Uint8Array {
  const parts: Uint8Array[] = []
  const write = (bytes: Uint8Array) => {
    parts.push(bytes, new Uint8Array(-bytes.length & 3))
  }
  const text = new TextEncoder()
  const entry = (inode: number, { path, data, mode }: CpioEntry, type: number) => {
    const name = text.encode(`${path}\0`)
    const fields = [inode, type | mode, 0, 0, 1, 0, data?.length ?? 0, 0, 0, 0, 0, name.length, 0]
    const head = text.encode(`070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}`)
    write(Buffer.concat([head, name]))
    if (data !== undefined) write(data)
  }
  entries.forEach((one, index) => entry(index + 1, one, one.data === undefined ? FOLDER : FILE))
  entry(0, { path: "TRAILER!!!", mode: 0 }, 0)
  return Buffer.concat(parts)
}
