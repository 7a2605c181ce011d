import { NO_SUCH_OVERLOAD } from "../values/compare.ts"
import { compilePattern, constantFault, type Pattern } from "../regex.ts"
import { INT, listOf, STRING } from "../type.ts"
import { ArrayList, CelError, isInt, type Value } from "../values/values.ts"
import { declare, member, type FunctionDeclaration, type Implementation } from "./declare.ts"

/** `find` and `findAll`. Source: apiserver pkg/cel/library/regex.go. */

const find = (text: string, pattern: Pattern): Value => pattern.findAll(text, 1)[0] ?? ""

const findAll = (text: string, pattern: Pattern, limit: number | bigint = -1): Value =>
  new ArrayList(pattern.findAll(text, Number(limit)))

/** Implements calls whose pattern is computed at run time. */
const withPattern =
  (search: (text: string, pattern: Pattern, limit?: number | bigint) => Value) =>
  (text: string, source: string, limit?: number | bigint): Value => {
    const pattern = compilePattern(source)
    return typeof pattern === "string" ? new CelError(`Illegal regex: ${pattern}`) : search(text, pattern, limit)
  }

/** Compiles a constant pattern, which is looked up again for each call: only the cache keeps patterns, not programs. */
const prepare =
  (search: (text: string, pattern: Pattern, limit?: number | bigint) => Value) =>
  (constants: readonly (Value | undefined)[]): Implementation | CelError | undefined => {
    const source = constants[1]
    if (typeof source !== "string") return undefined
    const problem = constantFault(source)
    if (problem !== undefined) return new CelError(problem)
    const searched = withPattern(search)
    return (text: Value, _pattern: Value, limit?: Value) =>
      typeof text === "string" && (limit === undefined || isInt(limit))
        ? searched(text, source, limit)
        : NO_SUCH_OVERLOAD
  }

export const PATTERNS: readonly FunctionDeclaration[] = [
  {
    ...declare("find", [member("string_find_string", [STRING, STRING], STRING, withPattern(find))]),
    prepare: prepare(find),
  },
  {
    ...declare("findAll", [
      member("string_find_all_string", [STRING, STRING], listOf(STRING), withPattern(findAll)),
      member("string_find_all_string_int", [STRING, STRING, INT], listOf(STRING), withPattern(findAll)),
    ]),
    prepare: prepare(findAll),
  },
]
