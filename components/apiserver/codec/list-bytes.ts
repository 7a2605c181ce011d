/**
 * Builds lists in JSON from the stored bytes of their items. Items of built-in kinds have no kind and apiVersion in a
 * list; both nearly always stand first in the stored bytes, and are skipped. Items of custom kinds keep both. Source:
 * apimachinery pkg/runtime/codec.go, which encodes lists of typed items.
 */
import { Buffer } from "node:buffer"
import type { ListMeta } from "../../../pkg/apimachinery/meta.ts"
import { objectJson } from "../../../pkg/apimachinery/json/object-json.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"

/** A body that is too large to be built at once: its pieces in order. */
export interface Parts {
  /** Bytes of all pieces together; undefined where they are known only once all pieces have been made. */
  readonly length: number | undefined
  readonly pieces: (to?: Destination) => Iterable<Buffer>
}

/** Where the pieces of a body go. */
export interface Destination {
  /** What stands before the body, in the first piece. */
  readonly head: Uint8Array
  /** Returns memory for a piece, which is written before the next one is made. */
  readonly room: (length: number) => Buffer
}

/**
 * Most bytes of a piece, of which one object may be more; a smaller list is one piece. Bun passes 128 KiB to the kernel
 * at once, and a few bytes above it would cost another call.
 */
const PIECE_BYTES = 256 * 1024
/**
 * More objects than this of a kind that is seldom read are not measured before they are sent. They come from the disk,
 * some milliseconds for each piece, and would be read twice, the first time all in one turn.
 */
const MOST_MEASURED = 500

/** Returns the list, as one body or, when large, in parts. */
export function listBytes(resource: Resource, metadata: ListMeta, items: readonly Stored[]): Uint8Array | Parts {
  const { kind, apiVersion } = resource
  const head = Buffer.from(
    `{"kind":${JSON.stringify(`${kind}List`)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(metadata)},"items":[`,
  )
  // For custom kinds the head is the brace alone, so nothing of an item is left out.
  const heads = saysTypeInLists(resource) ? KEPT : headsOf(resource)
  if (resource.ttlSeconds !== undefined && items.length > MOST_MEASURED) {
    const startOf = (json: Uint8Array) => startWithoutType(json, heads)
    return { length: undefined, pieces: () => joined(head, items, startOf, Buffer.allocUnsafe) }
  }
  let length = head.length + TAIL.length + Math.max(0, items.length - 1)
  const starts = items.map((item) => {
    const { json } = item
    const start = startWithoutType(json, heads)
    length += start === REWRITTEN ? bytesWithoutType(item).length : json.length - start
    return start
  })
  const startAt = (_json: Uint8Array, at: number) => starts[at]!
  const pieces = (to?: Destination) =>
    to === undefined
      ? joined(head, items, startAt, Buffer.allocUnsafe)
      : joined(Buffer.concat([to.head, head]), items, startAt, to.room)
  if (length > PIECE_BYTES) return { length, pieces }
  const [whole = head] = pieces()
  return whole
}
const KEPT: readonly Uint8Array[] = [Buffer.from("{")]
const TAIL = Buffer.from("]}\n")
const OPEN_BRACE = 123
const COMMA = 44

/** `startOf` says of the bytes of an item, and of its place in the list, what startWithoutType returns. */
function* joined(
  head: Uint8Array,
  items: readonly Stored[],
  startOf: (json: Uint8Array, at: number) => number,
  room: Destination["room"],
): Generator<Buffer> {
  let from = 0
  let lead = head
  do {
    const sources: Uint8Array[] = [] // read once: those of Events come from the disk
    const starts: number[] = []
    let to = from
    let length = lead.length
    for (; to < items.length; to++) {
      const { json } = items[to]!
      const start = startOf(json, to)
      const source = start === REWRITTEN ? bytesWithoutType(items[to]!) : json
      const added = source.length - Math.max(0, start) + 1
      if (to > from && length + added > PIECE_BYTES - TAIL.length) break
      sources.push(source)
      starts.push(Math.max(0, start))
      length += added
    }
    const last = to === items.length
    // A comma precedes each item except the first.
    const piece = room(length - (from === 0 && to > 0 ? 1 : 0) + (last ? TAIL.length : 0))
    piece.set(lead)
    let at = lead.length
    for (let i = from; i < to; i++) {
      if (i > 0) piece[at++] = COMMA
      const source = sources[i - from]!
      const start = starts[i - from]!
      // `subarray` would cost as much as the copy, and leave an ArrayBuffer with each stored object.
      Buffer.prototype.copy.call(source, piece, at, start)
      piece[at] = OPEN_BRACE
      at += source.length - start
    }
    if (last) piece.set(TAIL, at)
    yield piece
    from = to
    lead = NOTHING
  } while (from < items.length)
}
const NOTHING = new Uint8Array(0)

/** The possible first bytes of an object of a kind: apiVersion and kind in either order. */
const knownHeads = new WeakMap<Resource, readonly Uint8Array[]>()

function headsOf(resource: Resource): readonly Uint8Array[] {
  const known = knownHeads.get(resource)
  if (known !== undefined) return known
  const [kind, version] = [JSON.stringify(resource.kind), JSON.stringify(resource.apiVersion)]
  const made = [`{"kind":${kind},"apiVersion":${version},`, `{"apiVersion":${version},"kind":${kind},`].map((text) =>
    Buffer.from(text),
  )
  knownHeads.set(resource, made)
  return made
}

/**
 * Returns where an object without apiVersion and kind begins in its stored bytes, when its brace is put over the byte
 * there; REWRITTEN where the two do not stand first.
 */
function startWithoutType(json: Uint8Array, heads: readonly Uint8Array[]): number {
  for (const head of heads) {
    let i = 0
    while (i < head.length && json[i] === head[i]) i++
    if (i === head.length) return i - 1
  }
  return REWRITTEN
}
const REWRITTEN = -1

const rewritten = new WeakMap<Stored, Uint8Array>()

function bytesWithoutType(item: Stored): Uint8Array {
  let bytes = rewritten.get(item)
  if (bytes === undefined) rewritten.set(item, (bytes = Buffer.from(objectJson(withoutType(item.object)))))
  return bytes
}

/** Whether the items of a list have kind and apiVersion. */
export const saysTypeInLists = ({ definition }: Resource): boolean => definition !== undefined

/** Returns an object as an item of a list of a built-in kind. */
export function withoutType(object: KubeObject): KubeObject {
  const { kind: _kind, apiVersion: _version, ...item } = object
  return item as KubeObject
}
