import { deflateRawSync, inflateRawSync } from "node:zlib"
import type { Elsewhere, StoredObject } from "./stored-object.ts"

/** The number of objects in one compressed block. Reading one object decompresses its whole block. */
const IN_BLOCK = 128
/**
 * The number of decompressed blocks that are kept, so that a listing, which reads many batches in turn, decompresses
 * each block once.
 */
const MOST_UNPACKED = 64
/** The fastest level: the Events of one block are so alike that a higher level saves almost nothing. */
const LEVEL = { level: 1 }

/** Objects that were compressed together. */
interface Batch {
  /** The revisions in rising order. All revisions of one batch are before those of the next. */
  readonly revisions: Float64Array
  /** For each revision, the index of its object when sorted by key. */
  readonly places: Uint32Array
  /** For each of these indexes, where the object's JSON ends in its block. */
  readonly ends: Uint32Array
  readonly blocks: readonly Uint8Array[]
  /** The number of objects that may still be read. */
  left: number
}

/**
 * The compressed JSON of many objects that are seldom read, for a store in memory: an Event takes a sixth of its memory
 * as an object. Objects that are neighbours by key are in one block, since they are alike and are listed one after
 * another.
 */
export class PackedObjects implements Elsewhere {
  readonly parse = undefined
  #batches: Batch[] = []
  /** Decompressed blocks; the one that was used last is at the end. */
  readonly #unpacked = new Map<Uint8Array, Uint8Array>()

  /** Compresses objects. Their revisions must be above those of all earlier ones. */
  add(objects: readonly StoredObject[]): void {
    const byKey = objects.toSorted((a, b) => (a.key < b.key ? -1 : 1))
    const ends = new Uint32Array(byKey.length)
    const blocks: Uint8Array[] = []
    for (let first = 0; first < byKey.length; first += IN_BLOCK) {
      const texts = byKey.slice(first, first + IN_BLOCK).map(({ json }) => json)
      let end = 0
      texts.forEach((text, i) => (ends[first + i] = end += text.length))
      // A copy, because the result of deflate is a view of a larger buffer.
      blocks.push(Uint8Array.from(deflateRawSync(Buffer.concat(texts), LEVEL)))
    }
    const order = byKey.map(({ revision }, place) => ({ revision, place })).sort((a, b) => a.revision - b.revision)
    this.#batches.push({
      revisions: Float64Array.from(order, ({ revision }) => revision),
      places: Uint32Array.from(order, ({ place }) => place),
      ends,
      blocks,
      left: byKey.length,
    })
  }

  read(revision: number): Uint8Array {
    const batch = this.#batches[this.#batchOf(revision)]!
    const place = batch.places[indexOf(batch.revisions, revision)]!
    const start = place % IN_BLOCK === 0 ? 0 : batch.ends[place - 1]!
    return this.#unpack(batch.blocks[Math.floor(place / IN_BLOCK)]!).slice(start, batch.ends[place])
  }

  forget(revision: number): void {
    const at = this.#batchOf(revision)
    const batch = this.#batches[at]!
    if (--batch.left > 0) return
    for (const block of batch.blocks) this.#unpacked.delete(block)
    this.#batches.splice(at, 1)
  }

  #unpack(block: Uint8Array): Uint8Array {
    const known = this.#unpacked.get(block)
    const whole = known ?? inflateRawSync(block)
    if (known !== undefined) this.#unpacked.delete(block)
    else if (this.#unpacked.size >= MOST_UNPACKED) this.#unpacked.delete(this.#unpacked.keys().next().value!)
    this.#unpacked.set(block, whole)
    return whole
  }

  #batchOf(revision: number): number {
    return this.#batches.findLastIndex(({ revisions }) => revisions[0]! <= revision)
  }
}

/** Returns the index of a revision, which must exist. */
function indexOf(revisions: Float64Array, revision: number): number {
  let [low, high] = [0, revisions.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (revisions[middle]! < revision) low = middle + 1
    else high = middle
  }
  return low
}
