import { trimRight } from "../apimachinery/go/go-text.ts"
import { isPrintable, quoted } from "../go-fmt/quote.ts"

/** The kinds of tokens. Keywords have a kind of their own each. */
export type TokenKind =
  | "error"
  | "bool"
  | "char"
  | "charConstant"
  | "complex"
  | "assign"
  | "declare"
  | "eof"
  | "field"
  | "identifier"
  | "leftDelim"
  | "leftParen"
  | "number"
  | "pipe"
  | "rawString"
  | "rightDelim"
  | "rightParen"
  | "space"
  | "string"
  | "text"
  | "variable"
  | Keyword

const KEYWORDS = [
  "block",
  "break",
  "continue",
  "define",
  "else",
  "end",
  "if",
  "range",
  "nil",
  "template",
  "with",
] as const
type Keyword = (typeof KEYWORDS)[number] | "dot"

/** A piece of a template. `at` is where it begins; the text of an error is its message. */
export interface Token {
  readonly kind: TokenKind
  readonly at: number
  readonly text: string
}

const IS_KEYWORD: ReadonlySet<TokenKind> = new Set<TokenKind>([...KEYWORDS, "dot"])
const isKeyword = (word: string): word is (typeof KEYWORDS)[number] => IS_KEYWORD.has(word as TokenKind)

/** Returns a token as error messages show it. */
export function shownToken({ kind, text }: Token): string {
  if (kind === "eof") return "EOF"
  if (kind === "error") return text
  if (IS_KEYWORD.has(kind)) return `<${text}>`
  return Buffer.byteLength(text) > 10 ? `${quoted(Array.from(text).slice(0, 10).join(""))}...` : quoted(text)
}

const LEFT = "{{"
const RIGHT = "}}"
const SPACE_AT_START = /^[ \t\r\n]*/
const SPACE = " \t\r\n"

/** Splits the text of a template into tokens. Source: Go text/template/parse/lex.go. */
export class Lexer {
  readonly text: string
  #at = 0
  #parens = 0
  #isInAction = false

  constructor(text: string) {
    this.text = text
  }

  /** Returns the next token; after an error or the end, always the end. */
  next(): Token {
    return this.#isInAction ? this.#action() : this.#outside()
  }

  #token(kind: TokenKind, end: number): Token {
    const token = { kind, at: this.#at, text: this.text.slice(this.#at, end) }
    this.#at = end
    return token
  }

  #error(message: string): Token {
    const token: Token = { kind: "error", at: this.#at, text: message }
    this.#at = this.text.length
    return token
  }

  #outside(): Token {
    for (;;) {
      const open = this.text.indexOf(LEFT, this.#at)
      if (open === -1) {
        const kind = this.#at < this.text.length ? "text" : "eof"
        return this.#token(kind, this.text.length)
      }
      const inner = open + LEFT.length
      const isTrimmed = this.#matches(/-[ \t\r\n]/y, inner)
      const before = this.text.slice(this.#at, open)
      const kept = isTrimmed ? trimRight(before, SPACE) : before
      if (kept !== "") {
        const token = this.#token("text", this.#at + kept.length)
        this.#at = open
        return token
      }
      this.#at = open
      const start = inner + (isTrimmed ? 2 : 0)
      if (!this.text.startsWith("/*", start)) {
        const token = this.#token("leftDelim", inner)
        this.#isInAction = true
        this.#parens = 0
        this.#at = start
        return token
      }
      this.#at = start
      const fault = this.#skipComment(start)
      if (fault !== undefined) return this.#error(fault)
    }
  }

  #skipComment(start: number): string | undefined {
    const close = this.text.indexOf("*/", start + 2)
    if (close === -1) return "unclosed comment"
    const end = close + 2
    const length = this.#rightDelimAt(end)
    if (length === 0) return "comment ends before closing delimiter"
    this.#at = this.#afterRightDelim(end, length)
    return undefined
  }

  /** Returns the length of a right delimiter with its trim marker; 0 when none is there. */
  #rightDelimAt(at: number): number {
    if (this.text.startsWith(RIGHT, at)) return RIGHT.length
    return this.#matches(/[ \t\r\n]-\}\}/y, at) ? RIGHT.length + 2 : 0
  }

  #afterRightDelim(at: number, length: number): number {
    const end = at + length
    return length === RIGHT.length ? end : end + SPACE_AT_START.exec(this.text.slice(end))![0].length
  }

  #matches(pattern: RegExp, at: number): boolean {
    pattern.lastIndex = at
    return pattern.test(this.text)
  }

  /** Returns where a match that begins at a place ends; `at` when nothing matches. */
  #end(pattern: RegExp, at: number): number {
    pattern.lastIndex = at
    return pattern.test(this.text) ? pattern.lastIndex : at
  }

  #action(): Token {
    const length = this.#rightDelimAt(this.#at)
    if (length > 0) return this.#parens === 0 ? this.#rightDelim(length) : this.#error("unclosed left paren")
    const at = this.#at
    const code = this.text.codePointAt(at)
    if (code === undefined) return this.#error("unclosed action")
    const sign = String.fromCodePoint(code)
    switch (sign) {
      case " ":
      case "\t":
      case "\r":
      case "\n":
        return this.#space()
      case "=":
        return this.#token("assign", at + 1)
      case ":":
        return this.text[at + 1] === "=" ? this.#token("declare", at + 2) : this.#error("expected :=")
      case "|":
        return this.#token("pipe", at + 1)
      case '"':
        return this.#quoted(/"(?:[^"\\\n]|\\[^\n])*"/y, "string", "unterminated quoted string")
      case "`":
        return this.#quoted(/`[^`]*`/y, "rawString", "unterminated raw quoted string")
      case "'":
        return this.#quoted(/'(?:[^'\\\n]|\\[^\n])*'/y, "charConstant", "unterminated character constant")
      case "$":
        return this.#name("variable", "variable")
      case "(":
        this.#parens++
        return this.#token("leftParen", at + 1)
      case ")":
        return --this.#parens < 0 ? this.#error("unexpected right paren") : this.#token("rightParen", at + 1)
      default:
        if (sign === "." && this.#matches(/[^0-9]/y, at + 1)) return this.#name("field", "dot")
        if (/[.+\-0-9]/.test(sign)) return this.#number()
        if (this.#matches(WORD, at)) return this.#identifier()
        return code >= 0x20 && code < 0x7f
          ? this.#token("char", at + 1)
          : this.#error(`unrecognized character in action: ${shownCharacter(sign)}`)
    }
  }

  #rightDelim(length: number): Token {
    // A trim marker is no part of the token.
    const end = this.#afterRightDelim(this.#at, length)
    this.#at += length - RIGHT.length
    const token = this.#token("rightDelim", this.#at + RIGHT.length)
    this.#at = end
    this.#isInAction = false
    return token
  }

  #space(): Token {
    const end = this.#end(/[ \t\r\n]+/y, this.#at)
    // The last space can begin a trim marker.
    if (!this.text.startsWith(`-${RIGHT}`, end)) return this.#token("space", end)
    return end - this.#at === 1 ? this.#rightDelim(RIGHT.length + 2) : this.#token("space", end - 1)
  }

  #quoted(pattern: RegExp, kind: TokenKind, fault: string): Token {
    const end = this.#end(pattern, this.#at)
    return end === this.#at ? this.#error(fault) : this.#token(kind, end)
  }

  /** Reads a name after a dot or a dollar sign. */
  #name(kind: "field" | "variable", alone: "dot" | "variable"): Token {
    const start = this.#at + 1
    if (this.#isTerminated(start)) return this.#token(alone, start)
    return this.#terminated(this.#end(WORD, start), kind)
  }

  #identifier(): Token {
    const end = this.#end(WORD, this.#at)
    const word = this.text.slice(this.#at, end)
    return this.#terminated(end, isKeyword(word) ? word : word === "true" || word === "false" ? "bool" : "identifier")
  }

  #terminated(end: number, kind: TokenKind): Token {
    if (this.#isTerminated(end)) return this.#token(kind, end)
    return this.#error(`bad character ${shownCharacter(String.fromCodePoint(this.text.codePointAt(end)!))}`)
  }

  /** Returns whether a name can end at a place. */
  #isTerminated(at: number): boolean {
    return at >= this.text.length || this.#matches(/[ \t\r\n.,|:)(]|\}\}/y, at)
  }

  #number(): Token {
    const end = this.#end(NUMBER, this.#at)
    if (this.#matches(WORD, end)) return this.#badNumber(end + 1)
    if (!this.#matches(/[+-]/y, end)) return this.#token("number", end)
    const second = this.#end(NUMBER, end)
    if (this.#matches(WORD, second)) return this.#badNumber(second + 1)
    return this.text[second - 1] === "i" ? this.#token("complex", second) : this.#badNumber(second)
  }

  #badNumber(end: number): Token {
    return this.#error(`bad number syntax: ${quoted(this.text.slice(this.#at, end))}`)
  }
}

const WORD = /[\p{L}\p{Nd}_]+/uy
const NUMBER =
  /[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?|0[oO][0-7_]*(?:\.[0-7_]*)?|0[bB][01_]*(?:\.[01_]*)?|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?/y

/** Returns a character as Go's `%#U` prints it. */
function shownCharacter(sign: string): string {
  const code = sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")
  return `U+${code}${isPrintable(sign) ? ` '${sign}'` : ""}`
}
