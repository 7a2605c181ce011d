/**
 * Maps revisions of etcd to revisions of k3ts and back. In etcd all writes of a transaction share one revision; in k3ts
 * each write has its own, since a client resumes a watch after the last one that it has seen. So a revision of k3ts is
 * 1000 times that of etcd, plus the place of the write in its transaction.
 *
 * A watch and a range must find the same place, so a written value contains it: after JSON as white space, which JSON
 * allows, so that etcdctl still prints JSON; after other values (encrypted ones) as one byte. A deletion has the place
 * after the change before it.
 */
export const PLACES = 1000

export class Numbering {
  readonly #base: number

  /** @param base the number that is added to revisions of etcd first (revision-base.ts) */
  constructor(base = 0) {
    this.#base = base
  }

  revisionOf(etcdRevision: number, place: number): number {
    return (this.#base + etcdRevision) * PLACES + place
  }
  /** Returns the last revision of k3ts that a revision of etcd can contain. */
  endOf(etcdRevision: number): number {
    return this.revisionOf(etcdRevision, PLACES - 1)
  }
  /** Returns the revision of etcd that contains a revision of k3ts. */
  etcdRevisionOf(revision: number): number {
    return Math.floor(revision / PLACES) - this.#base
  }
}

/** Returns the base with which revisions of a new etcd come after `revision`. */
export const baseAfter = (revision: number): number => Math.floor(revision / PLACES) + 1

const OPENING_BRACE = "{".charCodeAt(0)
const CLOSING_BRACE = "}".charCodeAt(0)
/** The digits of places. The base of these numbers is the number of digits. JSON cannot end with any of them. */
const DIGITS = Buffer.from(" \t\n\r")

/** Returns the value followed by the place of its write. For JSON the place 0 takes no byte. */
export function withPlace(value: Uint8Array, place: number): Uint8Array {
  if (value[0] !== OPENING_BRACE) return joined(value, [place])
  if (place === 0) return value
  const digits = place.toString(DIGITS.length).split("")
  return joined(
    value,
    digits.map((digit) => DIGITS[Number(digit)]!),
  )
}

/**
 * The inverse of `withPlace`. JSON of another program has the place 0, or the one that its trailing white space stands
 * for.
 */
export function placeOf(value: Uint8Array): { readonly value: Uint8Array; readonly place: number } {
  const last = value.length - 1
  if (value[0] !== OPENING_BRACE) return { value: value.subarray(0, Math.max(0, last)), place: value[last] ?? 0 }
  let end = value.length
  while (end > 0 && DIGITS.includes(value[end - 1]!)) end--
  if (end === value.length || value[end - 1] !== CLOSING_BRACE) return { value, place: 0 }
  const digits = Array.from(value.subarray(end), (byte) => DIGITS.indexOf(byte)).join("")
  return { value: value.subarray(0, end), place: parseInt(digits, DIGITS.length) % PLACES }
}

function joined(value: Uint8Array, more: readonly number[]): Uint8Array {
  const all = new Uint8Array(value.length + more.length)
  all.set(value)
  all.set(more, value.length)
  return all
}
