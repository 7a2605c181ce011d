import { TabAligner } from "../printers/tab-aligner.ts"

/** What a cell of a description shows. Numbers and booleans are written as Go's `%v` writes them. */
export type Cell = string | number | bigint | boolean

/** Where a description is written. */
interface Target {
  write(text: string): void
  flush(): void
}

/** Two spaces for each level of indentation. */
const INDENT = "  "

/**
 * Writes a description: lines at a level of indentation, whose cells are aligned in columns. Characters that would
 * control a terminal are replaced. Source: kubectl pkg/describe PrefixWriter, cli-runtime pkg/printers/terminal.go.
 */
export class PrefixWriter {
  readonly #out: Target
  readonly #base: number

  constructor(out: Target, base = 0) {
    this.#out = out
    this.#base = base
  }

  /** Writes text; each call begins with the indentation, also in the middle of a line. */
  write(level: number, text: string): void {
    this.#out.write(withoutControls(INDENT.repeat(level + this.#base) + text))
  }

  /** Writes a line of cells. */
  row(level: number, ...cells: readonly Cell[]): void {
    this.write(level, `${cells.join("\t")}\n`)
  }

  /** Writes a line without indentation, apart from that of a nested writer. */
  line(text: string): void {
    this.write(0, `${text}\n`)
  }

  /** Ends the blocks of columns: what follows is aligned by itself. */
  flush(): void {
    this.#out.flush()
  }

  /** Returns a writer whose level 0 is `levels` further to the right. */
  nested(levels: number): PrefixWriter {
    return new PrefixWriter(this.#out, this.#base + levels)
  }
}

const withoutControls = (text: string): string => text.replaceAll("\x1b", "^[").replaceAll("\r", "\\r")

/** Returns the description that `write` writes. Columns are two spaces apart. */
export function description(write: (w: PrefixWriter) => void): string {
  const aligner = new TabAligner({ minWidth: 0, padding: 2 })
  const written: string[] = []
  write(
    new PrefixWriter({
      write: (text) => void written.push(aligner.push(text)),
      flush: () => void written.push(aligner.flush()),
    }),
  )
  return written.join("") + aligner.flush()
}

/** Returns the text that `write` writes, with its tabs. */
export function unaligned(write: (w: PrefixWriter) => void): string {
  let written = ""
  write(new PrefixWriter({ write: (text) => void (written += text), flush: () => undefined }))
  return written
}
