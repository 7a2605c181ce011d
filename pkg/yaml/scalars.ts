/** Reads scalars: plain, in quotes, and in blocks. Source of the rules: YAML 1.1 as libyaml and go-yaml read it. */
import type { Cursor } from "./cursor.ts"
import {
  APOSTROPHE,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DASH,
  GREATER_THAN,
  HASH,
  isBlank,
  isBlankBreakOrEnd,
  isBreak,
  isEnd,
  NINE,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUESTION_MARK,
  QUOTE,
  SPACE,
  TAB,
  ZERO,
} from "./signs.ts"

/** Returns what line breaks inside a scalar become: a single one a space, several of them one break less. */
function folded(first: string, more: string): string {
  return first === "\n" ? (more === "" ? " " : more) : first + more
}

/**
 * Reads a scalar without quotes. Its further lines are indented deeper than `indent`, the column of the block around
 * it.
 */
export function plainScalar(cursor: Cursor, indent: number): string {
  const { text } = cursor
  cursor.scalarLine = cursor.line
  let value = ""
  let between = ""
  for (;;) {
    if (cursor.atDocumentMark() || cursor.code() === HASH) break
    const from = cursor.at
    const to = endOfPlain(cursor)
    if (to > from) {
      value += between + text.slice(from, to)
      cursor.keyAllowed = false
      between = ""
    }
    cursor.at = to
    if (!isBlank(cursor.code()) && !isBreak(cursor.code())) break
    const blanksFrom = cursor.at
    cursor.skipBlanks()
    if (!isBreak(cursor.code())) {
      // A comment or the end of the text follows.
      between = text.slice(blanksFrom, cursor.at)
      continue
    }
    between = takeBreaks(cursor, indent)
    cursor.keyAllowed = true
    if (cursor.flow === 0 && cursor.column <= indent) break
  }
  cursor.scalarLine = undefined
  return value
}

/** Returns where the scalar's part on this line ends: before blanks, or before a character that ends the scalar. */
function endOfPlain({ text, at, flow }: Cursor): number {
  let end = at
  for (let i = at; ; i++) {
    const code = text.charCodeAt(i)
    if (isBlank(code)) {
      // Blanks are part of the scalar if more of it follows them, and not a comment.
      let next = i + 1
      while (isBlank(text.charCodeAt(next))) next++
      const after = text.charCodeAt(next)
      if (after === HASH || isBreak(after) || isEnd(after)) return end
      i = next - 1
      continue
    }
    if (isBreak(code) || isEnd(code)) return end
    if (code === COLON && isBlankBreakOrEnd(text.charCodeAt(i + 1))) return end
    if (flow > 0 && endsPlainInFlow(code)) return end
    end = i + 1
  }
}

const endsPlainInFlow = (code: number): boolean =>
  code === COMMA ||
  code === QUESTION_MARK ||
  code === OPEN_BRACKET ||
  code === CLOSE_BRACKET ||
  code === OPEN_BRACE ||
  code === CLOSE_BRACE

/** Skips line breaks and the space at the start of the next line with text. */
function takeBreaks(cursor: Cursor, indent: number): string {
  const first = cursor.takeBreak()
  let more = ""
  for (;;) {
    const code = cursor.code()
    if (isBreak(code)) more += cursor.takeBreak()
    else if (isBlank(code)) {
      if (code === TAB && cursor.column <= indent) throw cursor.error("found a tab character that violates indentation")
      cursor.at++
    } else return folded(first, more)
  }
}

/** Reads a scalar in quotes of either kind. The cursor is on the first quote. */
export function quotedScalar(cursor: Cursor): string {
  const { text } = cursor
  const single = cursor.code() === APOSTROPHE
  const closing = single ? APOSTROPHE : QUOTE
  cursor.scalarLine = cursor.line
  cursor.at++
  let value = ""
  for (;;) {
    if (cursor.atDocumentMark()) throw cursor.error("found unexpected document indicator")
    // Reads up to the first character with a special meaning.
    const from = cursor.at
    let code = cursor.code()
    while (!isBlankBreakOrEnd(code) && code !== closing && (single || code !== BACKSLASH))
      code = text.charCodeAt(++cursor.at)
    value += text.slice(from, cursor.at)
    if (isEnd(code)) throw cursor.error("found unexpected end of stream")
    if (code === closing) {
      cursor.at++
      if (!single || cursor.code() !== APOSTROPHE) {
        cursor.scalarLine = undefined
        return value
      }
      cursor.at++
      value += "'"
    } else if (code === BACKSLASH) {
      if (isBreak(cursor.code(1))) {
        cursor.at++
        cursor.takeBreak()
        // A backslash before the line's end removes this break and the next line's indentation.
        value += blanksAndBreaks(cursor, true)
      } else value += escaped(cursor)
    } else value += blanksAndBreaks(cursor, false)
  }
}

/** Returns what blanks and line breaks in quotes mean: blanks before and after a break are dropped. */
function blanksAndBreaks(cursor: Cursor, swallowed: boolean): string {
  const from = cursor.at
  cursor.skipBlanks()
  if (!isBreak(cursor.code())) return swallowed ? "" : cursor.text.slice(from, cursor.at)
  const first = swallowed ? "" : cursor.takeBreak()
  let more = ""
  for (;;) {
    cursor.skipBlanks()
    if (!isBreak(cursor.code())) break
    more += cursor.takeBreak()
  }
  return first === "" ? more : folded(first, more)
}

const ESCAPES: Readonly<Record<string, string>> = {
  "0": "\0",
  a: "\x07",
  b: "\b",
  t: "\t",
  "\t": "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\x1b",
  " ": " ",
  '"': '"',
  "'": "'",
  "\\": "\\",
  N: "\x85",
  _: "\xa0",
  L: "\u2028",
  P: "\u2029",
}
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

function escaped(cursor: Cursor): string {
  const letter = cursor.text[cursor.at + 1] ?? ""
  const digits = HEX_DIGITS[letter]
  const plain = ESCAPES[letter]
  if (plain === undefined && digits === undefined) throw cursor.error("found unknown escape character")
  cursor.at += 2
  if (digits === undefined) return plain!
  const hex = cursor.text.slice(cursor.at, cursor.at + digits)
  if (hex.length < digits || !/^[\da-fA-F]+$/.test(hex)) throw cursor.error("did not find expected hexdecimal number")
  const code = Number.parseInt(hex, 16)
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
    throw cursor.error("found invalid Unicode character escape code")
  cursor.at += digits
  return String.fromCodePoint(code)
}

/** Reads a literal (`|`) or folded (`>`) block in a block at column `indent`. The cursor is on that character. */
export function blockScalar(cursor: Cursor, indent: number): string {
  const { text } = cursor
  const folds = cursor.code() === GREATER_THAN
  cursor.scalarLine = cursor.line
  cursor.at++
  const { chomping, increment } = blockHeader(cursor)
  const block = new BlockLines(cursor, increment > 0 ? Math.max(indent, 0) + increment : 0, indent)
  let value = ""
  let breaks = block.takeEmptyLines()
  let last = ""
  let wasIndented = false
  while (cursor.column === block.column && !isEnd(cursor.code())) {
    const isIndented = isBlank(cursor.code())
    value += folds && !wasIndented && !isIndented && last === "\n" ? (breaks === "" ? " " : "") : last
    value += breaks
    const from = cursor.at
    while (!isBreak(cursor.code()) && !isEnd(cursor.code())) cursor.at++
    value += text.slice(from, cursor.at)
    last = isEnd(cursor.code()) ? "" : cursor.takeBreak()
    wasIndented = isIndented
    breaks = block.takeEmptyLines()
  }
  cursor.scalarLine = undefined
  if (chomping !== "strip") value += last
  return chomping === "keep" ? value + breaks : value
}

function blockHeader(cursor: Cursor): { readonly chomping: "strip" | "clip" | "keep"; readonly increment: number } {
  let chomping: "strip" | "clip" | "keep" = "clip"
  let increment = 0
  const chomp = () => {
    const code = cursor.code()
    if (chomping !== "clip" || (code !== PLUS && code !== DASH)) return
    chomping = code === PLUS ? "keep" : "strip"
    cursor.at++
  }
  chomp()
  const code = cursor.code()
  if (code === ZERO) throw cursor.error("found an indentation indicator equal to 0")
  if (code > ZERO && code <= NINE) {
    increment = code - ZERO
    cursor.at++
  }
  if (increment > 0) chomp()
  cursor.skipBlanks()
  cursor.skipComment()
  if (isBreak(cursor.code())) cursor.takeBreak()
  else if (!isEnd(cursor.code())) throw cursor.error("did not find expected comment or line break")
  return { chomping, increment }
}

/** Skips indentation and empty lines of a block scalar. */
class BlockLines {
  /**
   * The column where the text of each line begins: given, or that of the first line with text. 0 before it is known.
   */
  column: number
  readonly #cursor: Cursor
  readonly #outer: number

  constructor(cursor: Cursor, column: number, outer: number) {
    this.#cursor = cursor
    this.column = column
    this.#outer = outer
  }

  takeEmptyLines(): string {
    const cursor = this.#cursor
    let breaks = ""
    let widest = 0
    for (;;) {
      while (this.#isIndentation() && cursor.code() === SPACE) cursor.at++
      widest = Math.max(widest, cursor.column)
      if (this.#isIndentation() && cursor.code() === TAB)
        throw cursor.error("found a tab character where an indentation space is expected")
      if (!isBreak(cursor.code())) break
      breaks += cursor.takeBreak()
    }
    if (this.column === 0) this.column = Math.max(widest, this.#outer + 1, 1)
    return breaks
  }

  #isIndentation(): boolean {
    return this.column === 0 || this.#cursor.column < this.column
  }
}
