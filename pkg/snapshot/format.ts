/**
 * The format of a snapshot file: blocks, then an index.
 *
 * - The blocks, one after another, contain records (records.ts): the files that identify the cluster, then its objects.
 *   Each block is a zstd frame of its own, or uncompressed records, so `zstd -dc` shows the content of a whole file. -
 *   The index says what the blocks contain, how large each is before and after compression, and their SHA-256. It is a
 *   skippable frame (RFC 8878, 3.1.2), which other programs skip. It is at the end, so that a truncated snapshot has
 *   none, and so that it can be read without the blocks.
 *
 * A reader allocates no more than what the index announces for a block, and the size of a block is limited.
 */
import { crc32 } from "node:zlib"

/** The version of the format. A file of a later version is refused. */
export const SNAPSHOT_FORMAT = 1
/**
 * A block ends after this many bytes of records. The last record may exceed it, so a block can be larger by one object.
 */
export const BLOCK_BYTES = 4 * 2 ** 20
/** The size of the largest block, before and after compression. */
export const MOST_BLOCK_BYTES = 64 * 2 ** 20
/** The size of the largest index: that of a snapshot of some terabytes. */
const MOST_INDEX_BYTES = 16 * 2 ** 20
/** The first of the magic numbers of skippable frames. */
const SKIPPABLE = 0x18_4d_2a_50
const FRAME_HEAD = 8
/** The last eight bytes of the file, after the length of the index and its CRC-32. */
const MAGIC = Buffer.from("k3tsSNAP")
const TAIL = 8 + MAGIC.length

/** Where and when a snapshot was taken. */
export interface SnapshotInfo {
  /** The revision of the store. */
  readonly revision: number
  /** When it was taken, in milliseconds since the epoch. */
  readonly time: number
  /** The version of k3ts that took it. */
  readonly version: string
  /** The name of the node or the machine whose server took the snapshot. */
  readonly node: string
  /** The UID of the namespace kube-system, which differs between clusters; empty when there is none. */
  readonly cluster: string
}

export interface SnapshotIndex extends SnapshotInfo {
  readonly format: number
  readonly compression: "zstd" | "none"
  readonly objects: number
  readonly files: number
  /** For each block: its bytes in the file, and those of its records. */
  readonly blocks: readonly (readonly [stored: number, raw: number])[]
  /** SHA-256 of all blocks, in hexadecimal. */
  readonly sha256: string
}

/** A snapshot that cannot be read; the message says why. */
export class SnapshotError extends Error {
  override readonly name = "SnapshotError"
}

/** The file or object that a snapshot is read from. */
export interface SnapshotSource {
  /** Its name in messages: a path or a URL. */
  readonly name: string
  readonly size: number
  /** Returns exactly `length` bytes. */
  read(offset: number, length: number): Promise<Uint8Array>
}

export const damagedSnapshot = (name: string, what: string): SnapshotError =>
  new SnapshotError(`Cannot read the snapshot ${name}: it is damaged (${what}); use another one`)

/** Returns the frame at the end of a snapshot. */
export function encodeIndex(index: SnapshotIndex): Uint8Array {
  const json = Buffer.from(JSON.stringify(index))
  const head = Buffer.alloc(FRAME_HEAD)
  head.writeUInt32LE(SKIPPABLE, 0)
  head.writeUInt32LE(json.length + TAIL, 4)
  const tail = Buffer.alloc(TAIL - MAGIC.length)
  tail.writeUInt32LE(json.length, 0)
  tail.writeUInt32LE(crc32(json), 4)
  return Buffer.concat([head, json, tail, MAGIC])
}

/** Reads only the index. @throws SnapshotError when it is missing, damaged or of a later format */
export async function readIndex(source: SnapshotSource): Promise<SnapshotIndex> {
  const { name, size } = source
  if (size < FRAME_HEAD + TAIL) throw damagedSnapshot(name, "its end is missing")
  const tail = Buffer.from(await source.read(size - TAIL, TAIL))
  if (!tail.subarray(TAIL - MAGIC.length).equals(MAGIC))
    throw damagedSnapshot(name, "its end is missing, or it is not a snapshot of k3ts")
  const [length, sum] = [tail.readUInt32LE(0), tail.readUInt32LE(4)]
  const start = size - TAIL - length
  if (length > MOST_INDEX_BYTES || start < FRAME_HEAD) throw damagedSnapshot(name, "its index has a wrong length")
  const json = await source.read(start, length)
  if (crc32(json) !== sum) throw damagedSnapshot(name, "its index does not match its checksum")
  const index = parseIndex(json, name)
  const stored = index.blocks.reduce((bytes, [block]) => bytes + block, 0)
  if (stored !== start - FRAME_HEAD) throw damagedSnapshot(name, "its length is not what its index says")
  return index
}

function parseIndex(json: Uint8Array, name: string): SnapshotIndex {
  const value = parsed(json) as Partial<Record<keyof SnapshotIndex, unknown>> | undefined
  const format = value?.format
  if (isCount(format) && format > SNAPSHOT_FORMAT)
    throw new SnapshotError(
      `Cannot read the snapshot ${name}: it has format ${format}, this version of k3ts reads formats up to ` +
        `${SNAPSHOT_FORMAT}; use a newer k3ts`,
    )
  if (
    value === undefined ||
    format !== SNAPSHOT_FORMAT ||
    ![value.revision, value.time, value.objects, value.files].every(isCount) ||
    ![value.version, value.node, value.cluster, value.sha256].every((text) => typeof text === "string") ||
    (value.compression !== "zstd" && value.compression !== "none") ||
    !Array.isArray(value.blocks) ||
    !value.blocks.every(isBlock)
  )
    throw damagedSnapshot(name, "its index has an unknown form")
  return value as unknown as SnapshotIndex
}

function parsed(json: Uint8Array): object | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(json).toString())
    return typeof value === "object" && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const isBlock = (block: unknown): boolean =>
  Array.isArray(block) && block.length === 2 && block.every((bytes) => isCount(bytes) && bytes <= MOST_BLOCK_BYTES)

/** Returns the number of bytes of the records without compression. */
export const recordBytes = ({ blocks }: SnapshotIndex): number => blocks.reduce((bytes, [, raw]) => bytes + raw, 0)
