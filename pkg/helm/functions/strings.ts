import { bytesOf, textOf } from "../../go-fmt/go-bytes.ts"
import { quoted } from "../../go-fmt/quote.ts"
import { sprint } from "../../go-fmt/sprintf.ts"
import { compareText } from "../../go-fmt/go-number.ts"
import type { TemplateFunction } from "../../go-template/functions.ts"
import { failCall } from "../../go-template/function-error.ts"
import { checkLength } from "../limits.ts"
import { anyOf, text, textFrom, whole } from "./convert.ts"

const repeated = (part: string, count: number): string => {
  if (count < 0) failCall("strings: negative Repeat count")
  checkLength(part.length * count)
  return part.repeat(count)
}

/** Replaces all of a part. The length of the result is known, and checked, before it is made. */
function substituted(value: string, before: string, after: string): string {
  let count = before === "" ? value.length + 1 : 0
  if (before !== "") for (let at = 0; (at = value.indexOf(before, at)) >= 0; at += before.length) count++
  checkLength(value.length + count * (after.length - before.length))
  return value.replaceAll(before, () => after)
}

const indented = (spaces: number, value: string): string => {
  const pad = repeated(" ", spaces)
  return pad + substituted(value, "\n", `\n${pad}`)
}

const trimmed = (value: string, cut: string): string => {
  const signs = new Set(cut)
  const all = Array.from(value)
  let [start, end] = [0, all.length]
  while (start < end && signs.has(all[start]!)) start++
  while (end > start && signs.has(all[end - 1]!)) end--
  return all.slice(start, end).join("")
}

/** White space as Go's strings.TrimSpace has it. */
const withoutSpace = (value: string): string =>
  value.replace(/^[\s\u0085]+|(?<![\s\u0085])[\s\u0085]+$/gu, (space) => space.replace(/[^\ufeff]/gu, ""))

/** Returns the first bytes of a text, or those after the first `-count` where that is negative. */
function truncated(count: number, value: string): string {
  const bytes = bytesOf(value)
  if (count < 0 && bytes.length + count > 0) return textOf(bytes.subarray(bytes.length + count))
  return count >= 0 && bytes.length > count ? textOf(bytes.subarray(0, count)) : value
}

function between(start: number, end: number, value: string): string {
  const bytes = bytesOf(value)
  if (start < 0) return textOf(bytes.subarray(0, end))
  return textOf(end < 0 || end > bytes.length ? bytes.subarray(start) : bytes.subarray(start, end))
}

/** Returns the texts of a list, or of one value; nil is left out. */
export const textsFrom = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value])
    .filter((item) => item !== null && item !== undefined)
    .map(textFrom)

const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W_]+/g
const wordsOf = (value: string): readonly string[] => value.match(WORD) ?? []
const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)

const split = (parts: readonly string[]) => Object.fromEntries(parts.map((part, i) => [`_${i}`, part]))
/** Splits as Go's strings.SplitN: the last part has the rest. */
function splitUpTo(value: string, separator: string, most: number): readonly string[] {
  const parts = separator === "" ? Array.from(value) : value.split(separator)
  if (most < 0 || parts.length <= most) return parts
  return most === 0 ? [] : [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)]
}

function wrapped(value: string, width: number, separator = "\n"): string {
  const lines: string[] = []
  let line = ""
  for (const word of value.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  checkLength(value.length + lines.length * separator.length)
  return [...lines, line].join(separator)
}

function abbreviated(width: number, value: string): string {
  const signs = Array.from(value)
  return width < 4 || signs.length <= width ? value : `${signs.slice(0, width - 3).join("")}...`
}

/** Functions of texts. Source of names and rules: Masterminds/sprig strings.go. */
export const STRING_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  abbrev: anyOf((width, value) => abbreviated(whole(width), text(value))),
  trunc: anyOf((count, value) => truncated(whole(count), text(value))),
  trim: anyOf((value) => withoutSpace(text(value))),
  upper: anyOf((value) => text(value).toUpperCase()),
  lower: anyOf((value) => text(value).toLowerCase()),
  title: anyOf((value) =>
    text(value).replace(
      /(^|[^\p{L}\p{N}_'])(\p{L})/gu,
      (_, before: string, letter: string) => before + letter.toUpperCase(),
    ),
  ),
  untitle: anyOf((value) =>
    text(value).replace(/(^|\s)(\S)/g, (_, before: string, letter: string) => before + letter.toLowerCase()),
  ),
  substr: anyOf((start, end, value) => between(whole(start), whole(end), text(value))),
  repeat: anyOf((count, value) => repeated(text(value), whole(count))),
  trimAll: anyOf((cut, value) => trimmed(text(value), text(cut))),
  trimall: anyOf((cut, value) => trimmed(text(value), text(cut))),
  trimSuffix: anyOf((end, value) => {
    const [whole, part] = [text(value), text(end)]
    return part !== "" && whole.endsWith(part) ? whole.slice(0, -part.length) : whole
  }),
  trimPrefix: anyOf((start, value) => {
    const [whole, part] = [text(value), text(start)]
    return whole.startsWith(part) ? whole.slice(part.length) : whole
  }),
  nospace: anyOf((value) => text(value).replace(/\s/gu, "")),
  initials: anyOf((value) => (text(value).match(/(?<=^|\s)\S/gu) ?? []).join("")),
  swapcase: anyOf((value) =>
    Array.from(text(value), (sign) => (sign === sign.toUpperCase() ? sign.toLowerCase() : sign.toUpperCase())).join(""),
  ),
  snakecase: anyOf((value) => wordsOf(text(value)).join("_").toLowerCase()),
  kebabcase: anyOf((value) => wordsOf(text(value)).join("-").toLowerCase()),
  camelcase: anyOf((value) =>
    text(value)
      .split(/[\s_-]+/)
      .map(capitalized)
      .join(""),
  ),
  wrap: anyOf((width, value) => wrapped(text(value), whole(width))),
  wrapWith: anyOf((width, separator, value) => wrapped(text(value), whole(width), text(separator))),
  contains: anyOf((part, value) => text(value).includes(text(part))),
  hasPrefix: anyOf((part, value) => text(value).startsWith(text(part))),
  hasSuffix: anyOf((part, value) => text(value).endsWith(text(part))),
  quote: anyOf((...values) =>
    values
      .filter((value) => value !== null)
      .map((value) => quoted(textFrom(value)))
      .join(" "),
  ),
  squote: anyOf((...values) =>
    values
      .filter((value) => value !== null)
      .map((value) => `'${sprint([value])}'`)
      .join(" "),
  ),
  cat: anyOf((...values) =>
    values
      .filter((value) => value !== null)
      .map((value) => sprint([value]))
      .join(" "),
  ),
  indent: anyOf((spaces, value) => indented(whole(spaces), text(value))),
  nindent: anyOf((spaces, value) => `\n${indented(whole(spaces), text(value))}`),
  replace: anyOf((before, after, value) => substituted(text(value), text(before), text(after))),
  plural: anyOf((one, many, count) => (whole(count) === 1 ? text(one) : text(many))),
  toString: anyOf((value) => textFrom(value)),
  toStrings: anyOf((value) => textsFrom(value)),
  split: anyOf((separator, value) => split(splitUpTo(text(value), text(separator), -1))),
  splitn: anyOf((separator, most, value) => split(splitUpTo(text(value), text(separator), whole(most)))),
  splitList: anyOf((separator, value) => splitUpTo(text(value), text(separator), -1)),
  join: anyOf((separator, value) => {
    const parts = textsFrom(value)
    checkLength(parts.length * text(separator).length)
    return parts.join(text(separator))
  }),
  sortAlpha: anyOf((value) => textsFrom(value).sort(compareText)),
}
