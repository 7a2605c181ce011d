/** Replaces `$(NAME)` by values of fields. Source: kustomize api/filters/refvar. */
import type { FieldSpec } from "../config/field-spec.ts"
import { isText, isNull, Style, Tag, type YamlNode } from "../node/yaml-node.ts"
import type { ResourceMap } from "../resource/resource-map.ts"
import { goText } from "../../apimachinery/go/go-text.ts"
import { applyFieldSpec } from "./apply-field-spec.ts"

export type VarValue = string | number | boolean
/** The values of vars. A map or a list is no value. */
export type VarValues = ReadonlyMap<string, unknown>

/** Replaces vars in objects. Returns the names of those that are never used. `log` is told of bad values. */
export function replaceVars(
  map: ResourceMap,
  specs: readonly FieldSpec[],
  values: VarValues,
  log: (message: string) => void,
): readonly string[] {
  const used = new Set<string>()
  const valueOf = (name: string): VarValue => {
    const value = values.get(name)
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      used.add(name)
      return value
    }
    if (value !== undefined)
      log(
        `MakePrimitiveReplacer: bad replacement type=${Array.isArray(value) ? "[]interface {}" : "map[string]interface {}"} val=${goText(value)}`,
      )
    return `$(${name})`
  }
  for (const { node } of map.resources)
    for (const spec of specs)
      if (node !== undefined) applyFieldSpec(node, spec, { set: (field) => setField(field, valueOf) })
  return [...values.keys()].filter((name) => !used.has(name))
}

type Mapping = (name: string) => VarValue

function setField(node: YamlNode, valueOf: Mapping): void {
  if (isNull(node)) return
  if (node.kind === "scalar") {
    if (isText(node)) setValue(node, replaced(node.value, valueOf))
    return
  }
  for (let i = 0; i < node.content.length; i += node.kind === "map" ? 2 : 1) {
    const member = node.content[node.kind === "map" ? i + 1 : i]!
    const key = node.content[i]!
    if (node.kind === "map" && !isText(key)) throw new Error(`invalid map key: value='${key.value}', tag='${key.tag}'`)
    if (isText(member)) setValue(member, replaced(member.value, valueOf))
    else if (node.kind === "list") throw new Error("invalid value type expect a string")
  }
}

function setValue(node: YamlNode, value: VarValue): void {
  node.value = typeof value === "number" ? String(value) : String(value)
  node.tag =
    typeof value === "string"
      ? Tag.text
      : typeof value === "boolean"
        ? Tag.bool
        : Number.isInteger(value)
          ? Tag.int
          : Tag.float
  node.style = Style.plain
}

/** Returns a text with values instead of vars. `$$` is a dollar. A text that is nothing but one var keeps its type. */
export function replaced(text: string, valueOf: Mapping): VarValue {
  let result = ""
  for (let at = 0; at < text.length;) {
    const dollar = text.indexOf("$", at)
    if (dollar === -1 || dollar === text.length - 1) return result + text.slice(at)
    result += text.slice(at, dollar)
    const next = text[dollar + 1]!
    const end = next === "(" ? text.indexOf(")", dollar) : -1
    if (end === -1) {
      result += next === "$" ? "$" : `$${next}`
      at = dollar + 2
      continue
    }
    const value = valueOf(text.slice(dollar + 2, end))
    if (dollar === 0 && end === text.length - 1) return value
    result += String(value)
    at = end + 1
  }
  return result
}
