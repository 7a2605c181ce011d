/**
 * Writes tar archives whose bytes depend only on the entries, and not on the time, the user or the order of a directory
 * listing. So the same image has the same digest on every machine. Format: POSIX ustar, with a pax record where a name
 * is too long for it (POSIX.1-2017, pax, "ustar Interchange Format").
 */

/**
 * One entry. `path` is relative to the root of the archive, without a leading slash. Permissions are numbers such as
 * `0o755`.
 */
export type TarEntry =
  | {
      readonly type: "file"
      readonly path: string
      readonly data: Uint8Array
      readonly mode?: number
      readonly uid?: number
      readonly gid?: number
    }
  | {
      readonly type: "directory"
      readonly path: string
      readonly mode?: number
      readonly uid?: number
      readonly gid?: number
    }
  /** `target` is written unchanged, relative or absolute. */
  | { readonly type: "symlink"; readonly path: string; readonly target: string }
  /** `target` is the path of an earlier entry of the same archive. */
  | { readonly type: "link"; readonly path: string; readonly target: string }

const BLOCK = 512
const TYPE_FLAG = { file: "0", link: "1", symlink: "2", directory: "5" } as const
const DEFAULT_MODE = { file: 0o644, link: 0o644, symlink: 0o777, directory: 0o755 } as const
const encoder = new TextEncoder()

/** The two empty blocks at the end of an archive. */
export const TAR_END: Uint8Array = new Uint8Array(2 * BLOCK)

/** What is written before the data of an entry. */
export interface TarHeader {
  readonly type: keyof typeof TYPE_FLAG
  readonly path: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Of the data, in bytes. */
  readonly size: number
  /** Of a link; otherwise empty. */
  readonly target: string
  /** The names of user and group, which some readers prefer to their numbers. */
  readonly user?: string
  readonly group?: string
}

const MOST_SIZE = 8 ** 11 - 1
const MOST_ID = 8 ** 7 - 1

/** Returns the blocks before the data of an entry. */
export function tarHeader({ type, path, mode, uid, gid, size, target, user = "", group = "" }: TarHeader): Uint8Array {
  const long = paxRecords({
    path: byteLength(path) > 100 ? path : "",
    linkpath: byteLength(target) > 100 ? target : "",
    size: size > MOST_SIZE ? String(size) : "",
    uid: uid > MOST_ID ? String(uid) : "",
    gid: gid > MOST_ID ? String(gid) : "",
  })
  const fields = { mode, uid: Math.min(uid, MOST_ID), gid: Math.min(gid, MOST_ID), user, group }
  const own = header({ ...fields, name: path, size: Math.min(size, MOST_SIZE), flag: TYPE_FLAG[type], target })
  if (long.length === 0) return own
  const pax = { name: "PaxHeaders/long-name", mode: 0o644, uid: 0, gid: 0, size: long.length, flag: "x", target: "" }
  return concat([header({ ...pax, user: "", group: "" }), padded(long), own])
}

/** Returns what fills the last block of data of this many bytes. */
export const tarPadding = (size: number): Uint8Array => new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK)

/**
 * Returns the archive of `entries` in the given order, ended by two empty blocks.
 * @throws RangeError for an unusable path
 */
export function writeTar(entries: readonly TarEntry[]): Uint8Array {
  const blocks: Uint8Array[] = []
  for (const entry of entries) {
    const path = checkedPath(entry)
    const target = "target" in entry ? entry.target : ""
    const data = entry.type === "file" ? entry.data : new Uint8Array(0)

    blocks.push(
      tarHeader({
        path,
        mode: ("mode" in entry ? entry.mode : undefined) ?? DEFAULT_MODE[entry.type],
        uid: ("uid" in entry ? entry.uid : undefined) ?? 0,
        gid: ("gid" in entry ? entry.gid : undefined) ?? 0,
        size: data.length,
        type: entry.type,
        target,
      }),
      padded(data),
    )
  }
  blocks.push(TAR_END)
  return concat(blocks)
}

/** Returns the bytes of all parts, one after the other. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

function checkedPath({ type, path }: TarEntry): string {
  const bare = path.replace(/\/$/, "")
  if (
    bare === "" ||
    bare.startsWith("/") ||
    bare.split("/").some((part) => part === "" || part === "." || part === "..")
  ) {
    throw new RangeError(`Cannot write tar entry: expected a relative path without "." and "..", got "${path}"`)
  }
  return type === "directory" ? `${bare}/` : bare
}

interface Header {
  readonly name: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly flag: string
  readonly target: string
  readonly user: string
  readonly group: string
}

function header({ name, mode, uid, gid, size, flag, target, user, group }: Header): Uint8Array {
  const block = new Uint8Array(BLOCK)
  // A name that is too long for its field is in the pax record before. The start of it is kept for readers that do not
  // know pax.
  const put = (offset: number, length: number, text: string) =>
    block.set(encoder.encode(text).subarray(0, length), offset)
  const putNumber = (offset: number, length: number, value: number) =>
    put(offset, length, value.toString(8).padStart(length - 1, "0"))
  put(0, 100, name)
  putNumber(100, 8, mode)
  putNumber(108, 8, uid)
  putNumber(116, 8, gid)
  putNumber(124, 12, size)
  putNumber(136, 12, 0) // the epoch, because a date would change the digest
  put(148, 8, "        ") // the checksum is calculated with spaces in its own field
  put(156, 1, flag)
  put(157, 100, target)
  put(257, 6, "ustar\0")
  put(263, 2, "00")
  put(265, 31, user)
  put(297, 31, group)
  const sum = block.reduce((total, byte) => total + byte, 0)
  put(148, 8, `${sum.toString(8).padStart(6, "0")}\0 `)
  return block
}

/** Records `<length> <key>=<value>\n`, whose length counts its own digits. Empty values are left out. */
function paxRecords(values: Readonly<Record<string, string>>): Uint8Array {
  const records = Object.entries(values).filter(([, value]) => value !== "")
  return concat(
    records.map(([key, value]) => {
      const rest = encoder.encode(` ${key}=${value}\n`)
      let length = rest.length + 1
      while (length !== rest.length + String(length).length) length = rest.length + String(length).length
      return concat([encoder.encode(String(length)), rest])
    }),
  )
}

function padded(data: Uint8Array): Uint8Array {
  return concat([data, tarPadding(data.length)])
}

function byteLength(text: string): number {
  return encoder.encode(text).length
}
