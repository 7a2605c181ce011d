/** The values over which a comprehension iterates: the items of a list, the keys of a map, the fields of a struct. */
import { typeOfValue } from "../values/convert.ts"
import { CelError, ListValue, MapValue, Optional, StructValue, type Value } from "../values/values.ts"

/** The only item of a range that cannot be iterated: the error. */
export class Fault {
  readonly error: CelError
  constructor(error: CelError) {
    this.error = error
  }
}
type Item = readonly [Value | Fault, Value]

export function* single(range: Value): Iterable<Item> {
  if (range instanceof ListValue) for (const item of range) yield [item, null]
  else if (range instanceof MapValue) for (const key of range.keys()) yield [key, null]
  else if (range instanceof StructValue) for (const name of range.fieldNames()) yield [name, null]
  else yield [new Fault(new CelError(`got '${goType(range)}', expected iterable type`)), null]
}

/** Returns the Go type of a value in cel-go, which its message shows. */
function goType(value: Value): string {
  if (value instanceof Optional) return "*types.Optional"
  const word = typeOfValue(value).name.replace(/^google\.protobuf\.|_type$/g, "")
  return `types.${word[0]!.toUpperCase()}${word.slice(1)}`
}

export function* pairs(range: Value): Iterable<Item> {
  if (range instanceof ListValue) for (let i = 0; i < range.size; i++) yield [i, range.at(i)]
  else if (range instanceof MapValue) for (const key of range.keys()) yield [key, range.find(key)!]
  else if (range instanceof StructValue) for (const name of range.fieldNames()) yield [name, range.get(name)]
  else yield [new Fault(new CelError(`unsupported comprehension range type: ${typeOfValue(range).name}`)), null]
}
