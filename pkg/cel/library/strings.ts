import { boundedText } from "../limits.ts"
import { formatText } from "./format-text.ts"
import { INT, listOf, DYN, STRING } from "../type.ts"
import { ArrayList, CelError, type ListValue, type Value } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration } from "./declare.ts"

/** Functions of strings, in version 2 of the library. Source: cel-go ext/strings.go. */

const outOfRange = (index: number): CelError => new CelError(`index out of range: ${index}`)

/** Returns the characters of a string as a list. */
const characters = (text: string): readonly string[] => Array.from(text)

function charAt(text: string, index: number): Value {
  const list = characters(text)
  return index < 0 || index > list.length ? outOfRange(index) : (list[index] ?? "")
}

function indexOf(text: string, part: string, from: number = 0): Value {
  if (part === "") return from
  if (from < 0) return outOfRange(from)
  const list = characters(text)
  const wanted = characters(part)
  for (let i = from; i <= list.length - wanted.length; i++) if (wanted.every((c, j) => list[i + j] === c)) return i
  return -1
}

function lastIndexOf(text: string, part: string, from?: number): Value {
  const list = characters(text)
  if (part === "") return from ?? list.length
  const wanted = characters(part)
  if (from !== undefined && from < 0) return outOfRange(from)
  if (from !== undefined && from >= list.length) return -1
  for (let i = Math.min(from ?? list.length, list.length - wanted.length); i >= 0; i--)
    if (wanted.every((c, j) => list[i + j] === c)) return i
  return -1
}

/** Replaces the first `count` occurrences; all when it is negative. An empty string occurs before every character. */
function replace(text: string, old: string, by: string, count: number | bigint = -1): Value {
  const most = old === "" ? text.length + 1 : text.split(old).length - 1
  boundedText(text.length + most * by.length)
  if (count < 0 && old !== "") return text.replaceAll(old, () => by)
  const pieces = old === "" ? ["", ...characters(text), ""].slice(0, characters(text).length + 2) : text.split(old)
  let result = pieces[0]!
  for (let i = 1; i < pieces.length; i++) {
    const isReplaced = count < 0 || i <= count
    const isEnd = old === "" && i === pieces.length - 1
    result += old === "" ? (isReplaced ? by : "") + (isEnd ? "" : pieces[i]!) : (isReplaced ? by : old) + pieces[i]!
  }
  return result
}

/** Splits into at most `count` strings; a negative count means no limit. */
function split(text: string, separator: string, count: number | bigint = -1): Value {
  if (count === 0) return new ArrayList([])
  const pieces = separator === "" ? characters(text) : text.split(separator)
  if (count < 0 || pieces.length <= count) return new ArrayList(pieces)
  const kept = pieces.slice(0, Number(count) - 1)
  return new ArrayList([...kept, pieces.slice(Number(count) - 1).join(separator)])
}

function substring(text: string, start: number, end?: number): Value {
  const list = characters(text)
  if (end !== undefined && start > end) return new CelError(`invalid substring range. start: ${start}, end: ${end}`)
  if (start < 0 || start > list.length) return outOfRange(start)
  if (end !== undefined && (end < 0 || end > list.length)) return outOfRange(end)
  return list.slice(start, end).join("")
}

function join(list: ListValue, separator = ""): Value {
  const texts: string[] = []
  let length = 0
  for (const item of list) {
    if (typeof item !== "string") return new CelError("expected all elements to be of type string")
    length += item.length + separator.length
    boundedText(length)
    texts.push(item)
  }
  return texts.join(separator)
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
}

const quote = (text: string): Value =>
  `"${text.toWellFormed().replaceAll(/[\u0007\b\f\n\r\t\v\\"]/g, (c) => ESCAPES[c]!)}"`

/** Whether Go's unicode.IsSpace is true: as in JavaScript, but with U+0085 and without U+FEFF. */
const isSpace = (unit: string): boolean => (unit.trim() === "" && unit !== "\ufeff") || unit === "\u0085"

function trim(text: string): Value {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text[start]!)) start++
  while (end > start && isSpace(text[end - 1]!)) end--
  return text.slice(start, end)
}

const lower = (text: string): Value => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
const upper = (text: string): Value => text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase())

export const STRINGS: readonly FunctionDeclaration[] = [
  declare("charAt", [member("string_char_at_int", [STRING, INT], STRING, charAt)]),
  declare("indexOf", [
    member("string_index_of_string", [STRING, STRING], INT, indexOf),
    member("string_index_of_string_int", [STRING, STRING, INT], INT, indexOf),
  ]),
  declare("lastIndexOf", [
    member("string_last_index_of_string", [STRING, STRING], INT, lastIndexOf),
    member("string_last_index_of_string_int", [STRING, STRING, INT], INT, lastIndexOf),
  ]),
  declare("lowerAscii", [member("string_lower_ascii", [STRING], STRING, lower)]),
  declare("upperAscii", [member("string_upper_ascii", [STRING], STRING, upper)]),
  declare("replace", [
    member("string_replace_string_string", [STRING, STRING, STRING], STRING, replace),
    member("string_replace_string_string_int", [STRING, STRING, STRING, INT], STRING, replace),
  ]),
  declare("split", [
    member("string_split_string", [STRING, STRING], listOf(STRING), split),
    member("string_split_string_int", [STRING, STRING, INT], listOf(STRING), split),
  ]),
  declare("substring", [
    member("string_substring_int", [STRING, INT], STRING, substring),
    member("string_substring_int_int", [STRING, INT, INT], STRING, substring),
  ]),
  declare("trim", [member("string_trim", [STRING], STRING, trim)]),
  declare("join", [
    member("list_join", [listOf(STRING)], STRING, join),
    member("list_join_string", [listOf(STRING), STRING], STRING, join),
  ]),
  declare("format", [member("string_format", [STRING, listOf(DYN)], STRING, formatText)]),
  declare("strings.quote", [overload("strings_quote", [STRING], STRING, quote)]),
]
