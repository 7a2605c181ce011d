import { NO_SUCH_OVERLOAD } from "../values/compare.ts"
import {
  toBool,
  toBytes,
  toDouble,
  toDuration,
  toInt,
  toText,
  toTimestamp,
  toUint,
  typeOfValue,
} from "../values/convert.ts"
import { compilePattern, constantFault } from "../regex.ts"
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  paramOf,
  STRING,
  TIMESTAMP,
  typeOf,
  UINT,
  type CelType,
} from "../type.ts"
import { CelError, codePoints, ListValue, MapValue, StructValue, TypeValue, type Value } from "../values/values.ts"
import { declare, member, overload, type FunctionDeclaration, type Implementation } from "./declare.ts"

/**
 * The functions of the language. Source: cel-go common/stdlib/standard.go; names of overloads from common/overloads.
 */

const A = paramOf("A")
const B = paramOf("B")

export function size(value: Value): Value {
  if (typeof value === "string") return codePoints(value)
  if (value instanceof Uint8Array) return value.length
  if (value instanceof ListValue || value instanceof MapValue || value instanceof StructValue) return value.size
  return NO_SUCH_OVERLOAD
}

const SIZED: readonly (readonly [string, CelType])[] = [
  ["bytes", BYTES],
  ["list", listOf(A)],
  ["map", mapOf(A, B)],
  ["string", STRING],
]

/** Declares a conversion, with the types that it accepts by their names in overload ids. */
const conversion = (
  name: string,
  word: string,
  result: CelType,
  from: readonly (readonly [string, CelType])[],
  implementation: Implementation,
): FunctionDeclaration =>
  declare(
    name,
    from.map(([source, type]) => overload(`${source}_to_${word}`, [type], result, implementation)),
  )

const int = ["int64", INT] as const
const uint = ["uint64", UINT] as const
const double = ["double", DOUBLE] as const
const string = ["string", STRING] as const
const bool = ["bool", BOOL] as const
const bytes = ["bytes", BYTES] as const
const timestamp = ["timestamp", TIMESTAMP] as const
const duration = ["duration", DURATION] as const

function matches(text: string, pattern: string): Value {
  const compiled = compilePattern(pattern)
  return typeof compiled === "string" ? new CelError(compiled) : compiled.matches(text)
}

/** Compiles a constant pattern, which is looked up again for each call: only the cache keeps patterns, not programs. */
function prepareMatches(constants: readonly (Value | undefined)[]): Implementation | CelError | undefined {
  const pattern = constants[1]
  if (typeof pattern !== "string") return undefined
  const problem = constantFault(pattern)
  if (problem !== undefined) return new CelError(problem)
  return (text: Value) => (typeof text === "string" ? matches(text, pattern) : NO_SUCH_OVERLOAD)
}

export const STANDARD: readonly FunctionDeclaration[] = [
  declare(
    "size",
    SIZED.flatMap(([word, type]) => [overload(`size_${word}`, [type], INT), member(`${word}_size`, [type], INT)]),
    size,
  ),
  declare("type", [overload("type", [A], typeOf(A))], (value: Value) => new TypeValue(typeOfValue(value))),
  conversion("bool", "bool", BOOL, [bool, string], toBool),
  conversion("bytes", "bytes", BYTES, [bytes, string], toBytes),
  conversion("double", "double", DOUBLE, [double, int, string, uint], toDouble),
  conversion("duration", "duration", DURATION, [duration, int, string], toDuration),
  declare("dyn", [overload("to_dyn", [A], DYN)], (value: Value) => value),
  conversion("int", "int64", INT, [int, double, duration, string, timestamp, uint], toInt),
  conversion("string", "string", STRING, [string, bool, bytes, double, duration, int, timestamp, uint], toText),
  conversion("timestamp", "timestamp", TIMESTAMP, [timestamp, int, string], toTimestamp),
  conversion("uint", "uint64", UINT, [uint, double, int, string], toUint),
  declare("contains", [
    member("contains_string", [STRING, STRING], BOOL, (text: string, part: string) => text.includes(part)),
  ]),
  declare("endsWith", [
    member("ends_with_string", [STRING, STRING], BOOL, (text: string, part: string) => text.endsWith(part)),
  ]),
  declare("startsWith", [
    member("starts_with_string", [STRING, STRING], BOOL, (text: string, part: string) => text.startsWith(part)),
  ]),
  {
    ...declare("matches", [
      overload("matches", [STRING, STRING], BOOL, matches),
      member("matches_string", [STRING, STRING], BOOL, matches),
    ]),
    prepare: prepareMatches,
  },
]
