/** Reads the properties of a node, `&anchor` and `!tag`, and the directives that tags refer to. */
import { type Cursor, structureError } from "./cursor.ts"
import { EXCLAMATION_MARK, isBlankBreakOrEnd, isBreak, isEnd, LESS_THAN } from "./signs.ts"

/** Reads the name after `&` or `*`. The cursor is on that character. */
export function anchorName(cursor: Cursor): string {
  cursor.at++
  const name = word(cursor)
  const after = cursor.text[cursor.at]
  if (name === "" || !(isBlankBreakOrEnd(cursor.code()) || "?:,]}%@`".includes(after!)))
    throw cursor.error("did not find expected alphabetic or numeric character")
  return name
}

/** Reads the tag at the cursor. Returns its full form: `!!int` is `tag:yaml.org,2002:int`. */
export function tagAt(cursor: Cursor, handles: ReadonlyMap<string, string>): string {
  const { line } = cursor
  const tag = cursor.code(1) === LESS_THAN ? verbatimTag(cursor) : shorthandTag(cursor, handles, line)
  if (!isBlankBreakOrEnd(cursor.code())) throw cursor.error("did not find expected whitespace or line break")
  return tag
}

function verbatimTag(cursor: Cursor): string {
  cursor.at += 2
  const tag = uri(cursor)
  if (cursor.text[cursor.at] !== ">") throw cursor.error("did not find the expected '>'")
  cursor.at++
  return tag
}

function shorthandTag(cursor: Cursor, handles: ReadonlyMap<string, string>, line: number): string {
  const from = cursor.at++
  word(cursor)
  let handle = "!"
  if (cursor.code() === EXCLAMATION_MARK) {
    cursor.at++
    handle = cursor.text.slice(from, cursor.at)
  } else cursor.at = from + 1
  // `!` alone means that a scalar is text.
  if (handle === "!" && isBlankBreakOrEnd(cursor.code())) return "!"
  const prefix = handles.get(handle)
  const suffix = uri(cursor)
  if (prefix === undefined) throw structureError("found undefined tag handle", line, line)
  return prefix + suffix
}

/** Reads letters, digits, `_` and `-`. */
function word(cursor: Cursor): string {
  const from = cursor.at
  while (/[\w-]/.test(cursor.text[cursor.at] ?? "")) cursor.at++
  return cursor.text.slice(from, cursor.at)
}

const URI_CHARACTER = /[\w\-;/?:@&=+$,.!~*'()[\]%]/

function uri(cursor: Cursor): string {
  const from = cursor.at
  while (URI_CHARACTER.test(cursor.text[cursor.at] ?? "")) cursor.at++
  const text = cursor.text.slice(from, cursor.at)
  if (text === "") throw cursor.error("did not find expected tag URI")
  try {
    return decodeURIComponent(text)
  } catch {
    throw cursor.error("did not find URI escaped octet")
  }
}

const DEFAULT_HANDLES: readonly (readonly [string, string])[] = [
  ["!", "!"],
  ["!!", "tag:yaml.org,2002:"],
]

/**
 * Reads the lines before a document that begin with `%`. Returns the handles of tags that they declare. The cursor is
 * on `---` afterwards.
 */
export function directives(cursor: Cursor): ReadonlyMap<string, string> {
  const handles = new Map<string, string>()
  let version = false
  while (cursor.column === 0 && cursor.text[cursor.at] === "%") {
    const { line } = cursor
    cursor.at++
    const [name = "", ...values] = restOfLine(cursor)
    if (name === "YAML") {
      if (version) throw structureError("found duplicate %YAML directive", line)
      if (!/^\d{1,2}\.\d{1,2}$/.test(values[0] ?? "")) throw cursor.error("did not find expected version number")
      if (values[0] !== "1.1") throw structureError("found incompatible YAML document", line)
      version = true
    } else if (name === "TAG") {
      const [handle = "", prefix = ""] = values
      if (!/^!(?:[\w-]*!)?$/.test(handle) || prefix === "") throw cursor.error("did not find expected whitespace")
      if (handles.has(handle)) throw structureError("found duplicate %TAG directive", line)
      handles.set(handle, prefix)
    } else throw cursor.error("found unknown directive name")
    cursor.skipToToken()
  }
  for (const [handle, prefix] of DEFAULT_HANDLES) if (!handles.has(handle)) handles.set(handle, prefix)
  return handles
}

/** Returns the words up to the end of the line or a comment. */
function restOfLine(cursor: Cursor): string[] {
  const from = cursor.at
  while (!isBreak(cursor.code()) && !isEnd(cursor.code())) cursor.at++
  const line = cursor.text.slice(from, cursor.at)
  const comment = line.search(/[ \t]#/)
  return (comment === -1 ? line : line.slice(0, comment)).split(/[ \t]+/).filter((part) => part !== "")
}
