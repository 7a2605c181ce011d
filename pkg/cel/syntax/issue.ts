/** A fault of an expression that was found at compile time. */
export interface CelIssue {
  /** With cel-go's message, such as `undefined field 'x'`. */
  readonly message: string
  /** Counted from 1. */
  readonly line: number
  /** Characters before the fault in its line, counted from 0. */
  readonly column: number
}

/** Collects the issues of one expression. */
export class Issues {
  readonly #source: string
  readonly #found: CelIssue[] = []

  constructor(source: string) {
    this.#source = source
  }

  /** `offset` counts UTF-16 units from the start of the expression; undefined when an issue has no position. */
  report(offset: number | undefined, message: string): void {
    if (offset === undefined) {
      this.#found.push({ message, line: 0, column: -1 })
      return
    }
    if (this.#source === "") {
      this.#found.push({ message, line: 1, column: -1 })
      return
    }
    const before = this.#source.slice(0, offset).split("\n")
    this.#found.push({ message, line: before.length, column: Array.from(before.at(-1)!).length })
  }

  get count(): number {
    return this.#found.length
  }

  /** Returns the issues in the order of their positions. */
  sorted(): readonly CelIssue[] {
    return this.#found.toSorted((a, b) => a.line - b.line || a.column - b.column)
  }
}

/** More issues are only counted. Source: cel-go common/errors.go. */
const MOST_SHOWN = 100

/**
 * Formats issues as cel-go does: each with the line of the expression and a mark below the position. Source: cel-go
 * common/error.go ToDisplayString.
 */
export function formatIssues(issues: readonly CelIssue[], source: string): string {
  const lines = source === "" ? [] : source.split("\n")
  const shown = issues.slice(0, MOST_SHOWN).map(({ message, line, column }) => {
    const head = `ERROR: <input>:${line}:${column + 1}: ${message}`
    const text = lines[line - 1]
    if (text === undefined) return head
    const characters = Array.from(text.replaceAll("\t", " "))
    const dots = characters.slice(0, column).map((c) => (c.codePointAt(0)! > 0x7f ? "．" : "."))
    const mark = (characters[column]?.codePointAt(0) ?? 0) > 0x7f ? "＾" : "^"
    return `${head}\n | ${characters.join("")}\n | ${dots.join("")}${mark}`
  })
  const more = issues.length - MOST_SHOWN
  return [...shown, ...(more > 0 ? [`${more} more errors were truncated`] : [])].join("\n")
}
