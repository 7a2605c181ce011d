/** Follows paths in nodes, and creates what is missing. Source: kyaml yaml/fns.go PathGetter. */
import { get, itemBy, items, setField } from "./fields.ts"
import { scalar, YamlNode, type NodeKind } from "./yaml-node.ts"

const INDEX = /^[+-]?\d+$/

export const isListIndex = (part: string): boolean => part.startsWith("[") && part.endsWith("]")
export const isNumber = (part: string): boolean => INDEX.test(part) && Number(part) >= 0

/** Returns the node at a path; undefined when there is none. */
export function lookup(node: YamlNode | undefined, path: readonly string[]): YamlNode | undefined {
  return follow(node, path, undefined)
}

/** Returns the node at a path. What is missing is created; the last node with this kind. */
export function lookupCreate(node: YamlNode | undefined, kind: NodeKind, path: readonly string[]): YamlNode {
  return follow(node, path, kind)!
}

function follow(
  start: YamlNode | undefined,
  path: readonly string[],
  create: NodeKind | undefined,
): YamlNode | undefined {
  const parts = path.map((part) => part.trim()).filter((part) => part !== "")
  let node = start
  for (const [i, part] of parts.entries()) {
    node = step(node, part, create === undefined ? undefined : kindFor(parts[i + 1], create), create !== undefined)
    if (node === undefined) return undefined
  }
  return node
}

function step(
  node: YamlNode | undefined,
  part: string,
  kind: NodeKind | undefined,
  creates: boolean,
): YamlNode | undefined {
  if (INDEX.test(part)) {
    if (Number(part) < 0) throw new Error(`array index ${Number(part)} cannot be negative`)
    return items(node)[Number(part)]
  }
  if (part === "-") return items(node).at(-1)
  if (part === "*") throw new Error("wildcard is not supported in PathGetter")
  if (isListIndex(part)) return itemAt(node, part, creates)
  const found = get(node, part)
  if (found !== undefined || kind === undefined || node === undefined) return found
  return setField(node, part, new YamlNode(kind))
}

function itemAt(list: YamlNode | undefined, part: string, creates: boolean): YamlNode | undefined {
  const [name, value] = itemCondition(part)
  items(list)
  if (list === undefined) return undefined
  const found = itemBy(list, { keys: [name], values: [value] })
  if (found !== undefined || !creates) return found
  const created = name === "" ? scalar(value) : new YamlNode("map", { content: [scalar(name), scalar(value)] })
  list.content.push(created)
  return created
}

/** Returns key and value of `[key=value]`. */
export function itemCondition(part: string): [name: string, value: string] {
  const condition = part.replace(/\]$/, "").replace(/^\[/, "")
  const at = condition.indexOf("=")
  if (at === -1) throw new Error("list path element must contain fieldName=fieldValue for element to match")
  return [condition.slice(0, at), condition.slice(at + 1)]
}

/** Returns the kind of a created node that is followed by a part of a path. */
export function kindFor(next: string | undefined, last: NodeKind): NodeKind {
  if (next === undefined || next === "") return last
  return isListIndex(next) || isNumber(next) ? "list" : "map"
}
