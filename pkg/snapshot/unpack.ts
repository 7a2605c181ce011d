/** Reads the records of a snapshot, block by block, and verifies checksum and counts. */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { zstdDecompress } from "node:zlib"
import { damagedSnapshot, readIndex, SnapshotError, type SnapshotIndex, type SnapshotSource } from "./format.ts"
import { decodeRecords, isFile, type SnapshotRecord } from "./records.ts"

const decompress = promisify(zstdDecompress)

/** A snapshot that is being read. Only after its last record is it known to be intact. */
export interface OpenSnapshot {
  readonly index: SnapshotIndex
  /**
   * Yields each record. If this throws SnapshotError, effects of the records must be undone. The last step can throw it
   * too, since only then the checksum is known.
   */
  records(): AsyncGenerator<SnapshotRecord>
}

/** @throws SnapshotError when the index is missing, damaged or of a later format */
export async function openSnapshot(source: SnapshotSource): Promise<OpenSnapshot> {
  const index = await readIndex(source)
  return { index, records: () => recordsOf(source, index) }
}

/** Reads all blocks and compares their checksum, without decompressing them. @throws SnapshotError */
export async function verifySnapshot(source: SnapshotSource): Promise<SnapshotIndex> {
  const index = await readIndex(source)
  const hash = createHash("sha256")
  for await (const stored of blocksOf(source, index)) hash.update(stored)
  if (hash.digest("hex") !== index.sha256) throw damagedSnapshot(source.name, "it does not match its checksum")
  return index
}

async function* recordsOf(source: SnapshotSource, index: SnapshotIndex): AsyncGenerator<SnapshotRecord> {
  const { name } = source
  const hash = createHash("sha256")
  const [counts, at] = [{ objects: 0, files: 0 }, { block: 0 }]
  for await (const stored of blocksOf(source, index)) {
    hash.update(stored)
    const [, bytes] = index.blocks[at.block++]!
    const raw = index.compression === "none" ? stored : await expand(stored, bytes, name)
    if (raw.length !== bytes) throw damagedSnapshot(name, "the length of a block is not what the index says")
    for (const record of decodeRecords(raw, name)) {
      counts[isFile(record) ? "files" : "objects"]++
      yield record
    }
  }
  if (hash.digest("hex") !== index.sha256) throw damagedSnapshot(name, "it does not match its checksum")
  if (counts.objects !== index.objects || counts.files !== index.files)
    throw damagedSnapshot(name, `it has ${counts.objects} objects where its index says ${index.objects}`)
}

async function* blocksOf(source: SnapshotSource, { blocks }: SnapshotIndex): AsyncGenerator<Uint8Array> {
  let offset = 0
  for (const [stored] of blocks) {
    yield await source.read(offset, stored)
    offset += stored
  }
}

/** Decompresses a block into at most `bytes` bytes, whatever length its header claims. */
async function expand(stored: Uint8Array, bytes: number, name: string): Promise<Uint8Array> {
  try {
    return await decompress(stored, { maxOutputLength: Math.max(1, bytes) })
  } catch (cause) {
    throw new SnapshotError(damagedSnapshot(name, "a block cannot be decompressed").message, { cause })
  }
}
