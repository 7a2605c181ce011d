import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { encodeRaw } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { RecentValues } from "../../../pkg/cache/recent-values.ts"
import type { Write } from "../../../pkg/storage/storage.ts"

/** Source: etcd server/embed/config.go DefaultMaxRequestBytes; upstream stores objects in their protobuf form. */
export const MOST_BYTES = 1.5 * 1024 * 1024
/** Most bytes around a value: its tag and length, or a number. */
const MOST_BYTES_AROUND = 12
const MOST_BYTES_A_CHARACTER = 3
/** In JSON a value takes at least two bytes, and each of its characters at least one. */
const MOST_BYTES_A_JSON_BYTE = MOST_BYTES_AROUND / 2 + MOST_BYTES_A_CHARACTER

class ObjectTooLarge extends ApiError {
  constructor() {
    super("Unknown", "etcdserver: request is too large")
  }
}

/**
 * Writes an object with a check of its size. If only its managedFields make it too large, they are dropped, as upstream
 * does in endpoints/handlers/{create,update,patch}.go. With a `pause`, the size is checked in a turn of its own before
 * the write.
 * @throws ApiError 500 in etcd's words when etcd would refuse the size
 */
export function writeWithinSize<T, K extends KubeObject>(
  resource: Resource,
  object: K,
  write: (object: K, checkSize: Write["checkSize"]) => Promise<T>,
  pause?: () => Promise<void>,
): Promise<T> {
  if (pause !== undefined) return writeLarge(resource, object, write, pause)
  const written = write(object, sizeCheck(resource, object))
  if (object.metadata.managedFields === undefined) return written
  return written.catch((err: unknown) => {
    if (!(err instanceof ObjectTooLarge)) throw err
    const { managedFields: _dropped, ...metadata } = object.metadata
    const smaller = { ...object, metadata }
    return write(smaller, sizeCheck(resource, smaller))
  })
}

async function writeLarge<T, K extends KubeObject>(
  { schema }: Resource,
  object: K,
  write: (object: K, checkSize: undefined) => Promise<T>,
  pause: () => Promise<void>,
): Promise<T> {
  for (let wanted = object; ;) {
    const isTooLarge = roomBeside(wanted, MOST_BYTES) < 0 && encodeRaw(schema, wanted).length > MOST_BYTES
    await pause()
    if (!isTooLarge) return write(wanted, undefined)
    const { managedFields, ...metadata } = wanted.metadata
    if (managedFields === undefined) throw new ObjectTooLarge()
    wanted = { ...wanted, metadata }
  }
}

const sizeCheck =
  ({ schema }: Resource, object: KubeObject): NonNullable<Write["checkSize"]> =>
  (json) => {
    if (json !== undefined && json.length * MOST_BYTES_A_JSON_BYTE <= MOST_BYTES) return
    if (roomBeside(object, MOST_BYTES) < 0 && encodeRaw(schema, object).length > MOST_BYTES) throw new ObjectTooLarge()
  }

/**
 * Returns how many of `room` bytes the protobuf form of a value leaves; the size is an upper estimate. Counting stops
 * once the result is negative.
 */
function roomBeside(value: unknown, room: number): number {
  let left = room - MOST_BYTES_AROUND
  if (typeof value === "string") return left - value.length * MOST_BYTES_A_CHARACTER
  if (typeof value !== "object" || value === null) return left
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && left >= 0; i++) left = roomBeside(value[i], left)
    return left
  }
  for (const key in value) {
    if (left < 0) break
    const member = (value as Readonly<Record<string, unknown>>)[key]
    left -= key.length * MOST_BYTES_A_CHARACTER
    // Most members are texts, of which each write has dozens.
    if (typeof member === "string") left -= MOST_BYTES_AROUND + member.length * MOST_BYTES_A_CHARACTER
    else left = key === "fieldsV1" || key === "spec" ? left - takenOnce(member) : roomBeside(member, left)
  }
  return left
}

/**
 * Cached sizes of field sets, which make up half of many objects and are shared by many, and of specs, which most
 * writes of an object leave as they are.
 */
const sizes = new RecentValues<object, number>()

function takenOnce(value: unknown): number {
  const known = typeof value === "object" && value !== null ? sizes.get(value) : undefined
  if (known !== undefined) return known
  const taken = MOST_BYTES - roomBeside(value, MOST_BYTES)
  if (typeof value === "object" && value !== null) sizes.set(value, taken)
  return taken
}
