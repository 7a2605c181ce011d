import type { FieldSpec, Type, Message } from "../field-spec.ts"
import { Cursor, type Decode } from "./decoder-cursor.ts"
import { goNameOf, goTypeOf } from "../go/go-type-name.ts"
import { SCALARS } from "./decoder-scalars.ts"
import { droppedZero, fillOf, isNoItems, NO_ITEMS, zeroOf, type Fill } from "./decoder-zeros.ts"
import { isJsonObject } from "../json/json-value.ts"

const compiled = new WeakMap<Message, Decode>()

/** Returns the decoder of a message: the same function at every call. */
export function decoderOf(message: Message): Decode {
  const cached = compiled.get(message)
  if (cached !== undefined) return cached
  const decode = compileMessage(message)
  compiled.set(message, decode)
  return decode
}

interface FieldDecoder {
  readonly name: string
  readonly decode: Decode
  /** The type whose values need no decoding unless they are empty. Most fields are text, so this saves most calls. */
  readonly plain: "string" | "boolean" | undefined
  /** Whether null is kept: the field prints null where it has no value. */
  readonly orNull: boolean
  /** Whether a decoded value is dropped; see `droppedZero`. */
  readonly isDropped: ((value: unknown) => boolean) | undefined
}

function compileMessage(message: Message): Decode {
  const { rules } = message
  if (rules.structural !== undefined) return rules.structural.decode
  const keepUnknown = rules.preserveUnknownFields === true
  const applyDefaults = rules.defaults as ((value: object, old?: object) => object) | undefined
  // The fields are compiled at the first value, because a message may contain itself.
  let fields: Map<string, FieldDecoder> | undefined
  let filled: readonly Fill[] = []
  const compile = (): Map<string, FieldDecoder> => {
    const specs = Object.entries(message.fields).map(([name, { spec }]) => ({ name, spec }))
    filled = specs.flatMap(({ name, spec }) =>
      fillOf(name, spec, rules.unchecked === true || spec.ownRule === true, (type, json) =>
        decodeType(type)(json, new Cursor(), 0),
      ),
    )
    return (fields = new Map(
      specs.map(({ name, spec }) => [
        name,
        {
          name,
          decode: decodeType(spec.type),
          plain: plainOf(spec),
          orNull: spec.orNull === true,
          isDropped: droppedZero(spec),
        },
      ]),
    ))
  }
  const goType = goTypeOf(message)

  const { ownJson } = rules
  const decode: Decode = (value, cursor, depth, old) => {
    if (!isJsonObject(value)) throw cursor.mismatch(value, goType, depth - 1)
    const declared = fields ?? compile()
    const input = value
    const oldFields = old as Readonly<Record<string, unknown>> | undefined
    let out: Record<string, unknown> | undefined
    cursor.structs[depth] = message
    for (const key in input) {
      const given = input[key]
      const field = declared.get(key)
      if (field === undefined) {
        if (keepUnknown || given === undefined) continue
        cursor.steps[depth] = key
        cursor.unknown.push(cursor.path(depth))
        out ??= copy(input)
        delete out[key]
        continue
      }
      if (given === null || given === undefined) {
        if (given === null && field.orNull) continue
        out ??= copy(input)
        delete out[key]
        continue
      }
      if (typeof given === field.plain && given !== "" && given !== false) continue
      const oldValue = oldFields?.[key]
      if (oldValue === given) continue
      cursor.steps[depth] = key
      cursor.structs[depth] = message
      const taken = field.decode(given, cursor, depth + 1, oldValue)
      if (field.isDropped?.(taken) === true) {
        out ??= copy(input)
        delete out[key]
      } else if (taken !== given) (out ??= copy(input))[key] = taken
    }
    const present = out ?? input
    for (const { name, empty, value: fill } of filled) {
      const given = present[name]
      if (given === undefined || given === empty || (empty === NO_ITEMS && isNoItems(given)))
        (out ??= copy(input))[name] = fill()
    }
    return applyDefaults === undefined
      ? (out ?? input)
      : applyDefaults(out ?? input, depth === 0 ? oldFields : undefined)
  }
  if (ownJson === undefined) return decode
  return (value, cursor, depth, old) => {
    if (ownJson.takes(value)) return value
    const reported = cursor.unknown.length
    const taken = decode(value, cursor, depth, old)
    // Upstream decodes such a value with code of its own, which ignores unknown fields.
    cursor.unknown.length = reported
    return taken
  }
}

function plainOf({ type: { kind }, disabled }: FieldSpec): FieldDecoder["plain"] {
  if (disabled === true) return undefined
  return kind === "string" ? "string" : kind === "bool" ? "boolean" : undefined
}

/** Returns a plain object with the own properties of `input`, including one named `__proto__`. */
const copy = (input: object): Record<string, unknown> => ({ ...input })

function decodeType(type: Type): Decode {
  switch (type.kind) {
    case "message": {
      // Resolved at the first value, because the message may be declared after the field that uses it.
      let decode: Decode | undefined
      return (value, cursor, depth, old) => (decode ??= decoderOf(type.message()))(value, cursor, depth, old)
    }
    case "list":
      return decodeList(type)
    case "map":
      return decodeMap(type)
    default:
      return SCALARS[type.kind]
  }
}

function decodeList(type: Type & { kind: "list" }): Decode {
  const item = decodeType(type.of)
  const zero = zeroOf(type.of)
  return (value, cursor, depth, old) => {
    if (!Array.isArray(value)) throw cursor.mismatch(value, goNameOf(type), depth - 1)
    const oldItems = old as readonly unknown[] | undefined
    let out: unknown[] | undefined
    for (let i = 0; i < value.length; i++) {
      const given: unknown = value[i]
      const oldItem = oldItems?.[i]
      if (given === null ? zero === null : oldItem === given && given !== undefined) continue
      cursor.steps[depth] = i
      cursor.structs[depth] = undefined
      const taken = item(given ?? zero, cursor, depth + 1, oldItem)
      if (taken !== given) (out ??= [...value])[i] = taken
    }
    return out ?? value
  }
}

function decodeMap(type: Type & { kind: "map" }): Decode {
  const item = decodeType(type.of)
  const zero = zeroOf(type.of)
  return (value, cursor, depth, old) => {
    if (!isJsonObject(value)) throw cursor.mismatch(value, goNameOf(type), depth - 1)
    const input = value
    const oldFields = old as Readonly<Record<string, unknown>> | undefined
    let out: Record<string, unknown> | undefined
    for (const key in input) {
      const given = input[key]
      const oldValue = oldFields?.[key]
      if (given === null ? zero === null : oldValue === given && given !== undefined) continue
      cursor.steps[depth] = key
      cursor.structs[depth] = undefined
      const taken = item(given ?? zero, cursor, depth + 1, oldValue)
      // Assigning to the key "__proto__" would set the prototype, so the property is defined.
      if (taken !== given)
        Object.defineProperty((out ??= copy(input)), key, {
          value: taken,
          enumerable: true,
          writable: true,
          configurable: true,
        })
    }
    return out ?? value
  }
}
