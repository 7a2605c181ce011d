import { isJsonObject } from "../../json/json-value.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { fieldsOf, itemOf, otherOf, shapeOf, type Shape } from "./shape.ts"

/** The bytes around a name in the JSON of a field set: `"f:name":{},`. */
const AROUND_NAME = 8
/** The fewest bytes of an item: `"v:1":{},`. */
const LEAST_ITEM = 8

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

function roomBeside(shape: Shape, value: unknown, room: number): number {
  let left = room
  if (shape.kind === "list" || shape.kind === "set") {
    if (!Array.isArray(value)) return left
    const item = itemOf(shape)
    for (let i = 0; i < value.length && left >= 0; i++) left = roomBeside(item, value[i], left - LEAST_ITEM)
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
