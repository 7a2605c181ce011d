import { bytesOf, byteLength, textOf } from "../go-fmt/go-bytes.ts"
import { GoObject } from "../go-fmt/go-object.ts"
import { goInt, goTypeOf, isGoMap, numberOf, TypedNumber } from "../go-fmt/go-number.ts"
import { sprint, sprintf, sprintln } from "../go-fmt/sprintf.ts"
import { compareWith, isEqual, isLess } from "./compare.ts"
import { escapedForHtml, escapedForJavaScript, escapedForQuery } from "./escapes.ts"
import { failCall } from "./function-error.ts"
import { Boxed, boxed, isNilBox, unboxed } from "./value.ts"

/** What a function takes: a text, any value (null for none), or a value as the template has it, in its box. */
export type Parameter = "string" | "any" | "value"

/** A function of templates. `rest` is what it takes beyond its fixed parameters, in any number. */
export interface TemplateFunction {
  readonly parameters: readonly Parameter[]
  readonly rest?: Parameter
  /** @throws FunctionError with Go's words */
  readonly call: (args: readonly unknown[]) => unknown
}

const ofText = (call: (values: readonly unknown[]) => string): TemplateFunction => ({
  parameters: [],
  rest: "any",
  call,
})

/** Go's own functions, but `and`, `or` and `call`, of which execution knows. Source: Go text/template/funcs.go. */
export const BUILTINS: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ["not", { parameters: ["value"], call: ([value]) => !isTrue(unboxed(value)) }],
  ["len", { parameters: ["value"], call: ([value]) => lengthOf(value) }],
  ["index", { parameters: ["value"], rest: "value", call: ([item, ...indexes]) => indexed(item, indexes) }],
  ["slice", { parameters: ["value"], rest: "value", call: ([item, ...indexes]) => sliced(item, indexes) }],
  ["print", ofText(sprint)],
  ["println", ofText(sprintln)],
  ["printf", { parameters: ["string"], rest: "any", call: ([format, ...args]) => sprintf(format as string, args) }],
  ["html", ofText((values) => escapedForHtml(textOfAll(values)))],
  ["js", ofText((values) => escapedForJavaScript(textOfAll(values)))],
  ["urlquery", ofText((values) => escapedForQuery(textOfAll(values)))],
  ["eq", { parameters: ["value"], rest: "value", call: ([first, ...others]) => isEqual(first, others) }],
  ["ne", { parameters: ["value", "value"], call: ([a, b]) => !isEqual(a, [b]) }],
  ["lt", { parameters: ["value", "value"], call: ([a, b]) => isLess(a, b) }],
  ["le", { parameters: ["value", "value"], call: ([a, b]) => compareWith("le", a, b) }],
  ["gt", { parameters: ["value", "value"], call: ([a, b]) => compareWith("gt", a, b) }],
  ["ge", { parameters: ["value", "value"], call: ([a, b]) => compareWith("ge", a, b) }],
])

/** Returns values as `html`, `js` and `urlquery` see them: a missing value as in the template's own output. */
const textOfAll = (values: readonly unknown[]): string => sprint(values.map((value) => value ?? "<no value>"))

/** Whether `if` takes its branch: for all but null, false, zero, and empty texts, lists and maps. */
export function isTrue(value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === "boolean") return value
  if (typeof value === "string") return value !== ""
  if (Array.isArray(value)) return value.length > 0
  if (value instanceof GoObject) return value.entries === undefined || sizeOf(value.entries) > 0
  const number = numberOf(value)
  if (number === undefined) return isGoMap(value) && sizeOf(value) > 0
  return number.type === "complex128" ? number.value.some((part) => part !== 0) : Number(number.value) !== 0
}

const sizeOf = (map: Readonly<Record<string, unknown>>): number =>
  Object.values(map).filter((value) => value !== undefined).length

/** What reflection panics with where a value is missing altogether. */
const NO_TYPE = "reflect: call of reflect.Value.Type on zero Value"

function lengthOf(item: unknown): TypedNumber {
  if (isNilBox(item)) failCall("len of nil pointer")
  const value = unboxed(item)
  if (value === undefined) failCall(NO_TYPE)
  if (typeof value === "string") return goInt(byteLength(value))
  if (Array.isArray(value)) return goInt(value.length)
  return isGoMap(value) ? goInt(sizeOf(value)) : failCall(`len of type ${goTypeOf(value)}`)
}

/** Returns a place in a list or text. */
function placeOf(given: unknown, most: number): number {
  const index = unboxed(given)
  if (index === undefined) failCall("cannot index slice/array with nil")
  const number = numberOf(index)
  if (typeof number?.value !== "bigint") return failCall(`cannot index slice/array with type ${goTypeOf(index)}`)
  if (number.value < 0n || number.value > BigInt(most)) failCall(`index out of range: ${number.value}`)
  return Number(number.value)
}

function indexed(first: unknown, indexes: readonly unknown[]): unknown {
  let item: unknown = unboxed(first)
  if (item === undefined) failCall("index of untyped nil")
  for (const index of indexes) {
    if (isNilBox(item)) failCall("index of nil pointer")
    item = elementOf(unboxed(item), index)
  }
  return item
}

function elementOf(item: unknown, index: unknown): unknown {
  if (Array.isArray(item)) {
    const place = placeOf(index, item.length)
    return place < item.length ? boxed(item[place]) : failCall("reflect: slice index out of range")
  }
  if (typeof item === "string") {
    const bytes = bytesOf(item)
    const place = placeOf(index, bytes.length)
    const byte = bytes[place]
    return byte === undefined
      ? failCall("reflect: string index out of range")
      : new TypedNumber({ type: "uint8", value: BigInt(byte) })
  }
  if (!isGoMap(item)) return failCall(`can't index item of type ${goTypeOf(item)}`)
  const key = unboxed(index)
  if (key === undefined) return failCall("value is nil; should be of type string")
  if (typeof key !== "string") return failCall(`value has type ${goTypeOf(key)}; should be string`)
  return boxed(Object.hasOwn(item, key) ? item[key] : null)
}

function sliced(first: unknown, indexes: readonly unknown[]): unknown {
  const item = unboxed(first)
  if (item === undefined) failCall("slice of untyped nil")
  if (indexes.length > 3) failCall(`too many slice indexes: ${indexes.length}`)
  const bytes = typeof item === "string" ? bytesOf(item) : undefined
  if (bytes !== undefined && indexes.length === 3) failCall("cannot 3-index slice a string")
  if (bytes === undefined && !Array.isArray(item)) failCall(`can't slice item of type ${goTypeOf(item)}`)
  const list = bytes ?? (item as readonly unknown[])
  const places = indexes.map((index) =>
    // Go takes a number out of its box for `index`, but not here.
    index instanceof Boxed ? failCall("cannot index slice/array with type interface {}") : placeOf(index, list.length),
  )
  const [from = 0, to = list.length, most = list.length] = places
  if (from > to) failCall(`invalid slice index: ${from} > ${to}`)
  if (to > most) failCall(`invalid slice index: ${to} > ${most}`)
  return bytes === undefined ? list.slice(from, to) : textOf(bytes.subarray(from, to))
}
