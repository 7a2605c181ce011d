import { deflateRawSync, inflateRawSync } from "node:zlib"
import { savingAtRest } from "../cache/at-rest.ts"
import type { Page } from "./page.ts"

/** The number of lines in one text, because each change creates the text again. */
const MOST_IN_TEXT = 128

/** The part of a line that identifies it: what comes before the first space. */
export const keyOf = (line: string): string => line.slice(0, line.indexOf(" "))

/**
 * Lines in the order of their keys, several in each text. Compared are keys and not lines: a space sorts before every
 * character of a key, but one key may be the beginning of another.
 */
export class SortedLines {
  /**
   * No text is empty. A line feed comes before each line and at the end of the text. At rest the texts are compressed,
   * to a third: most lines are never read. Those that are needed again are texts until the next rest.
   */
  readonly #texts: (string | Uint8Array)[] = []
  /** The key of each text's first line. */
  readonly #firsts: string[] = []
  /** The number of each text's lines, so that a text that is compressed need not be read to count them. */
  readonly #counts: number[] = []
  #size = 0

  constructor() {
    savingAtRest(this, (lines) => lines.#pack())
  }

  /** The number of lines. */
  get size(): number {
    return this.#size
  }

  get(key: string): string | undefined {
    const text = this.#textAt(this.#textFor(key)) ?? ""
    const start = text.indexOf(`\n${key} `)
    return start < 0 ? undefined : text.slice(start + 1, text.indexOf("\n", start + 1))
  }

  /** Adds lines that are in the order of their keys, none of which is here. */
  add(lines: readonly string[]): void {
    this.#size += lines.length
    for (let from = 0; from < lines.length;) {
      const at = this.#textFor(keyOf(lines[from]!))
      const next = this.#firsts[at + 1]
      let to = from + 1
      while (to < lines.length && (next === undefined || keyOf(lines[to]!) < next)) to++
      this.#replace(at, merged(this.#linesAt(at), lines.slice(from, to)))
      from = to
    }
  }

  /** Removes a line. Returns it; undefined if there was none. */
  delete(key: string): string | undefined {
    const at = this.#textFor(key)
    if (this.#textAt(at)?.includes(`\n${key} `) !== true) return undefined
    const lines = this.#linesAt(at)
    const place = lines.findIndex((line) => keyOf(line) === key)
    this.#replace(at, lines.toSpliced(place, 1))
    this.#size--
    return lines[place]
  }

  /** Returns the lines whose keys start with `prefix`. */
  startingWith(prefix: string): readonly string[] {
    const found: string[] = []
    for (let at = this.#textFor(prefix); at < this.#texts.length; at++)
      for (const line of this.#linesAt(at)) {
        if (line.startsWith(prefix)) found.push(line)
        else if (line > prefix) return found
      }
    return found
  }

  /**
   * Returns the first `limit` lines whose keys start with `prefix` and come after `after`, if that is given. Reads only
   * the texts in which these lines are, and those at the beginning and end of the prefix.
   */
  page(prefix: string, after: string | undefined, limit: number): Page<string> {
    const from = after === undefined || after < prefix ? prefix : after
    const items: string[] = []
    let remaining = 0
    for (let at = this.#textFor(from); at < this.#texts.length; at++) {
      const isWithin = this.#firsts[at]!.startsWith(prefix) && this.#firsts[at + 1]?.startsWith(prefix) === true
      if (items.length >= limit && isWithin) {
        remaining += this.#counts[at]!
        continue
      }
      for (const line of this.#linesAt(at)) {
        const key = keyOf(line)
        if (key < from || key === after) continue
        if (!key.startsWith(prefix)) return { items, remaining }
        if (items.length < limit) items.push(line)
        else remaining++
      }
    }
    return { items, remaining }
  }

  #linesAt(at: number): readonly string[] {
    return this.#textAt(at)?.slice(1, -1).split("\n") ?? []
  }

  #textAt(at: number): string | undefined {
    const text = this.#texts[at]
    return text instanceof Uint8Array ? (this.#texts[at] = inflateRawSync(text).toString()) : text
  }

  #pack(): void {
    for (const [at, text] of this.#texts.entries())
      if (typeof text === "string") this.#texts[at] = deflateRawSync(text, { level: 3 })
  }

  /** Replaces a text by these lines, as several texts if there are many. */
  #replace(at: number, lines: readonly string[]): void {
    const groups = Array.from({ length: Math.ceil(lines.length / MOST_IN_TEXT) }, (_, i) =>
      lines.slice(i * MOST_IN_TEXT, (i + 1) * MOST_IN_TEXT),
    )
    this.#texts.splice(at, 1, ...groups.map((group) => `\n${group.join("\n")}\n`))
    this.#firsts.splice(at, 1, ...groups.map(([first]) => flat(keyOf(first!))))
    this.#counts.splice(at, 1, ...groups.map((group) => group.length))
  }

  /** Returns the index of the last text that starts at or before this key, or of the first text. */
  #textFor(key: string): number {
    let [low, high] = [0, this.#firsts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#firsts[middle]! <= key) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** Merges two lists that are in the order of their keys. */
export function merged(a: readonly string[], b: readonly string[]): readonly string[] {
  if (a.length === 0 || b.length === 0) return a.length === 0 ? b : a
  const all: string[] = []
  let i = 0
  for (const line of b) {
    const key = keyOf(line)
    while (i < a.length && keyOf(a[i]!) < key) all.push(a[i++]!)
    all.push(line)
  }
  while (i < a.length) all.push(a[i++]!)
  return all
}

/** Returns a copy of a text: a substring would keep the whole line in memory. */
const flat = (text: string): string => Buffer.from(text).toString()
