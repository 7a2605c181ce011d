import {
  CARRIAGE_RETURN,
  DASH,
  DOT,
  HASH,
  isBlank,
  isBlankBreakOrEnd,
  isBreak,
  isEnd,
  LINE_FEED,
  LINE_SEPARATOR,
  PARAGRAPH_SEPARATOR,
  PERCENT,
  SPACE,
  TAB,
} from "./signs.ts"

/**
 * The text is not YAML, or is YAML that may not be read. The message is go-yaml's, which Kubernetes' clients know:
 * `yaml: line 3: …`. Its lines count from 0 or from 1, and some errors have none; `mark` is exact.
 */
export class YamlError extends Error {
  override readonly name = "YamlError"
  /** Where the fault was found; undefined when it is not in one place. */
  readonly mark: Mark | undefined
  /** The line that go.yaml.in/yaml/v3 names, where the construct with the fault begins; undefined: the message's. */
  readonly contextLine: number | undefined

  constructor(message: string, mark?: Mark, contextLine?: number) {
    super(message)
    this.mark = mark
    this.contextLine = contextLine
  }

  /** What is wrong, without the place. */
  get problem(): string {
    return this.message.replace(/^yaml: (?:line \d+: )?/, "")
  }
}

/** A position in the text. Lines and columns count from 0. */
export interface Mark {
  readonly at: number
  readonly line: number
  readonly column: number
}

const BYTE_ORDER_MARK = 0xfeff

/** The position in a text that is being read, and the state that the rules of YAML depend on. */
export class Cursor {
  readonly text: string
  at = 0
  line = 0
  /** The number of open `[` and `{`. */
  flow = 0
  /**
   * Whether a key without `?` may begin here: at the beginning of a line, after `- ` and `? `, but not after `key: `.
   */
  keyAllowed = true
  /** The line where the scalar that is being read begins. */
  scalarLine: number | undefined
  #lineStart = 0

  constructor(text: string) {
    this.text = text
    if (text.charCodeAt(0) === BYTE_ORDER_MARK) this.#lineStart = this.at = 1
  }

  get column(): number {
    return this.at - this.#lineStart
  }
  get mark(): Mark {
    return { at: this.at, line: this.line, column: this.column }
  }
  /** Returns the code of the character `ahead` places after the next one; NaN after the end. */
  code(ahead = 0): number {
    return this.text.charCodeAt(this.at + ahead)
  }

  /** Skips a line break, and returns the text that it stands for in a scalar. */
  takeBreak(): string {
    const code = this.code()
    this.at += code === CARRIAGE_RETURN && this.code(1) === LINE_FEED ? 2 : 1
    this.line++
    this.#lineStart = this.at
    return code === LINE_SEPARATOR || code === PARAGRAPH_SEPARATOR ? String.fromCharCode(code) : "\n"
  }

  skipBlanks(): void {
    while (isBlank(this.code())) this.at++
  }

  skipComment(): void {
    if (this.code() !== HASH) return
    while (!isBreak(this.code()) && !isEnd(this.code())) this.at++
  }

  /**
   * Skips space, comments and line breaks. Tabs count as space only where no key may begin, because they may not
   * indent.
   */
  skipToToken(): void {
    for (;;) {
      let code = this.code()
      while (code === SPACE || (code === TAB && (this.flow > 0 || !this.keyAllowed)))
        code = this.text.charCodeAt(++this.at)
      this.skipComment()
      if (!isBreak(this.code())) return
      this.takeBreak()
      if (this.flow === 0) this.keyAllowed = true
    }
  }

  /** Returns whether a line with `---` or `...` begins here. */
  atDocumentMark(): boolean {
    const code = this.code()
    return (
      this.column === 0 &&
      (code === DASH || code === DOT) &&
      this.code(1) === code &&
      this.code(2) === code &&
      isBlankBreakOrEnd(this.code(3))
    )
  }

  /** Returns whether the document ends here: the text ends, or a mark or a directive of the next document follows. */
  atDocumentEnd(): boolean {
    const code = this.code()
    return isEnd(code) || this.atDocumentMark() || (code === PERCENT && this.column === 0)
  }

  /** The line of the next character; the end of the text counts as a line of its own. */
  get nextLine(): number {
    return this.line + (isEnd(this.code()) && this.column > 0 ? 1 : 0)
  }

  /** Returns the error for invalid characters here. */
  error(problem: string, line = this.line, context = this.scalarLine): YamlError {
    const contextLine = context === undefined || context === 0 ? undefined : context + 1
    return new YamlError(`yaml: ${line === 0 ? "" : `line ${line + 1}: `}${problem}`, undefined, contextLine)
  }
}

/**
 * Returns the error for parts in a wrong structure. For these go-yaml counts lines from 0, and names the line of the
 * whole construct when that of the part is the first.
 */
export function structureError(problem: string, line: number, whole = 0): YamlError {
  const shown = line === 0 ? whole : line
  return new YamlError(`yaml: ${shown === 0 ? "" : `line ${shown}: `}${problem}`, undefined, whole || line || undefined)
}
