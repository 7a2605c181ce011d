import { deepEqual } from "../json/equal.ts"
import { ApiError, badRequest } from "../errors.ts"
import type { FieldSpec, Type, Message } from "../field-spec.ts"
import { goText, goType } from "../go/go-text.ts"
import { isJsonObject as isObject } from "../json/json-value.ts"
import { setKey } from "../json/set-key.ts"

/**
 * Strategic merge patch on immutable values: lists of objects merge by the key that the field declares, and directives
 * (`$patch`, `$retainKeys`, `$setElementOrder/<field>`, `$deleteFromPrimitiveList/<field>`) express what a plain merge
 * cannot. Parts that the patch does not touch are shared with the result. Source: apimachinery
 * pkg/util/strategicpatch/patch.go.
 * @throws ApiError when the patch is malformed: BadRequest, or without a reason, as upstream
 */
export function applyStrategicMergePatch(schema: Message, document: object, patch: unknown): object {
  if (!isObject(patch)) throw badRequest("error decoding patch: a strategic merge patch must be an object")
  return mergeMap(document as Values, patch, schema)
}

type Values = Readonly<Record<string, unknown>>

const PATCH = "$patch"
const RETAIN_KEYS = "$retainKeys"
const ORDER = "$setElementOrder/"
const DELETE_FROM = "$deleteFromPrimitiveList/"

const badRetainKeys = () => badRequest("invalid patch format of retainKeys")
const badPrimitiveList = () => badRequest("invalid patch format of primitive list")
/** Upstream returns most faults of a patch without a reason. Source: endpoints/handlers/patch.go. */
const fault = (message: string): ApiError => new ApiError("Unknown", message)
const unknownDirective = (directive: unknown, patch: Values): ApiError =>
  fault(`unknown patch type: ${goText(directive)} in map: ${goText(patch)}`)
const wrongType = (expected: unknown, actual: unknown): ApiError =>
  fault(`expected a ${goType(expected)}, but received a ${goType(actual)}`)

/** Returns the original object when nothing changes, so that a patch without effect makes no new object. */
function mergeMap(original: Values, patch: Values, schema: Message | undefined): Values {
  const directive = patch[PATCH]
  if (directive !== undefined) {
    const made = replaced(directive, patch)
    return deepEqual(made, original) ? original : made
  }
  const out = new Changing(retained(original, patch))
  const done = mergeOrdered(out, patch, schema)

  for (const key in patch) {
    if (key === RETAIN_KEYS || done?.has(key) === true) continue
    const value = patch[key]
    if (key.startsWith(DELETE_FROM)) {
      const field = key.slice(DELETE_FROM.length)
      const current = out.get(field)
      if (!Array.isArray(value)) throw badPrimitiveList()
      if (Array.isArray(current)) {
        const gone = new Set<unknown>(value)
        out.set(
          field,
          current.filter((item) => !gone.has(item)),
        )
      }
      continue
    }
    if (value === null) {
      out.delete(key)
      continue
    }
    const current = out.get(key)
    if (isObject(current) && isObject(value)) {
      const spec = schema?.fields[key]?.spec
      if (hasStrategy(spec, "replace")) out.set(key, value)
      else out.setPart(key, mergeMap(current, value, messageOf(spec?.type)))
    } else if (Array.isArray(current) && Array.isArray(value))
      out.set(key, mergeList(current, value, schema?.fields[key]?.spec))
    else {
      const plain = withoutDirectives(value)
      if (plain === undefined) out.delete(key)
      else out.set(key, plain)
    }
  }
  return out.values
}

/** An object that is copied at its first change. */
class Changing {
  readonly #original: Values
  #copy: Record<string, unknown> | undefined

  constructor(original: Values) {
    this.#original = original
  }

  get values(): Values {
    return this.#copy ?? this.#original
  }
  get(key: string): unknown {
    return Object.hasOwn(this.values, key) ? this.values[key] : undefined
  }
  set(key: string, value: unknown): void {
    if (!deepEqual(value, this.get(key))) this.setPart(key, value)
  }
  /** Sets a part that was merged. If its reference is the same, nothing in it changed, so it is not compared again. */
  setPart(key: string, value: unknown): void {
    if (value === this.get(key)) return
    this.#copy ??= { ...this.#original }
    setKey(this.#copy, key, value)
  }
  delete(key: string): void {
    if (this.get(key) !== undefined) delete (this.#copy ??= { ...this.#original })[key]
  }
}

/** Merges the lists that have a `$setElementOrder`; returns the keys that need no further merging, if any. */
function mergeOrdered(out: Changing, patch: Values, schema: Message | undefined): ReadonlySet<string> | undefined {
  let done: Set<string> | undefined
  for (const key in patch) {
    if (!key.startsWith(ORDER)) continue
    const field = key.slice(ORDER.length)
    done = (done ?? new Set<string>()).add(key).add(field)
    const merged = orderedList(out.get(field), patch[field], patch[key], schema?.fields[field]?.spec)
    if (merged !== undefined) out.set(field, merged)
  }
  return done
}

function replaced(directive: unknown, patch: Values): Values {
  if (directive === "replace") {
    const { [PATCH]: _directive, ...rest } = patch
    return rest
  }
  if (directive === "delete") return {}
  throw unknownDirective(directive, patch)
}

/** Returns only the keys that `$retainKeys` names; for unions, where setting one member must remove the others. */
function retained(original: Values, patch: Values): Values {
  const keys = patch[RETAIN_KEYS]
  if (keys === undefined) return original
  if (!Array.isArray(keys)) throw badRetainKeys()
  const kept = new Set<unknown>(keys)
  for (const [key, value] of Object.entries(patch))
    if (
      key !== RETAIN_KEYS &&
      value !== null &&
      !key.startsWith(DELETE_FROM) &&
      !key.startsWith(ORDER) &&
      !kept.has(key)
    )
      throw badRetainKeys()
  const entries = Object.entries(original)
  const left = entries.filter(([key]) => kept.has(key))
  return left.length === entries.length ? original : Object.fromEntries(left)
}

/** Returns the list of a field with a `$setElementOrder`; undefined when there is no list to order. */
function orderedList(
  current: unknown,
  patch: unknown,
  order: unknown,
  spec: FieldSpec | undefined,
): readonly unknown[] | undefined {
  if (!Array.isArray(order)) throw wrongType([], order)
  if (current !== undefined && !Array.isArray(current)) throw wrongType([], current)
  if (patch !== undefined && patch !== null && !Array.isArray(patch)) throw wrongType([], patch)
  const key = spec?.patchMergeKey
  if (Array.isArray(patch)) checkOrder(patch, order, key)
  if (current === undefined && !Array.isArray(patch)) return undefined
  const live = (current ?? []) as readonly unknown[]
  const merged = !Array.isArray(patch)
    ? live
    : current === undefined
      ? (withoutDirectives(patch) as readonly unknown[])
      : mergeList(live, patch, spec)
  return arranged(merged, order, live, key)
}

/** Checks that the items of the patch are in the order list, in the same order. */
export function checkOrder(patch: readonly unknown[], order: readonly unknown[], key: string | undefined): void {
  let at = 0
  for (const item of patch) {
    if (isObject(item) && item[PATCH] !== undefined) continue
    while (at < order.length && !sameItem(order[at], item, key)) at++
    if (at++ >= order.length)
      throw fault(
        `The order in patch list:\n${goText(patch)}\n doesn't match $setElementOrder list:\n${goText(order)}\n`,
      )
  }
}

function mergeList(
  current: readonly unknown[],
  patch: readonly unknown[],
  spec: FieldSpec | undefined,
): readonly unknown[] {
  if (!hasStrategy(spec, "merge")) return patch
  if (current.length === 0 && patch.length === 0) return current
  if (!isObject(current[0] ?? patch[0])) {
    const merged = [...new Set([...current, ...patch])]
    return arranged(merged, patch, current, undefined)
  }
  const key = spec?.patchMergeKey
  if (key === undefined) throw fault("cannot merge lists without merge key")
  const schema = messageOf(spec?.type)
  const added: Values[] = []
  const removed = new Set<unknown>()
  let replace = false
  for (const item of patch) {
    if (!isObject(item)) throw wrongType({}, item)
    const directive = item[PATCH]
    if (directive === undefined) added.push(item)
    else if (directive === "delete") removed.add(identity(item, keyOf(item, key)))
    else if (directive === "replace") replace = true
    else if (directive === "merge") throw fault("merging lists cannot yet be specified in the patch")
    else throw unknownDirective(directive, item)
  }
  if (replace) return added
  const merged = current.filter((item) => !isObject(item) || !removed.has(identity(item, key)))
  const places = placesOf(merged, key)
  let last = -1
  let inPlace = places.size === merged.length
  for (const item of added) {
    const name = identity(item, keyOf(item, key))
    const i = places.get(name) ?? -1
    // Differs from upstream: directives and nulls of a new item are always removed, while upstream does that only with
    // $setElementOrder.
    if (i === -1) places.set(name, merged.push(withoutDirectives(item)) - 1)
    else merged[i] = mergeMap(merged[i] as Values, item, schema)
    inPlace &&= i > last
    last = i
  }
  // Usually the patch has some of the existing items, in their order.
  return inPlace || current.length === 0 ? merged : arranged(merged, added, current, key)
}

/** Returns the declared merge key of an item. @throws ApiError when the item does not have it */
function keyOf(item: Values, key: string): string {
  if (item[key] === undefined) throw fault(`map: ${goText(item)} does not contain declared merge key: ${key}`)
  return key
}

/** Returns what identifies an item: the value of its merge key, or the item itself when there is no key. */
function identity(item: unknown, key: string | undefined): unknown {
  const value = key === undefined ? item : isObject(item) ? item[key] : NOBODY
  return key !== undefined && typeof value === "object" ? `\u0000${JSON.stringify(value)}` : value
}
const NOBODY = Symbol("an item without the merge key")

/** Returns the first index of each item, by its identity. */
function placesOf(items: readonly unknown[], key: string | undefined): Map<unknown, number> {
  const places = new Map<unknown, number>()
  for (const [i, item] of items.entries()) {
    const name = identity(item, key)
    if (name !== NOBODY && !places.has(name)) places.set(name, i)
  }
  return places
}

/**
 * Sorts items: those named in `order` have that order; those that only the server has keep their places among them as
 * far as possible. Precedence: order list, then live list. Source: normalizeElementOrder and mergeSortedSlice.
 */
export function arranged(
  items: readonly unknown[],
  order: readonly unknown[],
  live: readonly unknown[],
  key: string | undefined,
): readonly unknown[] {
  const [wanted, had] = [placesOf(order, key), placesOf(live, key)]
  const rank = (places: ReadonlyMap<unknown, number>, item: unknown): number => places.get(identity(item, key)) ?? -1
  const sorted = (list: readonly unknown[], by: ReadonlyMap<unknown, number>): unknown[] =>
    list
      .map((item) => ({ item, rank: rank(by, item) }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ item }) => item)
  const named = sorted(
    items.filter((item) => rank(wanted, item) !== -1),
    wanted,
  )
  const others = sorted(
    items.filter((item) => rank(wanted, item) === -1),
    had,
  )
  const result: unknown[] = []
  let i = 0
  for (const item of named) {
    const place = rank(had, item)
    while (i < others.length && place !== -1 && rank(had, others[i]) !== -1 && rank(had, others[i]) < place)
      result.push(others[i++])
    result.push(item)
  }
  return [...result, ...others.slice(i)]
}

const sameItem = (a: unknown, b: unknown, key: string | undefined): boolean =>
  identity(a, key) !== NOBODY && identity(a, key) === identity(b, key)

/** Returns a value that a patch adds, without directives and nulls; undefined when it consists of a directive only. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined)
  if (!isObject(value)) return value
  if (value[PATCH] !== undefined) return undefined
  const out = new Changing(value)
  for (const key in value) {
    const plain =
      value[key] === null || key === RETAIN_KEYS || key.startsWith(ORDER) || key.startsWith(DELETE_FROM)
        ? undefined
        : withoutDirectives(value[key])
    if (plain === undefined) out.delete(key)
    else out.setPart(key, plain)
  }
  return out.values
}

const hasStrategy = (spec: FieldSpec | undefined, strategy: "merge" | "replace"): boolean =>
  spec?.patchStrategy?.includes(strategy) === true

/** Returns the struct in a field, a list of structs or a map of structs. */
function messageOf(type: Type | undefined): Message | undefined {
  let inner = type
  while (inner?.kind === "list") inner = inner.of
  if (inner?.kind === "map") return inner.of.kind === "message" ? mapOf(inner.of.message()) : undefined
  return inner?.kind === "message" ? inner.message() : undefined
}

/** Returns a message for a map, all of whose values have the same type, so any key is a field of it. */
const mapOf = (message: Message): Message => {
  const spec: FieldSpec = {
    number: 0,
    doc: "",
    type: { kind: "message", message: () => message },
    presence: "optional",
  }
  return { ...message, fields: new Proxy({}, { get: () => ({ spec }) }) }
}
