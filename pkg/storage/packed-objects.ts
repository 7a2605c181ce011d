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

/** Objects that wait to be compressed together with others: their JSON, one after the other. */
interface Waiting {
  /** The revisions in rising order. */
  readonly revisions: Float64Array
  /** For each revision, where its JSON ends. */
  readonly ends: Uint32Array
  readonly json: Uint8Array
  /** The keys in the same order, each followed by a line feed. */
  readonly keys: string
  /** The number of objects that may still be read. */
  left: number
}

/**
 * The compressed JSON of many objects that are seldom read, for a store in memory: an Event takes a sixth of its memory
 * as an object. Objects that are neighbours by key are in one block, since they are alike and are listed one after
 * another. Until there are many, they wait as JSON.
 */
export class PackedObjects implements Elsewhere {
  readonly parse = undefined
  readonly #together: number
  #batches: Batch[] = []
  /** All revisions are after those of the batches, and those of each entry before those of the next. */
  #waiting: Waiting[] = []
  /** Decompressed blocks; the one that was used last is at the end. */
  readonly #unpacked = new Map<Uint8Array, Uint8Array>()

  /** @param together the number of objects that are compressed at a time */
  constructor(together: number) {
    this.#together = together
  }

  /** Takes over objects, in the order of their revisions, which must be above those of all earlier ones. */
  add(objects: readonly StoredObject[]): void {
    if (objects.length === 0) return
    const texts = objects.map(({ json }) => json)
    this.#waiting.push({
      revisions: Float64Array.from(objects, ({ revision }) => revision),
      ends: endsOf(texts),
      json: Buffer.concat(texts),
      keys: objects.map(({ key }) => `${key}\n`).join(""),
      left: objects.length,
    })
    if (this.#waiting.reduce((sum, { revisions }) => sum + revisions.length, 0) >= this.#together) this.#compress()
  }

  /** Compresses all that waits. */
  #compress(): void {
    const objects = this.#waiting.flatMap(({ revisions, keys, ends, json }) =>
      keys
        .split("\n")
        .slice(0, -1)
        .map((key, i) => ({ key, revision: revisions[i]!, json: textAt(json, ends, i) })),
    )
    const left = this.#waiting.reduce((sum, waiting) => sum + waiting.left, 0)
    this.#waiting = []
    const byKey = objects.toSorted((a, b) => (a.key < b.key ? -1 : 1))
    const blocks: Uint8Array[] = []
    const ends = new Uint32Array(byKey.length)
    for (let first = 0; first < byKey.length; first += IN_BLOCK) {
      const texts = byKey.slice(first, first + IN_BLOCK).map(({ json }) => json)
      ends.set(endsOf(texts), first)
      // A copy, because the result of deflate is a view of a larger buffer.
      blocks.push(new Uint8Array(deflateRawSync(Buffer.concat(texts), LEVEL)))
    }
    const order = byKey.map(({ revision }, place) => ({ revision, place })).sort((a, b) => a.revision - b.revision)
    this.#batches.push({
      revisions: Float64Array.from(order, ({ revision }) => revision),
      places: Uint32Array.from(order, ({ place }) => place),
      ends,
      blocks,
      left,
    })
  }

  read(revision: number): Uint8Array {
    const waiting = lastBefore(this.#waiting, revision)
    if (waiting !== undefined)
      return new Uint8Array(textAt(waiting.json, waiting.ends, indexOf(waiting.revisions, revision)))
    const batch = lastBefore(this.#batches, revision)!
    const place = batch.places[indexOf(batch.revisions, revision)]!
    const start = place % IN_BLOCK === 0 ? 0 : batch.ends[place - 1]!
    return this.#unpack(batch.blocks[Math.floor(place / IN_BLOCK)]!).slice(start, batch.ends[place])
  }

  forget(revision: number): void {
    const waiting = lastBefore(this.#waiting, revision)
    if (waiting !== undefined) {
      if (--waiting.left === 0) this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      return
    }
    const batch = lastBefore(this.#batches, revision)!
    if (--batch.left > 0) return
    for (const block of batch.blocks) this.#unpacked.delete(block)
    this.#batches.splice(this.#batches.indexOf(batch), 1)
  }

  #unpack(block: Uint8Array): Uint8Array {
    const known = this.#unpacked.get(block)
    const whole = known ?? inflateRawSync(block)
    if (known !== undefined) this.#unpacked.delete(block)
    else if (this.#unpacked.size >= MOST_UNPACKED) this.#unpacked.delete(this.#unpacked.keys().next().value!)
    this.#unpacked.set(block, whole)
    return whole
  }
}

/** Returns the last group whose revisions begin at or before this one. */
const lastBefore = <T extends { readonly revisions: Float64Array }>(
  groups: readonly T[],
  revision: number,
): T | undefined => groups.findLast(({ revisions }) => revisions[0]! <= revision)

function endsOf(texts: readonly Uint8Array[]): Uint32Array {
  let end = 0
  return Uint32Array.from(texts, (text) => (end += text.length))
}

const textAt = (json: Uint8Array, ends: Uint32Array, index: number): Uint8Array =>
  json.subarray(index === 0 ? 0 : ends[index - 1]!, ends[index])

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
