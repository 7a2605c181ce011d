import { firstOf, type Page } from "./page.ts"
import { merged, SortedLines } from "./sorted-lines.ts"
import type { Identity } from "./stored-object.ts"

/** What the shelf keeps of an object. The object's content can be read elsewhere. */
export type Shelved = Pick<Identity, "key" | "revision" | "created" | "time">

/** When this many objects were added, their lines are merged with the earlier ones, which creates all texts again. */
const MOST_YOUNG = 16_384

/**
 * An index of the objects of one resource that are seldom read and very many: Events, of which a busy hour leaves tens
 * of thousands. An Event takes 90 bytes as a line of a text. As an object, with its key and its entries in maps, it
 * took 340, and twice that in memory, because these were scattered among garbage in blocks that the engine could not
 * give back.
 */
export class Shelf {
  /** The prefix of all keys, which the lines leave out: `/registry/core/events/`. */
  readonly #prefix: string
  /**
   * A line consists of the rest of the key, the revision, the revision of the creation (empty if it is the same) and
   * the time in milliseconds, separated by spaces. Numbers are in base 36.
   */
  readonly #old = new SortedLines()
  /** Lines that were added last, since objects are added often and some at a time. */
  #young = new SortedLines()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  get isEmpty(): boolean {
    return this.#young.size + this.#old.size === 0
  }

  /** Returns whether a line can contain this key. */
  holds(key: string): boolean {
    return key.startsWith(this.#prefix) && !/[ \n]/.test(key)
  }

  get(key: string): Shelved | undefined {
    const rest = key.slice(this.#prefix.length)
    const line = this.#young.get(rest) ?? this.#old.get(rest)
    return line === undefined ? undefined : this.#read(line)
  }

  /** Adds objects. Their keys must not be on the shelf, and a line must be able to contain them. */
  add(objects: readonly Shelved[]): void {
    this.#young.add(objects.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map((object) => this.#line(object)))
    if (this.#young.size < MOST_YOUNG) return
    this.#old.add(this.#young.startingWith(""))
    this.#young = new SortedLines()
  }

  /** Removes an object. Returns what the shelf kept of it; undefined if it was not on the shelf. */
  delete(key: string): Shelved | undefined {
    const rest = key.slice(this.#prefix.length)
    const line = this.#young.delete(rest) ?? this.#old.delete(rest)
    return line === undefined ? undefined : this.#read(line)
  }

  /** Returns the objects whose keys start with `prefix`, in the order of their keys. */
  startingWith(prefix: string): readonly Shelved[] {
    if (!prefix.startsWith(this.#prefix)) return this.#prefix.startsWith(prefix) ? this.startingWith(this.#prefix) : []
    const rest = prefix.slice(this.#prefix.length)
    return merged(this.#old.startingWith(rest), this.#young.startingWith(rest)).map((line) => this.#read(line))
  }

  /** Does the same as `Storage.page`. The prefix contains that of the shelf. */
  page(prefix: string, after: string | undefined, limit: number): Page<Shelved> {
    const rest = (key: string) => key.slice(this.#prefix.length)
    const pageOf = (lines: SortedLines) =>
      lines.page(rest(prefix), after === undefined ? undefined : rest(after), limit)
    const [old, young] = [pageOf(this.#old), pageOf(this.#young)]
    const { items, remaining } = firstOf(merged(old.items, young.items), limit, old.remaining + young.remaining)
    return { items: items.map((line) => this.#read(line)), remaining }
  }

  #line({ key, revision, created, time }: Shelved): string {
    const rest = key.slice(this.#prefix.length)
    return `${rest} ${revision.toString(36)} ${created === revision ? "" : created.toString(36)} ${time.toString(36)}`
  }

  #read(line: string): Shelved {
    const [rest = "", revision = "", created = "", time = ""] = line.split(" ")
    const number = parseInt(revision, 36)
    return {
      key: this.#prefix + rest,
      revision: number,
      created: created === "" ? number : parseInt(created, 36),
      time: parseInt(time, 36),
    }
  }
}
