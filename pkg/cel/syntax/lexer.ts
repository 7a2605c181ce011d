import type { Issues } from "./issue.ts"

export type TokenKind =
  | "punctuation"
  | "IDENTIFIER"
  | "ESC_IDENTIFIER"
  | "NUM_FLOAT"
  | "NUM_INT"
  | "NUM_UINT"
  | "STRING"
  | "BYTES"
  | "EOF"

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  readonly offset: number
}

/** Words that are not identifiers. */
const KEYWORDS: ReadonlySet<string> = new Set(["in", "true", "false", "null"])

const SPACE = /[\t \r\n\f]+|\/\/[^\n]*/y
const FLOAT = /[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?/y
const INTEGER = /(?:0x[0-9a-fA-F]+|[0-9]+)([uU]?)/y
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
const ESCAPED_NAME = /`[A-Za-z0-9_.\-/ ]+`/y
const PUNCTUATION = /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y
const QUOTE = /([bB]?[rR]?|[rR][bB])("""|'''|"|')/y
const ESCAPE = /\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y

/** Splits an expression into tokens; the last is EOF. Source: cel-go parser/gen/CEL.g4. */
export function tokens(source: string, issues: Issues): readonly Token[] {
  const found: Token[] = []
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    return pattern.exec(source)
  }
  const push = (kind: TokenKind, text: string): void => {
    found.push({ kind, text, offset: at })
    at += text.length
  }
  for (;;) {
    const space = match(SPACE)
    if (space !== null) {
      at += space[0].length
      continue
    }
    if (at >= source.length) break
    const quote = match(QUOTE)
    if (quote !== null) {
      const end = stringEnd(source, at + quote[0].length, quote[2]!, /r/i.test(quote[1]!))
      if (end.closed) push(/b/i.test(quote[1]!) ? "BYTES" : "STRING", source.slice(at, end.at))
      else at = unknownToken(source, at, end.at, issues)
      continue
    }
    const float = match(FLOAT)
    if (float !== null) {
      push("NUM_FLOAT", float[0])
      continue
    }
    const integer = match(INTEGER)
    if (integer !== null) {
      push(integer[1] === "" ? "NUM_INT" : "NUM_UINT", integer[0])
      continue
    }
    const name = match(NAME)
    if (name !== null) {
      push(KEYWORDS.has(name[0]) ? "punctuation" : "IDENTIFIER", name[0])
      continue
    }
    const escaped = match(ESCAPED_NAME)
    if (escaped !== null) {
      push("ESC_IDENTIFIER", escaped[0])
      continue
    }
    const sign = match(PUNCTUATION)
    if (sign !== null) push("punctuation", sign[0])
    else at = unknownToken(source, at, /[|&=]/.test(source[at]!) ? at + 1 : at, issues)
  }
  found.push({ kind: "EOF", text: "<EOF>", offset: source.length })
  return found
}

/** Returns where a string ends, or the first character that is not allowed in it. */
function stringEnd(source: string, start: number, quote: string, raw: boolean): { at: number; closed: boolean } {
  const long = quote.length === 3
  for (let at = start; at < source.length;) {
    if (source.startsWith(quote, at)) return { at: at + quote.length, closed: true }
    const character = source[at]!
    if (character === "\\" && !raw) {
      ESCAPE.lastIndex = at
      const escape = ESCAPE.exec(source)
      if (escape === null) return { at: at + 1, closed: false }
      at += escape[0].length
    } else if (!long && (character === "\n" || character === "\r")) return { at, closed: false }
    else at++
  }
  return { at: source.length, closed: false }
}

/** Reports characters that begin no token, and returns the position after them. */
function unknownToken(source: string, start: number, fault: number, issues: Issues): number {
  const code = source.codePointAt(fault)
  const end = code === undefined ? source.length : fault + (code > 0xffff ? 2 : 1)
  const shown = source.slice(start, end).replaceAll("\t", "\\t").replaceAll("\n", "\\n").replaceAll("\r", "\\r")
  issues.report(start, `Syntax error: token recognition error at: '${shown}'`)
  return end
}
