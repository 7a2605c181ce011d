import { Buffer } from "node:buffer"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { floatSyntax } from "./go-syntax.ts"
import { resolved } from "./resolve-scalar.ts"
import { readNode } from "./read-nodes.ts"
import { Style, Tag, type YamlNode } from "./yaml-node.ts"
import { writeNode } from "./write-node.ts"

/**
 * Returns a node as plain JSON, as if it were written and read again: numbers, times and null are what their text
 * says. Source: kyaml yaml/rnode.go MarshalJSON over go.yaml.in/yaml/v3 decode.go.
 * @throws Error when a key occurs twice in a map, or is no text below the top
 */
export function toValue(node: YamlNode | undefined): unknown {
  if (node === undefined) return null
  refuseDuplicates(node)
  return node.kind === "map"
    ? mapValue(node, { isTop: true, inBrackets: (node.style & Style.flow) !== 0 })
    : valueOf(node, false)
}

function valueOf(node: YamlNode, inBrackets: boolean): unknown {
  if (node.kind === "scalar") return inBrackets && becomesText(node) ? node.value : scalarValue(node)
  if (node.tag === Tag.null) return null
  const brackets = inBrackets || (node.style & Style.flow) !== 0
  return node.kind === "list"
    ? node.content.map((item) => valueOf(item, brackets))
    : mapValue(node, { isTop: false, inBrackets: brackets })
}

/** Between brackets a scalar that is empty, or has a colon, would be written in quotes. */
const becomesText = ({ value, style }: YamlNode): boolean =>
  (style & Style.tagged) === 0 && (value === "" || value.includes(":"))

function scalarValue(node: YamlNode): unknown {
  const { tag, value } = resolved(node)
  if (tag !== Tag.binary) {
    if (typeof value === "number" && !Number.isFinite(value))
      throw new Error(`json: unsupported value: ${floatSyntax(value)}`)
    return value
  }
  if (!BASE64.test(node.value)) throw new Error("yaml: !!binary value contains invalid base64 data")
  return Buffer.from(node.value, "base64").toString("utf8")
}

const BASE64 = /^(?:[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*)$/

function mapValue(
  map: YamlNode,
  { isTop, inBrackets }: { readonly isTop: boolean; readonly inBrackets: boolean },
): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  for (let i = 0; i + 1 < map.content.length; i += 2) {
    const key = map.content[i]!
    if (!isTop && (key.kind !== "scalar" || resolved(key).tag !== Tag.text))
      throw new Error("json: unsupported type: map[interface {}]interface {}")
    if (isTop && resolved(key).tag === Tag.null) continue
    define(value, key.value, valueOf(map.content[i + 1]!, inBrackets))
  }
  return value
}

function define(object: Record<string, unknown>, key: string, value: unknown): void {
  // Assigning `__proto__` would set the prototype instead.
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
  else object[key] = value
}

/** @throws Error when a key occurs twice in a map */
export function refuseDuplicates(node: YamlNode): void {
  if (!hasDuplicates(node)) return
  // The lines that are named are those of the node as it would be written now.
  const problems: string[] = []
  collectDuplicates(readNode(writeNode(node)), problems)
  throw new Error(`yaml: unmarshal errors:\n${problems.map((problem) => `  ${problem}`).join("\n")}`)
}

function hasDuplicates(node: YamlNode): boolean {
  if (node.kind === "map") {
    const known = new Set<string>()
    for (let i = 0; i < node.content.length; i += 2) {
      const key = node.content[i]!
      const name = `${key.kind} ${key.value}`
      if (known.has(name)) return true
      known.add(name)
    }
  }
  return node.content.some(hasDuplicates)
}

function collectDuplicates(node: YamlNode | undefined, problems: string[]): void {
  if (node === undefined) return
  const before = problems.length
  if (node.kind === "map")
    for (let i = 0; i < node.content.length; i += 2)
      for (let j = i + 2; j < node.content.length; j += 2) {
        const [first, second] = [node.content[i]!, node.content[j]!]
        if (first.kind === second.kind && first.value === second.value)
          problems.push(
            `line ${second.line}: mapping key ${goQuoted(second.value)} already defined at line ${first.line}`,
          )
      }
  if (problems.length === before) for (const member of node.content) collectDuplicates(member, problems)
}
