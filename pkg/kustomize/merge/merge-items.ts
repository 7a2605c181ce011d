/** Merges lists item by item. Source: kyaml yaml/walk/associative_sequence.go. */
import { fieldOf, get, itemBy, setField, setItem, setScalar } from "../node/fields.ts"
import { isEmpty, isEmptyMap, isNull, scalar, YamlNode } from "../node/yaml-node.ts"
import type { MergeSchema } from "../schema/merge-schema.ts"
import type { MergeAt, Pair } from "./pair.ts"

interface Lists extends Pair {
  readonly target: YamlNode
}

/** Returns the merged list. Items are the same when all merge keys that they have are equal. */
export function mergeItems(lists: Lists, schema: MergeSchema, merge: MergeAt): YamlNode | undefined {
  const keys = schema.keys ?? []
  if (keys.length === 0) return combine(lists, [""], scalarValues(lists), schema, merge)
  return combine(lists, keys, keyValues(lists, keys), schema, merge)
}

function combine(
  { target, patch }: Lists,
  keys: readonly string[],
  found: string[][],
  schema: MergeSchema,
  merge: MergeAt,
): YamlNode | undefined {
  const added = new YamlNode("list")
  const lists = keys.length > 1 ? unifyValues(found) : found
  let usedKeys: readonly string[] = keys
  for (const values of lists) {
    if (values.length === 0) continue
    const match = usedPart(lists, values, keys)
    usedKeys = match.keys
    const value = merge({ target: itemOf(target, match), patch: itemOf(patch, match) }, schema.items)
    if (value === undefined || isNull(value) || isEmptyMap(value)) {
      setItem(target, match, undefined)
      continue
    }
    for (const [i, key] of match.keys.entries()) setMissingKey(value, key, match.values[i]!)
    setItem(added, match, value)
  }
  // The items of the patch come first.
  return lists.length === 0 ? target : appendItems(added, target, usedKeys)
}

function setMissingKey(item: YamlNode, key: string, value: string): void {
  if (value === "" || fieldOf(item, key) !== undefined) return
  if (key === "") setScalar(item, scalar(value))
  else setField(item, key, scalar(value))
}

interface Match {
  readonly keys: readonly string[]
  readonly values: readonly string[]
}

/** Returns the keys that any of the items has, with the values of one item. */
function usedPart(all: readonly (readonly string[])[], values: readonly string[], keys: readonly string[]): Match {
  const used = new Set<string>()
  for (const some of all) for (const [i, value] of some.entries()) if (value !== "") used.add(keys[i]!)
  if (used.size === 0) return { keys, values }
  return {
    keys: keys.filter((key) => used.has(key)),
    values: values.filter((value, i) => value !== "" || used.has(keys[i]!)),
  }
}

function itemOf(list: YamlNode | undefined, match: Match): YamlNode | undefined {
  if (list === undefined || list.kind !== "list") return undefined
  return itemBy(list, usedPart([match.values], match.values, match.keys))
}

/** Returns the lists with the one of the patch first. */
const inOrder = ({ target, patch }: Lists): readonly YamlNode[] => (patch === undefined ? [target] : [patch, target])

/** Returns the values of the merge keys of all items, each combination once. */
function keyValues(lists: Lists, keys: readonly string[]): string[][] {
  const found = new Map<string, string[]>()
  for (const list of inOrder(lists))
    for (const item of list.content) {
      const values = keys.map((key) => {
        const value = fieldOf(item, key)
        return isEmpty(value) ? "" : value!.value
      })
      const name = JSON.stringify(values)
      if (!found.has(name)) found.set(name, values)
    }
  return [...found.values()]
}

const scalarValues = (lists: Lists): string[][] =>
  [...new Set(inOrder(lists).flatMap((list) => list.content.map((item) => item.value)))].map((value) => [value])

/** Makes values equal that differ only in that one of them is missing: a port without a protocol is any protocol's. */
function unifyValues(lists: string[][]): string[][] {
  for (let i = 0; i < lists.length; i++) {
    const first = lists[i]!
    for (let j = 0; j < lists.length; j++) {
      const unified = unify(first, lists[j]!)
      if (unified === undefined) continue
      lists[i] = unified
      lists[j] = unified
    }
  }
  return lists
}

function unify(a: readonly string[], b: readonly string[]): string[] | undefined {
  if (a.length !== b.length) return undefined
  const conflicts = a.some((value, i) => value !== b[i] && value !== "" && b[i] !== "")
  if (conflicts || !a.some((value, i) => value === b[i])) return undefined
  return a.map((value, i) => value || b[i]!)
}

/** Appends the items of `source` that `target` does not have; others take the place of those that it has. */
function appendItems(target: YamlNode, source: YamlNode, keys: readonly string[]): YamlNode {
  for (const item of source.content) {
    if (keys[0] === "") {
      setItem(target, { keys: [""], values: [item.value] }, item)
      continue
    }
    const values: string[] = []
    for (const key of keys) {
      const value = get(item, key)
      if (value === undefined) target.content.push(item)
      else values.push(value.value)
    }
    if (keys.length > 1) setItem(target, { keys, values }, undefined)
    setItem(target, { keys, values }, item)
  }
  return target
}
