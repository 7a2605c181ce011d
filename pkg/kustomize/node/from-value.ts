import { ExactNumber } from "../../apimachinery/json/exact-number.ts"
import { floatText } from "../../yaml/write-scalar.ts"
import { inByteOrder } from "../go/byte-order.ts"
import { resolvePlain } from "./resolve-scalar.ts"
import { isYaml11NonString } from "./yaml11.ts"
import { Style, Tag, YamlNode } from "./yaml-node.ts"

/**
 * Returns JSON as nodes, with sorted keys and numbers as Go's floats write them. Source: kyaml yaml/rnode.go FromMap.
 */
export function fromValue(value: unknown): YamlNode {
  if (Array.isArray(value)) return new YamlNode("list", { tag: Tag.list, content: value.map(fromValue) })
  if (typeof value === "object" && value !== null && !(value instanceof ExactNumber)) {
    const content = Object.entries(value)
      .toSorted(([a], [b]) => inByteOrder(a, b))
      .flatMap(([key, member]) => [fromValue(key), fromValue(member)])
    return new YamlNode("map", { tag: Tag.map, content })
  }
  if (typeof value === "string") return scalarNodeOf(value)
  const text =
    value === null || value === undefined
      ? "null"
      : typeof value === "boolean"
        ? String(value)
        : floatText(Number(value instanceof ExactNumber ? value.text : value))
  return new YamlNode("scalar", { tag: resolvePlain(text).tag, value: text })
}

export function scalarNodeOf(value: string): YamlNode {
  const style = value.includes("\n")
    ? Style.literal
    : resolvePlain(value).tag !== Tag.text || isYaml11NonString(value)
      ? Style.double
      : Style.plain
  return new YamlNode("scalar", { tag: Tag.text, value, style })
}
