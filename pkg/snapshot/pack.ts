/**
 * Makes a snapshot file from objects and files. Only one block is in memory at a time, another thread compresses it,
 * and the event loop is blocked only for the one or two milliseconds that it takes to assemble a block.
 */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { constants, zstdCompress } from "node:zlib"
import { BLOCK_BYTES, encodeIndex, SNAPSHOT_FORMAT, type SnapshotIndex, type SnapshotInfo } from "./format.ts"
import { encodeRecord, isFile, type SnapshotFile, type SnapshotObject, type SnapshotRecord } from "./records.ts"

/** The content of a snapshot. */
export interface SnapshotContents {
  readonly info: SnapshotInfo
  readonly files: readonly SnapshotFile[]
  /** The objects in the order of their revisions. */
  readonly objects: Iterable<SnapshotObject> | AsyncIterable<SnapshotObject>
  /** Called when the snapshot has been made, or has failed. */
  end?(): void
}

const compress = promisify(zstdCompress)
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }

/** Yields the parts of the file. A slow consumer keeps the remaining objects in memory. */
export async function* packSnapshot(
  { info, files, objects }: SnapshotContents,
  compression: SnapshotIndex["compression"],
): AsyncGenerator<Uint8Array, SnapshotIndex> {
  const hash = createHash("sha256")
  const blocks: (readonly [number, number])[] = []
  const counts = { objects: 0, files: 0 }
  for await (const raw of blocksOf(records(files, objects), counts)) {
    const stored = compression === "zstd" ? await compress(raw, LEVEL) : raw
    hash.update(stored)
    blocks.push([stored.length, raw.length])
    yield stored
  }
  const index = { format: SNAPSHOT_FORMAT, ...info, compression, ...counts, blocks, sha256: hash.digest("hex") }
  yield encodeIndex(index)
  return index
}

async function* records(
  files: SnapshotContents["files"],
  objects: SnapshotContents["objects"],
): AsyncGenerator<SnapshotRecord> {
  yield* files
  yield* objects
}

/** Yields blocks of whole records, and counts the records. */
async function* blocksOf(
  records: AsyncIterable<SnapshotRecord>,
  counts: { objects: number; files: number },
): AsyncGenerator<Buffer> {
  let [parts, bytes]: [Uint8Array[], number] = [[], 0]
  for await (const record of records) {
    counts[isFile(record) ? "files" : "objects"]++
    for (const part of encodeRecord(record)) {
      parts.push(part)
      bytes += part.length
    }
    if (bytes < BLOCK_BYTES) continue
    yield Buffer.concat(parts)
    ;[parts, bytes] = [[], 0]
  }
  if (bytes > 0) yield Buffer.concat(parts)
}
