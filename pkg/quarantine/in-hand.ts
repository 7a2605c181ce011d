/** One thing that a part of the program works on: a key of a controller, a pod of the kubelet. */
export interface Item {
  readonly place: string
  readonly key: string
}

const SLOT_BYTES = 512
const SLOTS = 128
export const PAGE_BYTES = SLOT_BYTES * SLOTS
/** Two bytes of each slot are the length of its text, 0 for a free slot, and a bit for an item whose work runs. */
const HEAD = 2
/** In the second of these bytes: the work runs just now, and does not wait. */
const RUNS = 0x80
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

  /**
   * Returns what an earlier process was working on when it ended, by what its page says: the item whose work ran, and
   * where none did, all those whose work waited for something.
   */
  static left(page: Uint8Array): readonly Item[] {
    const bytes = Buffer.from(page.buffer, page.byteOffset, PAGE_BYTES)
    const all = Array.from({ length: SLOTS }, (_, i) => i * SLOT_BYTES).flatMap((at) => {
      const isRunning = (bytes[at + 1]! & RUNS) !== 0
      const length = bytes.readUInt16LE(at) & ~(RUNS << 8)
      if (length === 0 || length > SLOT_BYTES - HEAD) return []
      const [place, key] = bytes.toString("utf8", at + HEAD, at + HEAD + length).split("\0")
      return place === undefined || key === undefined ? [] : [{ item: { place, key }, isRunning }]
    })
    const running = all.filter(({ isRunning }) => isRunning)
    return (running.length > 0 ? running : all).map(({ item }) => item)
  }

  /** Notes an item whose work runs. Returns the number for `waits` and `end`. */
  begin(place: string, key: string): number {
    const slot = this.#free.pop()
    if (slot === undefined) return NONE
    const at = slot * SLOT_BYTES
    const length = this.#page.write(`${place}\0${key}`, at + HEAD, SLOT_BYTES - HEAD, "utf8")
    // The length comes last: until then the slot is free for whoever reads the page.
    this.#page[at + 1] = (length >> 8) | RUNS
    this.#page[at] = length & 0xff
    return slot
  }

  /** Notes that the work on an item waits from now on, so that others run. */
  waits(slot: number): void {
    if (slot !== NONE) this.#page[slot * SLOT_BYTES + 1]! &= ~RUNS
  }

  end(slot: number): void {
    if (slot === NONE) return
    const at = slot * SLOT_BYTES
    this.#page[at] = 0
    this.#page[at + 1] = 0
    this.#free.push(slot)
  }
}
