import type { Cause } from "../errors.ts"
import { at, atKey, duplicate, invalidValue } from "../validation/field-errors.ts"
import { itemsOf, membersOf, someSchema, type JsonSchema } from "./json-schema.ts"

/**
 * Returns faults for duplicate items in lists whose items are identified by value (set) or by keys (map). Source:
 * apiextensions-apiserver pkg/apiserver/schema/listtype/validation.go.
 */
export function listTypeFaults(schema: JsonSchema, object: unknown): readonly Cause[] {
  if (!hasListTypes(schema)) return []
  const causes: Cause[] = []
  within(schema, object, "", causes)
  return causes
}

const known = new WeakMap<JsonSchema, boolean>()

function hasListTypes(schema: JsonSchema): boolean {
  let found = known.get(schema)
  if (found === undefined) {
    found = someSchema(schema, ({ "x-kubernetes-list-type": type }) => type === "set" || type === "map")
    known.set(schema, found)
  }
  return found
}

type Values = Readonly<Record<string, unknown>>

function within(schema: JsonSchema, value: unknown, path: string, causes: Cause[]): void {
  if (Array.isArray(value)) return inList(schema, value, path, causes)
  if (typeof value !== "object" || value === null) return
  const { properties } = schema
  const members = membersOf(schema)
  if (properties === undefined && members === undefined) return
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner !== "object" || inner === null) continue
    if (members !== undefined && hasListTypes(members)) within(members, inner, atKey(path, name), causes)
    const property = properties !== undefined && Object.hasOwn(properties, name) ? properties[name]! : undefined
    if (property !== undefined && hasListTypes(property)) within(property, inner, at(path, name), causes)
  }
}

function inList(schema: JsonSchema, list: readonly unknown[], path: string, causes: Cause[]): void {
  const type = schema["x-kubernetes-list-type"]
  if (type === "set") for (const i of repeated(list)) causes.push(duplicate(at(path, i), list[i]))
  else if (type === "map") keyedFaults(schema["x-kubernetes-list-map-keys"] ?? [], list, path, causes)
  const items = itemsOf(schema)
  if (items !== undefined && hasListTypes(items))
    for (const [i, item] of list.entries()) within(items, item, at(path, i), causes)
}

function keyedFaults(keys: readonly string[], list: readonly unknown[], path: string, causes: Cause[]): void {
  const wrong = list.findIndex((item) => item !== null && (typeof item !== "object" || Array.isArray(item)))
  if (wrong >= 0) {
    causes.push(invalidValue(at(path, wrong), list[wrong], "must be an object for an array of list-type map"))
    return
  }
  const found = list.map((item) =>
    Object.fromEntries(
      keys.flatMap((key) => {
        const value = (item as Values | null)?.[key]
        return value === undefined ? [] : [[key, value]]
      }),
    ),
  )
  for (const i of repeated(found)) causes.push(duplicate(at(path, i), found[i]))
}

/** Returns the index of the second occurrence of each value that occurs several times. */
function repeated(values: readonly unknown[]): readonly number[] {
  if (values.length < 2) return []
  const times = new Map<unknown, number>()
  const found: number[] = []
  for (const [i, value] of values.entries()) {
    const key = typeof value === "object" && value !== null ? canonical(value) : value
    const before = times.get(key) ?? 0
    times.set(key, before + 1)
    if (before === 1) found.push(i)
  }
  return found
}

/** Begins with a character with which no JSON text begins, so that it equals no plain string. */
const canonical = (value: unknown): string => `\u0000${JSON.stringify(sorted(value))}`

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
      ? Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, inner]) => [name, sorted(inner)]),
        )
      : value
