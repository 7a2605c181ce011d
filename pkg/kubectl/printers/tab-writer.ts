import type { Output } from "./output.ts"

/** How columns are laid out, in characters. */
export interface TabWriterOptions {
  readonly minWidth: number
  readonly padding: number
  /** A flush remembers the widths, so that what comes after it has the same columns or wider ones. */
  readonly rememberWidths?: boolean
}

/** Cells of a line are text up to a tab; the last one of a line has no column. */
type Line = readonly string[]

/**
 * Aligns cells that end by tabs in columns. A column is a run of lines that have the cell, and as wide as the widest of
 * them. Source of the layout: Go's text/tabwriter, and github.com/liggitt/tabwriter for remembered widths.
 */
export class TabWriter implements Output {
  readonly #out: Output
  readonly #options: TabWriterOptions
  #text = ""
  #lines: Line[] = []
  #remembered: number[] = []

  constructor(out: Output, options: TabWriterOptions) {
    this.#out = out
    this.#options = options
  }

  async write(text: string | Uint8Array): Promise<void> {
    this.#text += typeof text === "string" ? text : new TextDecoder().decode(text)
    const ends: readonly string[] = this.#text.match(/[\n\f]/g) ?? []
    const lines = this.#text.split(/[\n\f]/)
    this.#text = lines.pop()!
    for (const [i, line] of lines.entries()) {
      const cells = cellsOf(line)
      this.#lines.push(cells)
      // A line without columns ends all columns above it, and so does a form feed.
      if (cells.length === 1 || ends[i] === "\f") await this.#print("\n")
    }
  }

  /** Prints what is there, as if the text ended. */
  async flush(): Promise<void> {
    if (this.#text === "") return this.#print("\n")
    const cells = cellsOf(this.#text)
    // A tab at the end of the text begins no cell.
    this.#lines.push(cells.length > 1 && cells.at(-1) === "" ? cells.slice(0, -1) : cells)
    this.#text = ""
    await this.#print("")
  }

  forgetWidths(): void {
    this.#remembered = []
  }

  async #print(end: string): Promise<void> {
    const lines = this.#lines
    if (lines.length === 0) return
    this.#lines = []
    const rows = lines.map(() => [] as string[])
    this.#layOut(lines, rows, 0, lines.length, 0)
    await this.#out.write(lines.map((cells, i) => rows[i]!.join("") + cells.at(-1)!).join("\n") + end)
  }

  /** Pads the cells of column `column` of the lines from `from` up to `to`, and of the columns after it. */
  #layOut(lines: readonly Line[], rows: readonly string[][], from: number, to: number, column: number): void {
    const { minWidth, padding } = this.#options
    const has = (i: number) => column < lines[i]!.length - 1
    for (let start = from; start < to; start++) {
      if (!has(start)) continue
      let end = start
      let width = minWidth
      for (; end < to && has(end); end++) width = Math.max(width, widthOf(lines[end]![column]!) + padding)
      if (this.#options.rememberWidths === true)
        this.#remembered[column] = width = Math.max(width, this.#remembered[column] ?? 0)
      for (let i = start; i < end; i++) {
        const cell = lines[i]![column]!
        rows[i]!.push(cell + " ".repeat(width - widthOf(cell)))
      }
      this.#layOut(lines, rows, start, end, column + 1)
      start = end - 1
    }
  }
}

/** A vertical tab ends a cell, too. */
const cellsOf = (line: string): Line => line.split(/[\t\v]/)

/** The characters of a text, as Go counts runes. */
function widthOf(text: string): number {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0xd800 && code <= 0xdfff) return Array.from(text).length
  }
  return text.length
}

/** The layout of `kubectl get`. Source: cli-runtime pkg/printers/tabwriter.go. */
export const newTabWriter = (out: Output): TabWriter =>
  new TabWriter(out, { minWidth: 6, padding: 3, rememberWidths: true })
