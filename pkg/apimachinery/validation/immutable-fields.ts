import { pushAll } from "../../lists/push-all.ts"
import type { Cause } from "../errors.ts"
import type { Message } from "../field-spec.ts"
import { deepEqual } from "../json/equal.ts"
import { invalidValue, NO_CAUSES } from "./field-errors.ts"

/** Returns a fault for each immutable field that has changed. Items of lists are not compared. */
export function validateImmutable(message: Message, value: object, old: object): readonly Cause[] {
  const watched = immutablesOf(message)
  return watched.length === 0 ? NO_CAUSES : changed(watched, value as Values, old as Values, "")
}

type Values = Readonly<Record<string, unknown>>

interface Immutable {
  readonly name: string
  /** Undefined when the field itself is immutable; else the immutable fields in it. */
  readonly inner: readonly Immutable[] | undefined
}
const immutables = new WeakMap<Message, readonly Immutable[]>()

function immutablesOf(message: Message): readonly Immutable[] {
  const cached = immutables.get(message)
  if (cached !== undefined) return cached
  // Set before looking inside, so that the recursion ends for a message that contains itself.
  immutables.set(message, [])
  const made = Object.entries(message.fields).flatMap(([name, { spec }]): Immutable[] => {
    if (spec.immutable === true) return [{ name, inner: undefined }]
    const inner = spec.type.kind === "message" ? immutablesOf(spec.type.message()) : []
    return inner.length === 0 ? [] : [{ name, inner }]
  })
  immutables.set(message, made)
  return made
}

function changed(watched: readonly Immutable[], value: Values, old: Values, path: string): Cause[] {
  const causes: Cause[] = []
  for (const { name, inner } of watched) {
    const now = value[name]
    const before = old[name]
    if (now === before) continue
    const field = path === "" ? name : `${path}.${name}`
    if (inner !== undefined) pushAll(causes, changed(inner, (now ?? {}) as Values, (before ?? {}) as Values, field))
    else if (!deepEqual(now, before)) causes.push(invalidValue(field, now, "field is immutable"))
  }
  return causes
}
