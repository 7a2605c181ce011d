import { deflateRawSync, inflateRawSync } from "node:zlib"
import type { Elsewhere, StoredObject } from "./stored-object.ts"

/** Objects in one compressed block. Reading one costs as much as reading all of a block. */
const IN_BLOCK = 128
/** Unpacked blocks that are kept, so that a listing, which goes through many batches at a time, unpacks each once. */
const MOST_UNPACKED = 64
/** The fastest: Events of one block repeat each other so much that more effort saves next to nothing. */
const LEVEL = { level: 1 }

/** Objects that were packed together. */
interface Batch {
  /** In rising order. Revisions of one batch are all before those of the next. */
  readonly revisions: Float64Array
  /** For each revision, the place of its object in the order of the keys. */
  readonly places: Uint32Array
  /** For each place, where its JSON ends in its block. */
  readonly ends: Uint32Array
  readonly blocks: readonly Uint8Array[]
  /** How many objects somebody may still ask for. */
  left: number
}

/**
 * The JSON of objects that are seldom read and very many, compressed, for a store without a medium: an Event takes a
 * sixth of what it takes as an object. Neighbours by key are in one block, since they are alike and are listed one
 * after another.
 */
export class PackedObjects implements Elsewhere {
  readonly parse = undefined
  #batches: Batch[] = []
  /** Blocks as they were before compression; the one used last stands last. */
  readonly #unpacked = new Map<Uint8Array, Uint8Array>()

  /** Packs objects whose revisions are above all those packed before. */
  add(objects: readonly StoredObject[]): void {
    const byKey = objects.toSorted((a, b) => (a.key < b.key ? -1 : 1))
    const ends = new Uint32Array(byKey.length)
    const blocks: Uint8Array[] = []
    for (let first = 0; first < byKey.length; first += IN_BLOCK) {
      const texts = byKey.slice(first, first + IN_BLOCK).map(({ json }) => json)
      let end = 0
      texts.forEach((text, i) => (ends[first + i] = end += text.length))
      // A copy: the result of deflate is a window on a larger buffer.
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

/** Returns the index of a revision that is there. */
function indexOf(revisions: Float64Array, revision: number): number {
  let [low, high] = [0, revisions.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (revisions[middle]! < revision) low = middle + 1
    else high = middle
  }
  return low
}
