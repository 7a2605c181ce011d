import {
  BREAK,
  escapedText,
  INDICATORS,
  isSimpleKey,
  SPACE_AT_END_OF_LINE,
  SPACE_AT_START_OF_LINE,
  SPECIAL,
} from "../../yaml/write-scalar.ts"
import { resolvePlain } from "./resolve-scalar.ts"
import { Style, Tag, type YamlNode } from "./yaml-node.ts"

const STEP = 2
const QUOTED = Style.single | Style.double | Style.literal | Style.folded

/**
 * Returns a node as YAML, in the order and the styles of the node. Lines are not broken. Source: go.yaml.in/yaml/v3
 * encode.go and emitterc.go with kyaml's settings (an indent of two columns, lists not indented under their key).
 */
export const writeNode = (node: YamlNode): string => `${nodeText(node, 0, "root").replace(/^\n/, "")}\n`

/** Where a node stands: alone, after a key with its colon, after the dash of an item, or in brackets. */
type Place = "root" | "key" | "dash" | "flow"

/** Returns a node with the space or the line break before it. `indent` is the column of the map or list around it. */
function nodeText(node: YamlNode, indent: number, place: Place): string {
  const space = place === "root" || place === "flow" ? "" : " "
  const tag = shownTag(node)
  const before = space + (tag === "" ? "" : `${tag} `)
  if (node.kind === "scalar")
    return before.trimEnd() === "" ? scalarIn(node, indent, place, space) : scalarIn(node, indent, place, before)
  const inBrackets = place === "flow" || (node.style & Style.flow) !== 0 || node.content.length === 0
  if (inBrackets) return before + flowText(node)
  const startsOnNewLine = place === "key" || tag !== ""
  const column = place === "root" || (place === "key" && node.kind === "list") ? indent : indent + STEP
  const lines = node.kind === "list" ? listLines(node, column) : mapLines(node, column)
  const first = startsOnNewLine ? `${tag === "" ? "" : before.trimEnd()}\n${" ".repeat(column)}` : space
  return first + lines.join(`\n${" ".repeat(column)}`)
}

function scalarIn(node: YamlNode, indent: number, place: Place, before: string): string {
  const text = scalarText(node, place === "root" ? 0 : indent + STEP, place === "flow", false)
  return text === "" ? "" : before + text
}

const listLines = (node: YamlNode, column: number): string[] =>
  node.content.map((item) => `-${nodeText(item, column, "dash")}`)

function mapLines(node: YamlNode, column: number): string[] {
  const lines: string[] = []
  for (let i = 0; i + 1 < node.content.length; i += 2)
    lines.push(`${keyText(node.content[i]!, false)}:${nodeText(node.content[i + 1]!, column, "key")}`)
  return lines
}

function flowText(node: YamlNode): string {
  if (node.kind === "list") return `[${node.content.map((item) => nodeText(item, 0, "flow")).join(", ")}]`
  const pairs: string[] = []
  for (let i = 0; i + 1 < node.content.length; i += 2)
    pairs.push(`${keyText(node.content[i]!, true)}: ${nodeText(node.content[i + 1]!, 0, "flow")}`)
  return `{${pairs.join(", ")}}`
}

function keyText(key: YamlNode, inBrackets: boolean): string {
  if (key.kind !== "scalar") return flowText(key)
  const text = scalarText(key, 0, inBrackets, true)
  return isSimpleKey(key.value) ? text : `? ${text}\n`
}

/** Returns the tag that has to be written, since the text says something else; "" for none. */
function shownTag(node: YamlNode): string {
  if (
    node.tag === "" ||
    (node.kind === "map" && node.tag === Tag.map) ||
    (node.kind === "list" && node.tag === Tag.list)
  )
    return (node.style & Style.tagged) !== 0 ? node.tag : ""
  if ((node.style & Style.tagged) !== 0 || node.kind !== "scalar") return node.tag
  if (node.tag === Tag.text) return ""
  return resolvePlain(node.value).tag === node.tag ? "" : node.tag
}

function scalarText(node: YamlNode, indent: number, inBrackets: boolean, isKey: boolean): string {
  const { value } = node
  const isForced = node.tag === Tag.text && (node.style & QUOTED) === 0 && resolvePlain(value).tag !== Tag.text
  let style = node.style & QUOTED
  if (style === 0 && value.includes("\n")) style = Style.literal
  if (style === 0 && isForced) style = Style.double
  if (isKey && BREAK.test(value)) style = Style.double
  if (style === 0 && !fitsPlain(value, inBrackets, isKey)) style = Style.single
  const fitsBlock = !value.endsWith(" ") && !SPACE_AT_END_OF_LINE.test(value) && !SPECIAL.test(value)
  if ((style === Style.literal || style === Style.folded) && (inBrackets || isKey || !fitsBlock)) style = Style.double
  if (
    style === Style.single &&
    (SPACE_AT_START_OF_LINE.test(value) || SPACE_AT_END_OF_LINE.test(value) || SPECIAL.test(value))
  )
    style = Style.double
  switch (style) {
    case Style.double:
      return `"${escapedText(value)}"`
    case Style.single:
      return `'${value.replaceAll("'", "''").replaceAll("\n", "\n\n")}'`
    case Style.literal:
    case Style.folded:
      return blockText(value, style === Style.folded, indent)
    default:
      return value
  }
}

function fitsPlain(value: string, inBrackets: boolean, isKey: boolean): boolean {
  if (value === "") return !inBrackets && !isKey
  if (inBrackets && /[,?[\]{}]/.test(value)) return false
  return (
    !BREAK.test(value) &&
    !value.startsWith(" ") &&
    !value.endsWith(" ") &&
    !SPECIAL.test(value) &&
    !INDICATORS.test(value)
  )
}

/** Returns text in lines. The characters after the bar say how the text begins and ends. */
function blockText(value: string, folds: boolean, indent: number): string {
  const begins = /^[ \n]/.test(value) ? String(STEP) : ""
  const ends = value.endsWith("\n") ? (/(?:^|\n)\n$/.test(value) ? "+" : "") : "-"
  const lines = value.replace(/\n$/, "").split("\n")
  const body = lines.map((line) => (line === "" ? "" : " ".repeat(indent) + line)).join(folds ? "\n\n" : "\n")
  return `${folds ? ">" : "|"}${begins}${ends}\n${body}`
}
