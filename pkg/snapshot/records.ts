/**
 * The records of a snapshot: a line of JSON that describes the content and its length, then the bytes, then a line
 * feed. The JSON of an object is stored byte for byte, since parsing it would round large numbers.
 */
import { damagedSnapshot } from "./format.ts"

/** An object of the store. */
export interface SnapshotObject {
  readonly key: string
  readonly revision: number
  /** The revision at which the object was created. */
  readonly created: number
  /** When the object was written, in milliseconds since the epoch. */
  readonly time: number
  /** Whether the store keeps only the newest revision of the object (Lease, Event). */
  readonly transient: boolean
  /** Whether the store keeps the object on disk only (Event). */
  readonly seldomRead: boolean
  /** The object as JSON in UTF-8; its ciphertext if the store encrypts it on disk. */
  readonly value: Uint8Array
}

/** A file below `<data-dir>/server`. */
export interface SnapshotFile {
  /** Its path in that folder, with slashes. */
  readonly path: string
  readonly content: Uint8Array
}

export type SnapshotRecord = SnapshotObject | SnapshotFile

const LINE_FEED = 10
const END = Buffer.from("\n")
/** The longest line before the content; the longest key has some 700 bytes. */
const MOST_HEAD_BYTES = 16 * 1024

export const isFile = (record: SnapshotRecord): record is SnapshotFile => "path" in record

/** Returns the parts of a record, in order. */
export function encodeRecord(record: SnapshotRecord): readonly Uint8Array[] {
  if (isFile(record)) return framed({ file: record.path }, record.content)
  const { key, revision, created, time, transient, seldomRead, value } = record
  return framed({ key, revision, created, time, transient, seldomRead }, value)
}

const framed = (head: object, content: Uint8Array): readonly Uint8Array[] => [
  Buffer.from(`${JSON.stringify({ ...head, bytes: content.length })}\n`),
  content,
  END,
]

/**
 * Yields the records of a block. Their content is a view of the bytes of `block`.
 * @throws SnapshotError whose message contains `name`
 */
export function* decodeRecords(block: Uint8Array, name: string): Generator<SnapshotRecord> {
  for (let at = 0; at < block.length;) {
    const end = block.subarray(at, at + MOST_HEAD_BYTES).indexOf(LINE_FEED)
    if (end === -1) throw damagedSnapshot(name, "a record has no end")
    const head = headOf(block.subarray(at, at + end), name)
    const from = at + end + 1
    const to = from + head.bytes
    if (block[to] !== LINE_FEED) throw damagedSnapshot(name, "the length of a record is not what its first line says")
    yield recordOf(head, block.subarray(from, to), name)
    at = to + 1
  }
}

type Head = Readonly<Record<string, unknown>> & { readonly bytes: number }

function headOf(line: Uint8Array, name: string): Head {
  try {
    const head = JSON.parse(Buffer.from(line).toString()) as Head | null
    if (head !== null && Number.isSafeInteger(head.bytes) && head.bytes >= 0) return head
  } catch {
    // The line is not JSON.
  }
  throw damagedSnapshot(name, "a record has no head")
}

function recordOf(head: Head, content: Uint8Array, name: string): SnapshotRecord {
  const { file, key, revision, created, time, transient, seldomRead } = head
  if (typeof file === "string") return { path: file, content }
  if (
    typeof key !== "string" ||
    !key.startsWith("/") ||
    ![revision, created, time].every(Number.isSafeInteger) ||
    typeof transient !== "boolean" ||
    typeof seldomRead !== "boolean"
  )
    throw damagedSnapshot(name, "a record has an unknown form")
  return {
    key,
    revision: revision as number,
    created: created as number,
    time: time as number,
    transient,
    seldomRead,
    value: content,
  }
}
