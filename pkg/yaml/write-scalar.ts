import { Buffer } from "node:buffer"
import { int64Of } from "../apimachinery/go/go-text.ts"
import { ExactNumber } from "../apimachinery/json/exact-number.ts"
import type { LineWriter } from "./line-writer.ts"
import { plainValue } from "./resolve.ts"

/** Lines are broken at the first single space after this many columns. */
const WIDTH = 80
/** A longer key gets a line for itself. In bytes. */
const LONGEST_SIMPLE_KEY = 128

export const BREAK = /[\r\n\x85\u2028\u2029]/
/** Characters that YAML writes escaped: control codes and tabs, and all beyond the first 65,536 codes. */
export const SPECIAL = /[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/
export const SPACE_AT_END_OF_LINE = / [\r\n\x85\u2028\u2029]/
export const SPACE_AT_START_OF_LINE = /[\r\n\x85\u2028\u2029] /
/** Matches text that would begin something other than a plain scalar, or end one. */
export const INDICATORS = /^(?:---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[?:-](?: |$))|:(?: |$)| #/

/** Returns whether a key can be on one line with its colon. */
export const isSimpleKey = (key: string): boolean => !BREAK.test(key) && Buffer.byteLength(key) <= LONGEST_SIMPLE_KEY

/**
 * Writes text, a number, true, false or null (also for undefined). Further lines begin at `indent`; a key has none.
 * Source of the behaviour: go.yaml.in/yaml/v2 encode.go and emitterc.go (yaml_emitter_select_scalar_style).
 */
export function writeScalar(out: LineWriter, given: unknown, indent: number, isKey = false): void {
  if (typeof given !== "string") return out.put(signOf(given))
  const value = given.includes("\x85") ? folded(given) : given
  const block = value.includes("\n")
  const fitsBlock = !value.endsWith(" ") && !SPACE_AT_END_OF_LINE.test(value) && !SPECIAL.test(value)
  if (block && fitsBlock && !isKey) return writeLiteral(out, value, indent)
  if (block || wouldBeRead(value)) return writeDoubleQuoted(out, value, indent, isKey)
  if (!BREAK.test(value) && fitsBlock && !value.startsWith(" ") && !INDICATORS.test(value))
    return writeWords(out, value, indent, isKey)
  const fitsQuotes = !SPACE_AT_START_OF_LINE.test(value) && !SPACE_AT_END_OF_LINE.test(value) && !SPECIAL.test(value)
  return fitsQuotes ? writeSingleQuoted(out, value, indent, isKey) : writeDoubleQuoted(out, value, indent, isKey)
}

/**
 * Returns a text as it comes out of sigs.k8s.io/yaml, which writes JSON and reads that as YAML: U+0085, which JSON does
 * not escape, is a line break there, and becomes a space.
 */
const folded = (text: string): string =>
  text.replaceAll(/[ \x85]+/g, (run) => (run.includes("\x85") ? "\n".repeat(run.split("\x85").length - 2) || " " : run))

function signOf(value: unknown): string {
  if (value instanceof ExactNumber && int64Of(value.text) !== undefined) return value.text
  if (typeof value === "number" || value instanceof ExactNumber)
    return numberText(typeof value === "number" ? value : Number(value.text))
  return typeof value === "bigint" || typeof value === "boolean" ? String(value) : "null"
}

const isInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value

/** Returns a number in the form that JSON gives it, and floats as YAML then writes them. */
function numberText(value: number): string {
  const json = String(value)
  if (!/^-?[0-9]+$/.test(json)) return floatText(value)
  const integer = BigInt(json)
  return isInt64(integer) || BigInt.asUintN(64, integer) === integer ? json : floatText(value)
}

/** Returns a float in Go's format %g. */
export function floatText(value: number): string {
  const size = Math.abs(value)
  if (value === 0 || (size >= 1e-4 && size < 1e6)) return String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2")
}

const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/

/** Returns whether a reader of YAML 1.1 would read the text as a number, a time, true, false or null. */
const wouldBeRead = (text: string): boolean => plainValue(text) !== text || BASE_60.test(text) || isTimestamp(text)

const DATE = /^(\d{4})-(\d{1,2})-(\d{1,2})/
const TIME_OF_DAY =
  /^(?:$|[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$| (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?$)/

/** Source: https://yaml.org/type/timestamp.html, as far as go-yaml supports it. */
function isTimestamp(text: string): boolean {
  const date = DATE.exec(text)
  if (date === null) return false
  const time = TIME_OF_DAY.exec(text.slice(date[0].length))
  if (time === null) return false
  const [year, month, day] = date.slice(1).map(Number) as [number, number, number]
  const [hours = 0, minutes = 0, seconds = 0] = time
    .slice(1)
    .filter((part) => part !== undefined)
    .map(Number)
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month) && hours < 24 && minutes < 60 && seconds < 60
  )
}

const daysOf = (year: number, month: number): number =>
  month === 2
    ? year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
      ? 29
      : 28
    : [4, 6, 9, 11].includes(month)
      ? 30
      : 31

/** Writes text, and breaks lines at single spaces beyond the width. */
function writeWords(out: LineWriter, text: string, indent: number, isKey: boolean): void {
  let from = 0
  // The first and the last character stay where they are.
  for (let i = isKey ? -1 : text.indexOf(" ", 1); i > 0 && i < text.length - 1; i = text.indexOf(" ", i + 1)) {
    if (text[i - 1] === " " || text[i + 1] === " ") continue
    out.put(text.slice(from, i))
    from = i
    if (out.column <= WIDTH) continue
    out.startLine(indent)
    from = i + 1
  }
  out.put(text.slice(from))
}

function writeSingleQuoted(out: LineWriter, text: string, indent: number, isKey: boolean): void {
  out.put("'")
  for (const part of text.split(/([\u2028\u2029]+)/)) {
    if (part === "") continue
    if (BREAK.test(part)) out.break(part)
    else {
      if (out.column === 0) out.startLine(indent)
      writeWords(out, part.replaceAll("'", "''"), indent, isKey)
    }
  }
  out.put("'")
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\0": "0",
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\x1b": "e",
  '"': '"',
  "\\": "\\",
  "\x85": "N",
  "\u2028": "L",
  "\u2029": "P",
}

function escaped(sign: string): string {
  const known = ESCAPES[sign]
  if (known !== undefined) return `\\${known}`
  return SPECIAL.test(sign) ? codeOf(sign) : sign
}

function codeOf(sign: string): string {
  const code = sign.codePointAt(0)!
  const hex = (digits: number) => code.toString(16).toUpperCase().padStart(digits, "0")
  return code <= 0xff ? `\\x${hex(2)}` : code <= 0xffff ? `\\u${hex(4)}` : `\\U${hex(8)}`
}

const BYTE_ORDER_MARK = "\ufeff"
const escapedAlways = (sign: string): string =>
  sign === "\u00a0" ? "\\_" : ESCAPES[sign] === undefined ? codeOf(sign) : escaped(sign)

const ESCAPED = new RegExp(String.raw`["\\\n\u2028\u2029]|${SPECIAL.source}`, "gu")

/** Returns text as it stands between double quotes. */
export const escapedText = (text: string): string => text.replace(ESCAPED, escaped)

function writeDoubleQuoted(out: LineWriter, text: string, indent: number, isKey: boolean): void {
  const put = (from: number, to: number) => out.put(escapedText(text.slice(from, to)))
  // go-yaml finds the byte order mark at the start of a text again at each of its characters.
  if (text.startsWith(BYTE_ORDER_MARK)) return out.put(`"${Array.from(text, escapedAlways).join("")}"`)
  out.put('"')
  let from = 0
  for (let i = isKey ? -1 : text.indexOf(" ", 1); i > 0 && i < text.length - 1; i = text.indexOf(" ", i + 1)) {
    if (text[i - 1] === " ") continue
    put(from, i)
    from = i
    if (out.column <= WIDTH) continue
    out.startLine(indent)
    from = i + 1
    // A space at the start of a line would be lost.
    if (text[from] === " ") out.put("\\")
  }
  put(from, text.length)
  out.put('"')
}

/** Writes lines unchanged. The characters after the bar say how the text begins and ends. */
function writeLiteral(out: LineWriter, text: string, indent: number): void {
  const begins = /^[ \n\u2028\u2029]/.test(text) ? "2" : ""
  const ends = /[\n\u2028\u2029]$/.test(text) ? (/(?:^|[\n\u2028\u2029])[\n\u2028\u2029]$/.test(text) ? "+" : "") : "-"
  out.put(`|${begins}${ends}`)
  out.break()
  let from = 0
  const putLine = (to: number) => {
    if (to === from) return
    out.startLine(indent)
    out.put(text.slice(from, to))
  }
  for (const { 0: sign, index } of text.matchAll(/[\n\u2028\u2029]/g)) {
    putLine(index)
    out.break(sign)
    from = index + 1
  }
  putLine(text.length)
}
