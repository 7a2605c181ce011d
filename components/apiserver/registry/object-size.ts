import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { encodeRaw } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"

/** Source: etcd server/embed/config.go DefaultMaxRequestBytes; upstream stores objects in their protobuf form. */
const MOST_BYTES = 1.5 * 1024 * 1024

/**
 * The object as it may be stored: itself, or without its managedFields where only those make it too large, as upstream
 * has it in endpoints/handlers/{create,update,patch}.go.
 * @throws ApiError 500 in etcd's words when it is larger than etcd would take
 */
export function storable<T extends KubeObject>(resource: Resource, object: T): T {
  if (!isTooLarge(resource, object)) return object
  const { managedFields, ...metadata } = object.metadata
  const smaller = { ...object, metadata }
  if (managedFields !== undefined && !isTooLarge(resource, smaller)) return smaller
  throw new ApiError("Unknown", "etcdserver: request is too large")
}

const isTooLarge = ({ schema }: Resource, object: KubeObject): boolean =>
  roomBeside(object, MOST_BYTES) < 0 && encodeRaw(schema, object).length > MOST_BYTES

/**
 * What is left of `room` bytes beside the protobuf form of a value, which takes at most what is counted here. Negative,
 * and not counted to its end, where that is too large.
 */
function roomBeside(value: unknown, room: number): number {
  let left = room - MOST_BYTES_AROUND
  if (typeof value === "string") return left - value.length * MOST_BYTES_A_CHARACTER
  if (typeof value !== "object" || value === null) return left
  for (const key in value) {
    if (left < 0) break
    left = roomBeside((value as Readonly<Record<string, unknown>>)[key], left - key.length * MOST_BYTES_A_CHARACTER)
  }
  return left
}
/** Tags and lengths, or a number. */
const MOST_BYTES_AROUND = 12
const MOST_BYTES_A_CHARACTER = 3
