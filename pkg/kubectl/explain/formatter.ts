/** Lines that are indented and wrapped as kubectl's first `explain` did it. Source: kubectl pkg/explain/formatter.go. */
export class Formatter {
  readonly #indent: number
  readonly #lines: string[]

  constructor(indent = 0, lines: string[] = []) {
    this.#indent = indent
    this.#lines = lines
  }

  /** Returns a formatter of the same text, for lines that are indented by more. */
  indented(by: number): Formatter {
    return new Formatter(this.#indent + by, this.#lines)
  }

  /** Adds a text as it is; an empty one is not indented. */
  write(text: string): void {
    this.#lines.push(text === "" ? "\n" : `${" ".repeat(this.#indent)}${text}\n`)
  }

  writeWrapped(text: string): void {
    for (const line of wrapped(text, WIDTH - this.#indent)) this.write(line)
  }

  get text(): string {
    return this.#lines.join("")
  }
}

const WIDTH = 80

/** Joins the lines of a paragraph, and breaks them anew; code, lists and empty lines stay. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let words: string[] = []
  let lastWord = ""
  const flush = () => {
    if (words.length === 0) return
    lines.push(words.join(" "))
    words = []
    lastWord = ""
  }
  for (const line of text.split("\n")) {
    const isEmpty = line.trim() === ""
    if (line.startsWith("    ") || (lines.length > 0 && isEmpty)) {
      flush()
      lines.push(line.startsWith("    ") ? line : "")
      continue
    }
    if (lastWord.endsWith(":") || isEmpty || /^(?:\d+\.?|-|\*)\s/.test(line.trim())) flush()
    for (const word of line.split(/\s+/).filter((each) => each !== "")) {
      if (words.length > 0 && Buffer.byteLength([...words, word].join(" ")) > width) flush()
      lastWord = word
      words.push(word)
    }
  }
  flush()
  return lines
}
