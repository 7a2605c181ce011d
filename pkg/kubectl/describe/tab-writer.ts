/** How columns are aligned. */
export interface TabWriterOptions {
  /** Least width of a column, with its padding, in characters. */
  readonly minWidth: number
  /** Spaces between a cell and the next column. */
  readonly padding: number
}

/**
 * Aligns text in columns, as Go's text/tabwriter does with spaces: a tab ends a cell, and neighbouring lines that have
 * a cell in a column form a block, which is as wide as its widest cell. The last cell of a line, which no tab ends,
 * belongs to no column. Characters count by code points, not by their width on a terminal.
 */
export class TabWriter {
  readonly #minWidth: number
  readonly #padding: number
  readonly #out: string[] = []
  /** The lines of the present block, each with its cells. The last line is not ended yet. */
  #lines: string[][] = [[""]]

  constructor({ minWidth, padding }: TabWriterOptions) {
    this.#minWidth = minWidth
    this.#padding = padding
  }

  write(text: string): void {
    let start = 0
    for (const { 0: mark, index } of text.matchAll(/[\t\v\n\f]/g)) {
      this.#append(text.slice(start, index))
      start = index + 1
      if (mark === "\t" || mark === "\v") this.#lines.at(-1)!.push("")
      else this.#endLine(mark === "\f")
    }
    this.#append(text.slice(start))
  }

  /** Aligns what was written: the columns of later lines do not depend on it. */
  flush(): void {
    const widths: number[] = []
    this.#format(widths, 0, this.#lines.length)
    this.#lines = [[""]]
  }

  /** Returns all text that was flushed. */
  toString(): string {
    return this.#out.join("")
  }

  #append(text: string): void {
    const line = this.#lines.at(-1)!
    line[line.length - 1] += text
  }

  #endLine(flush: boolean): void {
    const cells = this.#lines.at(-1)!.length
    this.#lines.push([""])
    // A line without columns ends every block, so nothing before it depends on what comes later.
    if (flush || cells === 1) this.flush()
  }

  /** Writes the lines from `from` to before `to`, whose first columns have the widths in `widths`. */
  #format(widths: number[], from: number, to: number): void {
    const column = widths.length
    let written = from
    let at = from
    while (at < to) {
      if (!this.#hasCell(at, column)) {
        at++
        continue
      }
      this.#writeLines(widths, written, at)
      const start = at
      let width = this.#minWidth
      for (; at < to && this.#hasCell(at, column); at++)
        width = Math.max(width, lengthOf(this.#lines[at]![column]!) + this.#padding)
      widths.push(width)
      this.#format(widths, start, at)
      widths.pop()
      written = at
    }
    this.#writeLines(widths, written, to)
  }

  #hasCell(line: number, column: number): boolean {
    return column < this.#lines[line]!.length - 1
  }

  #writeLines(widths: readonly number[], from: number, to: number): void {
    for (let at = from; at < to; at++) {
      for (const [column, cell] of this.#lines[at]!.entries()) {
        this.#out.push(cell)
        const width = widths[column]
        if (width !== undefined) this.#out.push(" ".repeat(Math.max(0, width - lengthOf(cell))))
      }
      if (at + 1 < this.#lines.length) this.#out.push("\n")
    }
  }
}

/** Characters in a text, counted by code points. */
function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}
