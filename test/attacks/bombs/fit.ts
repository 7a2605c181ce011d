import { isReason, type Cause } from "../../../pkg/apimachinery/errors.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { encodeRaw } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { validateObject, validateObjectUpdate } from "../../../pkg/apimachinery/validation/validate.ts"

/** What the server takes: etcd's limit of an object in protobuf, less what the server adds, and the limit of a body. */
const MOST_STORED = 1.45 * 1024 * 1024
const MOST_SENT = 2.9 * 1024 * 1024

const context = {
  now: "2026-01-01T00:00:00Z",
  uuid: () => "00000000-0000-0000-0000-000000000000",
  warn: () => undefined,
}

/** Returns what validation refuses of an object that gets such a status; the empty list if the server would take it. */
export function statusFaultsOf(resource: Resource, sample: object, sent: object): readonly Cause[] {
  try {
    const own = resource.subresources?.status
    const strategy = own === true ? undefined : own
    const complete = (given: object) => {
      const { object } = decodeObject(resource, given)
      const namespaced = resource.scope === "Namespaced" ? { namespace: "default" } : {}
      const known = { uid: "u", creationTimestamp: context.now, resourceVersion: "1", ...namespaced }
      return { ...object, metadata: { ...object.metadata, ...known } }
    }
    const stored = complete(sample)
    const old = resource.prepareForCreate?.(stored, context) ?? stored
    const changed = { ...old, status: (complete(sent) as { readonly status?: object }).status } as typeof old
    const prepared = strategy?.prepareForUpdate?.(changed, old, context) ?? changed
    return validateObjectUpdate(resource, prepared, old, strategy)
  } catch (err) {
    return [{ message: String(err) }]
  }
}

/** Returns what validation refuses of a new object; the empty list if the server would take it. */
export function faultsOf(resource: Resource, sent: object): readonly Cause[] {
  try {
    const decoded = decodeObject(resource, sent).object
    const namespaced = resource.scope === "Namespaced" ? { namespace: "default" } : {}
    const object = {
      ...decoded,
      metadata: { ...decoded.metadata, ...namespaced, uid: "u", creationTimestamp: context.now },
    }
    return validateObject(resource, resource.prepareForCreate?.(object, context) ?? object)
  } catch (err) {
    if (isReason(err, "BadRequest", "Invalid")) return [{ message: err.message }]
    return [{ message: String(err) }]
  }
}

/** Returns whether the object is not too large to be sent and stored. */
export function isSmallEnough(resource: Resource, sent: object): boolean {
  const json = JSON.stringify(sent)
  if (json.length > MOST_SENT || Buffer.byteLength(json) > MOST_SENT) return false
  if (json.length < MOST_STORED / 8) return true
  try {
    return encodeRaw(resource.schema, decodeObject(resource, sent).object).length <= MOST_STORED
  } catch {
    return true
  }
}

/**
 * Returns the largest size from `least` on, up to one percent less, for which the server takes what `make` makes of it;
 * undefined if it takes none.
 */
export function largest(
  resource: Resource,
  make: (size: number) => object,
  least = 1,
  faults: (object: object) => readonly Cause[] = (object) => faultsOf(resource, object),
): number | undefined {
  const fits = (size: number) => {
    const made = make(size)
    return isSmallEnough(resource, made) && faults(made).length === 0
  }
  if (!fits(least)) return undefined
  // Most sizes are limited by the bytes alone, so that is tried first.
  const [small, large] = [JSON.stringify(make(least)).length, JSON.stringify(make(least + 64)).length]
  if (large === small) return undefined
  const most = least + Math.max(1, Math.floor(MOST_STORED / Math.max((large - small) / 64, 0.5)))
  for (const share of [1.9, 1, 0.8, 0.6, 0.4, 0.25, 0.1])
    if (fits(Math.floor(most * share))) return Math.floor(most * share)
  let [yes, no] = [least, Math.floor(most * 0.1)]
  while (no - yes > Math.max(1, yes / 100)) {
    const middle = no > 8 * yes ? yes * 4 : Math.floor((yes + no) / 2)
    if (fits(middle)) yes = middle
    else no = middle
  }
  return yes
}
