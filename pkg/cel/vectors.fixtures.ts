import type { Type } from "@bufbuild/cel-spec/cel/expr/checked_pb.js"
import type { Value as VectorValue } from "@bufbuild/cel-spec/cel/expr/value_pb.js"
import { HashMap } from "./values/maps.ts"
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  TIMESTAMP,
  UINT,
  type CelType,
} from "./type.ts"
import { TYPE_NAMES } from "./types-by-name.ts"
import { ArrayList, Double, Duration, intOf, Timestamp, TypeValue, Uint, type Value } from "./values/values.ts"

/** Reads values and types of the language's test vectors, which are protobuf messages. */

/** Thrown for a vector that needs a feature which Kubernetes does not have. */
export class Unsupported extends Error {}

export function valueOfVector({ kind }: VectorValue): Value {
  switch (kind.case) {
    case "int64Value":
      return intOf(kind.value)
    case "uint64Value":
      return new Uint(kind.value)
    case "doubleValue":
      return new Double(kind.value)
    case "boolValue":
    case "stringValue":
    case "bytesValue":
      return kind.value
    case "nullValue":
      return null
    case "listValue":
      return new ArrayList(kind.value.values.map(valueOfVector))
    case "mapValue": {
      const map = new HashMap()
      for (const { key, value } of kind.value.entries) map.set(valueOfVector(key!), valueOfVector(value!))
      return map
    }
    case "typeValue":
      return new TypeValue(TYPE_NAMES.get(kind.value) ?? { ...DYN, name: kind.value })
    case "objectValue":
      return timeOf(kind.value.typeUrl, kind.value.value)
    default:
      throw new Unsupported(`value ${kind.case}`)
  }
}

function timeOf(url: string, bytes: Uint8Array): Value {
  const name = url.slice(url.lastIndexOf("/") + 1)
  if (name !== TIMESTAMP.name && name !== DURATION.name) throw new Unsupported(name)
  const [seconds = 0n, nanos = 0n] = varints(bytes)
  const total = seconds * 1_000_000_000n + nanos
  return name === TIMESTAMP.name ? new Timestamp(total) : new Duration(total)
}

/** Returns the fields 1 and 2 of a message that has no others, both integers. */
function varints(bytes: Uint8Array): bigint[] {
  const fields: bigint[] = []
  for (let i = 0; i < bytes.length;) {
    const field = (bytes[i++]! >> 3) - 1
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[i++]!
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    fields[field] = BigInt.asIntN(64, value)
  }
  return fields
}

const PRIMITIVES = [DYN, BOOL, INT, UINT, DOUBLE, STRING, BYTES]
const WELL_KNOWN = [DYN, DYN, TIMESTAMP, DURATION]

export function typeOfVector(type: Type | undefined): CelType {
  const kind = type?.typeKind
  switch (kind?.case) {
    case "dyn":
      return DYN
    case "null":
      return NULL
    case "primitive":
      return PRIMITIVES[kind.value]!
    case "wellKnown":
      return WELL_KNOWN[kind.value]!
    case "listType":
      return listOf(typeOfVector(kind.value.elemType))
    case "mapType":
      return mapOf(typeOfVector(kind.value.keyType), typeOfVector(kind.value.valueType))
    case "abstractType":
      if (kind.value.name === "optional_type") return optionalOf(typeOfVector(kind.value.parameterTypes[0]))
      break
    default:
  }
  throw new Unsupported(`type ${kind?.case}`)
}
