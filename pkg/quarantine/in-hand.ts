/** One thing that a part of the program works on: a key of a controller, a pod of the kubelet. */
export interface Item {
  readonly place: string
  readonly key: string
}

const SLOT_BYTES = 512
const SLOTS = 128
export const PAGE_BYTES = SLOT_BYTES * SLOTS
/** Two bytes of each slot are the length of its text; 0 for a free slot. */
const HEAD = 2
const NONE = -1

/**
 * The items that are worked on now, in a page of memory that outlives the process. A step costs about 0.2 µs. More than
 * 128 at once are not noted.
 */
export class InHand {
  readonly #page: Buffer
  readonly #free: number[] = Array.from({ length: SLOTS }, (_, i) => SLOTS - 1 - i)

  constructor(page: Uint8Array) {
    this.#page = Buffer.from(page.buffer, page.byteOffset, PAGE_BYTES)
    this.#page.fill(0)
  }

  /** Returns what a page says that an earlier process has left. */
  static left(page: Uint8Array): readonly Item[] {
    const bytes = Buffer.from(page.buffer, page.byteOffset, PAGE_BYTES)
    return Array.from({ length: SLOTS }, (_, i) => i * SLOT_BYTES).flatMap((at) => {
      const length = bytes.readUInt16LE(at)
      if (length === 0 || length > SLOT_BYTES - HEAD) return []
      const [place, key] = bytes.toString("utf8", at + HEAD, at + HEAD + length).split("\0")
      return place === undefined || key === undefined ? [] : [{ place, key }]
    })
  }

  /** Notes an item. Returns the number for `end`. */
  begin(place: string, key: string): number {
    const slot = this.#free.pop()
    if (slot === undefined) return NONE
    const at = slot * SLOT_BYTES
    const length = this.#page.write(`${place}\0${key}`, at + HEAD, SLOT_BYTES - HEAD, "utf8")
    // The length comes last: until then the slot is free for whoever reads the page.
    this.#page[at + 1] = length >> 8
    this.#page[at] = length & 0xff
    return slot
  }

  end(slot: number): void {
    if (slot === NONE) return
    const at = slot * SLOT_BYTES
    this.#page[at] = 0
    this.#page[at + 1] = 0
    this.#free.push(slot)
  }
}
