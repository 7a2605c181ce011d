import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { ExactNumber } from "../../apimachinery/json/exact-number.ts"
import { floatText } from "../../yaml/write-scalar.ts"
import { inByteOrder } from "../go/byte-order.ts"
import { resolved } from "./resolve-scalar.ts"
import { Tag, type YamlNode } from "./yaml-node.ts"

/** Returns a node as Go's `%#v` shows what it decodes to, for errors. */
export function goSyntaxOf(node: YamlNode, isTop = true): string {
  if (node.kind === "list") return `[]interface {}{${node.content.map((item) => goSyntaxOf(item, false)).join(", ")}}`
  if (node.kind === "scalar") return scalarSyntax(node)
  const entries: { readonly key: YamlNode; readonly value: YamlNode }[] = []
  for (let i = 0; i + 1 < node.content.length; i += 2)
    entries.push({ key: node.content[i]!, value: node.content[i + 1]! })
  const isText = isTop || entries.every(({ key }) => resolved(key).tag === Tag.text)
  const shown = entries
    .map(({ key, value }) => ({ key: isText ? goQuoted(key.value) : scalarSyntax(key), value }))
    .toSorted((a, b) => inByteOrder(a.key, b.key))
    .map(({ key, value }) => `${key}:${goSyntaxOf(value, false)}`)
  return `map[${isText ? "string" : "interface {}"}]interface {}{${shown.join(", ")}}`
}

function scalarSyntax(node: YamlNode): string {
  const { tag, value } = resolved(node)
  if (value === null) return "interface {}(nil)"
  if (typeof value === "string") return goQuoted(value)
  if (value instanceof ExactNumber) return value.text
  return tag === Tag.float && typeof value === "number" ? floatSyntax(value) : String(value)
}

/** Returns a float as Go shows it. */
export function floatSyntax(value: number): string {
  if (Number.isFinite(value)) return floatText(value)
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"
}
