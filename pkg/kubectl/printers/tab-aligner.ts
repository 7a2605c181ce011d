/** How columns are laid out, in characters. */
export interface TabOptions {
  /** Least width of a column, with its padding. */
  readonly minWidth: number
  /** Spaces between a cell and the next column. */
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
export class TabAligner {
  readonly #options: TabOptions
  #text = ""
  #lines: Line[] = []
  #remembered: number[] = []

  constructor(options: TabOptions) {
    this.#options = options
  }

  /** Takes text, and returns what is aligned by now: lines whose columns depend on nothing that comes later. */
  push(text: string): string {
    this.#text += text
    const ends: readonly string[] = this.#text.match(/[\n\f]/g) ?? []
    const lines = this.#text.split(/[\n\f]/)
    this.#text = lines.pop()!
    let aligned = ""
    for (const [i, line] of lines.entries()) {
      const cells = cellsOf(line)
      this.#lines.push(cells)
      // A line without columns ends all columns above it, and so does a form feed.
      if (cells.length === 1 || ends[i] === "\f") aligned += this.#aligned("\n")
    }
    return aligned
  }

  /** Returns what is left, as if the text ended. */
  flush(): string {
    if (this.#text === "") return this.#aligned("\n")
    const cells = cellsOf(this.#text)
    // A tab at the end of the text begins no cell.
    this.#lines.push(cells.length > 1 && cells.at(-1) === "" ? cells.slice(0, -1) : cells)
    this.#text = ""
    return this.#aligned("")
  }

  forgetWidths(): void {
    this.#remembered = []
  }

  #aligned(end: string): string {
    const lines = this.#lines
    if (lines.length === 0) return ""
    this.#lines = []
    const rows = lines.map(() => [] as string[])
    this.#layOut(lines, rows, 0, lines.length, 0)
    return lines.map((cells, i) => rows[i]!.join("") + cells.at(-1)!).join("\n") + end
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
