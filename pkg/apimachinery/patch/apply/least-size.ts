import { isJsonObject } from "../../json/json-value.ts"
import { jsonValue } from "../../json/set-key.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { fieldsOf, itemOf, otherOf, shapeOf, type ListShape, type Shape } from "./shape.ts"

/** The bytes around a name in the JSON of a field set: `"f:name":{},`. */
const AROUND_NAME = 8
/** The fewest bytes of an item: `"v:1":{},`. */
const LEAST_ITEM = 8
/** Bytes around the value of a set's item, `"v:12":{},`, and around the keys of an item, `"k:{}":{},`. */
const AROUND_VALUE = 8
const AROUND_KEYS = 10
/** Bytes around the name of a key, `\"name\":`, and around a text: `\"a\"`. */
const AROUND_KEY = 5
const AROUND_TEXT = 4

/**
 * Whether the fields of a new object take more than `most` bytes of metadata.managedFields. Stops where that is
 * certain, so it takes much less time and memory than to make the set: the fields of a pod with thousands of ports take
 * four times the bytes of the pod.
 */
export function fieldsExceed({ schema }: Resource, object: KubeObject, most: number): boolean {
  const { status: _status, ...owned } = object as KubeObject & { readonly status?: unknown }
  return roomBeside(shapeOf(schema), owned, most + NOT_OWNED) < 0
}

/** More bytes than the fields take that nobody owns: the version and kind, and what is in the metadata beside lists. */
const NOT_OWNED = 1024

/**
 * Whether the fields that a write has added to an object, which belong to the writer afterwards, take more than `most`
 * bytes. Does not see all of them where a long list has other items.
 */
export function addedFieldsExceed(
  { schema, subresources, resets }: Resource,
  old: KubeObject,
  object: KubeObject,
  { subresource, most }: { readonly subresource: string | undefined; readonly most: number },
): boolean {
  const { status, ...owned } = object as KubeObject & { readonly status?: unknown }
  const isWhole = (subresource ?? "") === ""
  // Of other subresources only some fields are taken.
  if (!isWhole && subresource !== "status") return false
  const strategy = subresources?.status
  const reset = isWhole ? resets : typeof strategy === "object" ? strategy.resets : undefined
  if (reset?.some(([name]) => isWhole || name === "status") === true) return false
  return roomBesideAdded(shapeOf(schema), old, isWhole ? owned : { status }, most + NOT_OWNED) < 0
}

function roomBesideAdded(shape: Shape, before: unknown, after: unknown, room: number): number {
  if (before === after || after === undefined || after === null || shape.kind === "leaf") return room
  if (Array.isArray(after))
    return shape.kind === "list" || shape.kind === "set" ? roomBesideItems(shape, before, after, room) : room
  if (!isJsonObject(after)) return room
  if (!isJsonObject(before)) return roomBeside(shape, after, room)
  let left = room
  const fields = fieldsOf(shape)
  const other = otherOf(shape)
  for (const name in after) {
    if (left < 0) break
    const old = jsonValue(before, name)
    if (after[name] === undefined || old === after[name]) continue
    const field = fields?.get(name)
    if (old === undefined && field?.always !== true) left -= name.length + AROUND_NAME
    left = roomBesideAdded(field?.shape ?? other, old, after[name], left)
  }
  return left
}

/** Those that were there before are not known, so the largest are left out. */
function roomBesideItems(shape: ListShape, before: unknown, items: readonly unknown[], room: number): number {
  const had = Array.isArray(before) ? before.length : 0
  const item = itemOf(shape)
  let largest = 0
  let all = 0
  for (let i = 0; i < items.length; i++) {
    const bytes = room - roomBeside(item, items[i], room) + bytesOfItem(shape, items[i])
    largest = Math.max(largest, bytes)
    all += bytes
    if (all - had * largest > room) break
  }
  return room - Math.max(0, all - had * largest)
}

function roomBeside(shape: Shape, value: unknown, room: number): number {
  let left = room
  if (shape.kind === "list" || shape.kind === "set") {
    if (!Array.isArray(value)) return left
    const item = itemOf(shape)
    for (let i = 0; i < value.length && left >= 0; i++)
      left = roomBeside(item, value[i], left - bytesOfItem(shape, value[i]))
  } else if (shape.kind !== "leaf" && isJsonObject(value)) {
    const fields = fieldsOf(shape)
    const other = otherOf(shape)
    for (const name in value) {
      if (left < 0) break
      if (value[name] === undefined) continue
      const field = fields?.get(name)
      // A field that is never absent, such as a status, may have nothing in it that is owned.
      left = roomBeside(field?.shape ?? other, value[name], left - (field?.always ? 0 : name.length + AROUND_NAME))
    }
  }
  return left
}

function bytesOfItem(shape: ListShape, item: unknown): number {
  if (shape.kind === "set") return Math.max(LEAST_ITEM, AROUND_VALUE + bytesOf(item))
  let bytes = AROUND_KEYS
  if (!isJsonObject(item)) return LEAST_ITEM
  for (const { name } of shape.keys)
    if (item[name] !== undefined) bytes += name.length + AROUND_KEY + bytesOf(item[name])
  return bytes
}

const bytesOf = (value: unknown): number =>
  typeof value === "string" ? AROUND_TEXT + value.length : typeof value === "number" ? String(value).length : 0
