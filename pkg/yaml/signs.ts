/** Codes of the characters that have a meaning in YAML. */
export const TAB = 9
export const LINE_FEED = 10
export const CARRIAGE_RETURN = 13
export const SPACE = 32
export const EXCLAMATION_MARK = 33
export const QUOTE = 34
export const HASH = 35
export const PERCENT = 37
export const AMPERSAND = 38
export const APOSTROPHE = 39
export const ASTERISK = 42
export const PLUS = 43
export const COMMA = 44
export const DASH = 45
export const DOT = 46
export const ZERO = 48
export const NINE = 57
export const COLON = 58
export const LESS_THAN = 60
export const GREATER_THAN = 62
export const QUESTION_MARK = 63
export const OPEN_BRACKET = 91
export const BACKSLASH = 92
export const CLOSE_BRACKET = 93
export const OPEN_BRACE = 123
export const BAR = 124
export const CLOSE_BRACE = 125
const NEXT_LINE = 0x85
export const LINE_SEPARATOR = 0x2028
export const PARAGRAPH_SEPARATOR = 0x2029

/** Returns whether a code stands for the end of the text: there it is NaN. */
export const isEnd = (code: number): boolean => Number.isNaN(code)
export const isBlank = (code: number): boolean => code === SPACE || code === TAB
export const isBreak = (code: number): boolean =>
  code === LINE_FEED ||
  code === CARRIAGE_RETURN ||
  code === NEXT_LINE ||
  code === LINE_SEPARATOR ||
  code === PARAGRAPH_SEPARATOR
export const isBlankBreakOrEnd = (code: number): boolean => isBlank(code) || isBreak(code) || isEnd(code)

/** Characters that no plain scalar begins with, by code. `-`, `?` and `:` may begin one if no space follows. */
const NEVER_FIRST = new Uint8Array(128)
for (const sign of ",[]{}#&*!|>'\"%@`\t\n\r ") NEVER_FIRST[sign.charCodeAt(0)] = 1
export const isNeverFirst = (code: number): boolean =>
  code < 128 ? NEVER_FIRST[code] === 1 : isBreak(code) || isEnd(code)
