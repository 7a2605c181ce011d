/** Finds all nodes that a path with conditions means. Source: kyaml yaml/match.go PathMatcher. */
import { fieldOf, get, items, setField } from "../node/fields.ts"
import { isListIndex, isNumber, itemCondition, kindFor } from "../node/lookup.ts"
import { readNode } from "../node/read-nodes.ts"
import { scalar, YamlNode, type NodeKind } from "../node/yaml-node.ts"
import { writeNode } from "../node/write-node.ts"
import { goPattern, type Pattern } from "./regular-expression.ts"

/**
 * Returns the nodes at a path; undefined when there are none. Parts are names, numbers, `*` and `[name=pattern]`. With
 * `create` missing parts are created, the last with this kind.
 */
export function matchPath(
  node: YamlNode | undefined,
  path: readonly string[],
  create: NodeKind | undefined,
): readonly YamlNode[] | undefined {
  const [part, ...rest] = path
  if (part === undefined) return node === undefined ? undefined : [node]
  if (isNumber(part)) return matchIndex(node, part, rest, create)
  if (isListIndex(part)) return matchItems(node, part, rest, create)
  if (part === "*") return joined(items(node).map((item) => matchPath(item, rest, create)))
  return matchField(node, part, rest, create)
}

function joined(found: readonly (readonly YamlNode[] | undefined)[]): readonly YamlNode[] | undefined {
  const nodes = found.filter((nodes) => nodes !== undefined)
  return nodes.length === 0 ? undefined : nodes.flat()
}

function matchField(
  node: YamlNode | undefined,
  name: string,
  rest: readonly string[],
  create: NodeKind | undefined,
): readonly YamlNode[] | undefined {
  let field = get(node, name)
  if (field === undefined) {
    if (create === undefined || node === undefined) return undefined
    field = new YamlNode(kindFor(rest[0], create))
    setField(node, name, field)
  }
  // A change of what is found in the text of a scalar is lost, as in kustomize.
  if (field.kind === "scalar" && rest.length > 0) return matchPath(readNode(field.value), rest, create)
  return matchPath(field, rest, create)
}

function matchIndex(
  list: YamlNode | undefined,
  part: string,
  rest: readonly string[],
  create: NodeKind | undefined,
): readonly YamlNode[] | undefined {
  const index = Number(part)
  const length = items(list).length
  if (length === index && create !== undefined) list?.content.push(new YamlNode(kindFor(rest[0], create)))
  const item = items(list)[index]
  if (item === undefined) throw new Error(`index ${index} specified but only ${length} elements found`)
  return matchPath(item, rest, create)
}

function matchItems(
  list: YamlNode | undefined,
  part: string,
  rest: readonly string[],
  create: NodeKind | undefined,
): readonly YamlNode[] | undefined {
  const [name, source] = itemCondition(part)
  const find = () => {
    const all = items(list)
    if (all.length === 0) return undefined
    const pattern = goPattern(source)
    return joined(
      all.map((item) => (isMatch(item, name, pattern) ? matchPath(item, name === "" ? [] : rest, create) : undefined)),
    )
  }
  const found = find()
  const hasAny = found !== undefined && found.length > 0
  if (hasAny || create === undefined || list === undefined) return hasAny ? found : undefined
  const value = scalar(source)
  list.content.push(name === "" ? value : new YamlNode("map", { content: [scalar(name), value] }))
  return find()
}

function isMatch(item: YamlNode, name: string, pattern: Pattern): boolean {
  const value = name === "" ? item : fieldOf(item, name)
  return value !== undefined && pattern.matches(writeNode(value).trim())
}
