/** Reads and writes members of nodes, as kustomize's filters do. Source: kyaml yaml/fns.go. */
import { InvalidNodeKindError } from "./errors.ts"
import { isYaml11NonString } from "./yaml11.ts"
import { isEmptyMap, isNull, isText, scalar, Style, Tag, type NodeKind, type YamlNode } from "./yaml-node.ts"

/** @throws InvalidNodeKindError when the node has another kind, but not when it is missing or null */
export function expectKind(node: YamlNode | undefined, kind: NodeKind): void {
  if (node !== undefined && !isNull(node) && node.kind !== kind) throw new InvalidNodeKindError(kind, node)
}

/** Returns the index of a key in the content of a map; -1 when the map has no such key. */
export function indexOfKey(map: YamlNode, name: string): number {
  for (let i = 0; i < map.content.length; i += 2) if (map.content[i]!.value === name) return i
  return -1
}

/** Returns the value of a key. Undefined also when the node is no map. */
export function fieldOf(node: YamlNode | undefined, name: string): YamlNode | undefined {
  if (node === undefined || node.kind !== "map") return undefined
  const i = indexOfKey(node, name)
  return i === -1 ? undefined : node.content[i + 1]
}

/**
 * Returns the value of a key; undefined when it is missing, or when the node is null.
 * @throws InvalidNodeKindError when the node is no map
 */
export function get(node: YamlNode | undefined, name: string): YamlNode | undefined {
  if (node === undefined || isNull(node)) return undefined
  expectKind(node, "map")
  return fieldOf(node, name)
}

/** Returns the items of a list. @throws InvalidNodeKindError */
export function items(list: YamlNode | undefined): readonly YamlNode[] {
  expectKind(list, "list")
  return list?.content ?? []
}

/** Returns the keys of a map. @throws InvalidNodeKindError */
export function keys(map: YamlNode | undefined): readonly YamlNode[] {
  expectKind(map, "map")
  return map?.content.filter((_, i) => i % 2 === 0) ?? []
}

/** Sets a scalar to `value`, which takes over the scalar's style. */
export function setScalar(node: YamlNode, value: YamlNode): void {
  quoteAmbiguous(value)
  expectKind(node, "scalar")
  if (isNull(value)) return
  value.style = node.style
  node.assign(value)
}

/**
 * Sets the value of a key; null removes the key. A value that replaces another takes over its style. Returns the node
 * in the map; undefined when the key was removed.
 */
export function setField(
  map: YamlNode,
  name: string,
  value: YamlNode | undefined,
  { keyStyle = Style.plain, keepsNull = false }: { readonly keyStyle?: number; readonly keepsNull?: boolean } = {},
): YamlNode | undefined {
  if (value !== undefined) quoteAmbiguous(value)
  if (value === undefined || (value.tag === Tag.null && !keepsNull)) return clearField(map, name)
  const field = get(map, name)
  if (field !== undefined) {
    value.style = field.style
    field.assign(value)
    return field
  }
  const key = scalar(name)
  key.style = keyStyle
  map.content.push(key, value)
  return value
}

/** Puts text that YAML 1.1 would read as another type in quotes. */
function quoteAmbiguous(value: YamlNode): void {
  if (isText(value) && value.style === Style.plain && isYaml11NonString(value.value)) value.style = Style.double
}

/** Removes a key. Returns its value. */
export function clearField(map: YamlNode | undefined, name: string): YamlNode | undefined {
  expectKind(map, "map")
  if (map === undefined || map.kind !== "map") return undefined
  const i = indexOfKey(map, name)
  return i === -1 ? undefined : map.content.splice(i, 2)[1]
}

/** Sets a key and its value, also the key's own node. */
export function setEntry(map: YamlNode, key: YamlNode, value: YamlNode): void {
  const i = indexOfKey(map, key.value)
  if (i === -1) map.content.push(key, value)
  else map.content.splice(i, 2, key, value)
}

/** Which items of a list are meant: those whose fields `keys` have these values. The key "" is a scalar's own text. */
export interface ItemMatch {
  readonly keys: readonly string[]
  readonly values: readonly string[]
}

/** Returns the first item of a list that matches. */
export function itemBy(list: YamlNode, { keys, values }: ItemMatch): YamlNode | undefined {
  if (keys.length === 0 || keys[0] === "") return list.content.find((item) => item.value === (values[0] ?? ""))
  return list.content.find(
    (item) =>
      item.kind === "map" && !isNull(item) && keys.every((key, i) => fieldOf(item, key)?.value === (values[i] ?? "")),
  )
}

/**
 * Replaces the items of a list that match by `element`, or removes them when it is undefined. An element that replaces
 * nothing is appended. Null items and empty maps are removed. Source: kyaml yaml/fns.go ElementSetter.
 */
export function setItem(list: YamlNode, match: ItemMatch, element: YamlNode | undefined): void {
  expectKind(list, "list")
  const keys = match.keys.length === 0 ? [""] : match.keys
  const isMapSetter = keys[0] !== "" && match.values.length > 0 && match.values[0] !== ""
  let found = false
  const content: YamlNode[] = []
  for (const item of list.content) {
    if (isNull(item) || isEmptyMap(item)) continue
    if (item.kind !== "map" && isMapSetter) {
      content.push(item)
      continue
    }
    if (!matches(item, keys, match.values)) {
      if (match.values.length > 0) content.push(item)
      continue
    }
    found = true
    if (element !== undefined) content.push(element)
  }
  list.content = content
  if (element !== undefined && !isNull(element) && !found) list.content.push(element)
}

function matches(item: YamlNode, keys: readonly string[], values: readonly string[]): boolean {
  let value: YamlNode | undefined
  for (const [i, key] of keys.entries()) {
    if (i < values.length) value = valueWith(item, key, values[i]!)
    if (value === undefined) return false
  }
  return true
}

/** Returns the value of a key if it has this text; any value when the text is empty. */
function valueWith(item: YamlNode, key: string, text: string): YamlNode | undefined {
  if (key === "") {
    expectKind(item, "scalar")
    return (isNull(item) ? "" : item.value) === text ? item : undefined
  }
  const value = get(item, key)
  return value !== undefined && (text === "" || value.value === text) ? value : undefined
}
