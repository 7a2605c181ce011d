import type { Identity } from "./stored-object.ts"

/** What the shelf keeps of an object. The object's content can be read elsewhere. */
export type Shelved = Pick<Identity, "key" | "revision" | "created" | "time">

/** The number of objects in one text, because each change creates the text again. */
const MOST_IN_TEXT = 128

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
   * Lines in the order of their keys, several in each text; no text is empty. A line consists of the rest of the key,
   * the revision, the revision of the creation (empty if it is the same) and the time in milliseconds, separated by
   * spaces. Numbers are in base 36. A line feed comes before each line and at the end of the text.
   */
  readonly #texts: string[] = []
  /** The rest of the key of each text's first line. */
  readonly #firsts: string[] = []

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0
  }

  /** Returns whether a line can contain this key. */
  holds(key: string): boolean {
    return key.startsWith(this.#prefix) && !/[ \n]/.test(key)
  }

  get(key: string): Shelved | undefined {
    const rest = key.slice(this.#prefix.length)
    const text = this.#texts[this.#textFor(rest)] ?? ""
    const start = text.indexOf(`\n${rest} `)
    return start < 0 ? undefined : this.#read(text.slice(start + 1, text.indexOf("\n", start + 1)))
  }

  /** Adds objects. Their keys must not be on the shelf, and a line must be able to contain them. */
  add(objects: readonly Shelved[]): void {
    const lines = objects.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map((object) => this.#line(object))
    for (let from = 0; from < lines.length;) {
      const at = this.#textFor(keyOf(lines[from]!))
      const next = this.#firsts[at + 1]
      let to = from + 1
      while (to < lines.length && (next === undefined || keyOf(lines[to]!) < next)) to++
      const there = this.#linesAt(at)
      const added = lines.slice(from, to)
      this.#replace(at, there.length === 0 ? added : [...there, ...added].sort(byKey))
      from = to
    }
  }

  /** Removes an object. Returns what the shelf kept of it; undefined if it was not on the shelf. */
  delete(key: string): Shelved | undefined {
    const rest = key.slice(this.#prefix.length)
    const at = this.#textFor(rest)
    if (this.#texts[at]?.includes(`\n${rest} `) !== true) return undefined
    const lines = this.#linesAt(at)
    const place = lines.findIndex((line) => keyOf(line) === rest)
    this.#replace(at, lines.toSpliced(place, 1))
    return this.#read(lines[place]!)
  }

  /** Returns the objects whose keys start with `prefix`, in the order of their keys. */
  startingWith(prefix: string): readonly Shelved[] {
    const found: Shelved[] = []
    if (!prefix.startsWith(this.#prefix)) {
      if (this.#prefix.startsWith(prefix)) return this.startingWith(this.#prefix)
      return found
    }
    const rest = prefix.slice(this.#prefix.length)
    for (let at = this.#textFor(rest); at < this.#texts.length; at++)
      for (const line of this.#linesAt(at)) {
        if (line.startsWith(rest)) found.push(this.#read(line))
        else if (line > rest) return found
      }
    return found
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

  #linesAt(at: number): readonly string[] {
    return this.#texts[at]?.slice(1, -1).split("\n") ?? []
  }

  /** Replaces a text by these lines, as several texts if there are many. */
  #replace(at: number, lines: readonly string[]): void {
    const groups = Array.from({ length: Math.ceil(lines.length / MOST_IN_TEXT) }, (_, i) =>
      lines.slice(i * MOST_IN_TEXT, (i + 1) * MOST_IN_TEXT),
    )
    this.#texts.splice(at, 1, ...groups.map((group) => `\n${group.join("\n")}\n`))
    this.#firsts.splice(at, 1, ...groups.map(([first]) => flat(keyOf(first!))))
  }

  /** Returns the index of the last text that starts at or before this key, or of the first text. */
  #textFor(rest: string): number {
    let [low, high] = [0, this.#firsts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#firsts[middle]! <= rest) low = middle
      else high = middle - 1
    }
    return low
  }
}

const keyOf = (line: string): string => line.slice(0, line.indexOf(" "))

/**
 * Compares keys and not lines: a space sorts before every character of a key, but one key may be the beginning of
 * another.
 */
const byKey = (a: string, b: string): number => (keyOf(a) < keyOf(b) ? -1 : 1)

/** Returns a copy of a text: a substring would keep the whole line in memory. */
const flat = (text: string): string => Buffer.from(text).toString()
