import {
  getConformanceSuite,
  type IncrementalTest,
  type IncrementalTestSuite,
} from "@bufbuild/cel-spec/testdata/tests.js"
import { expect, test } from "bun:test"
import { check } from "./check/checker.ts"
import { equal } from "./values/compare.ts"
import { PlannedProgram } from "./compiler.ts"
import { show } from "./values/convert.ts"
import { BINDINGS, KUBERNETES } from "./kubernetes.ts"
import { functionTable } from "./library/declare.ts"
import { plan, PlanError } from "./plan/planner.ts"
import { Issues } from "./syntax/issue.ts"
import { macroTable } from "./syntax/macros.ts"
import { parse } from "./syntax/parser.ts"
import { DYN, type CelType } from "./type.ts"
import { TYPE_NAMES } from "./types-by-name.ts"
import { CelError, Double, type Value } from "./values/values.ts"
import { typeOfVector, Unsupported, valueOfVector } from "./vectors.fixtures.ts"

/**
 * The test vectors of the language, google/cel-spec tests/simple/testdata, as @bufbuild/cel-spec carries them. Lists
 * and
 * maps of mixed types are allowed here: that Kubernetes refuses them is not the language's.
 */
type Vector = IncrementalTest["original"]

/** Files of vectors for what Kubernetes does not have. */
const FILES: Readonly<Record<string, string>> = {
  block_ext: "cel.block is not enabled",
  encoders_ext: "base64 is not enabled",
  math_ext: "math is not enabled",
  enums: "there are no enums of protobuf",
  proto2: "there are no messages of protobuf",
  proto2_ext: "there are no messages of protobuf",
  proto3: "there are no messages of protobuf",
  wrappers: "there are no messages of protobuf",
}

/** Single vectors, by a part of their path. */
const EXCLUDED: readonly (readonly [RegExp, string])[] = [
  [/^fields\/quoted_map_fields\//, "the syntax of quoted fields is not enabled"],
  [/map_value_repeat_key(_heterogeneous)?$/, "cel-go 0.26 lets the last of repeated keys win"],
  [/map_null_entry_no_such_key$|map_present_key_invalid_field$/, "errors of bad presence tests are not enabled"],
  [/^string_ext\/value_errors\/(last)?indexof_out_of_range$/, "cel-go 0.26 gives -1"],
  [
    /^string_ext\/format\/.*(scientific|infinity|NaN|(list|map) support for string|support for (lists|maps)|all key types)/,
    "version 2 of the library formats these in another way",
  ],
]

const MESSAGES =
  /TestAllTypes|GlobalEnum|google\.protobuf\.(?:Any|Struct|Value|ListValue|\w+Value|FieldMask|Empty|NullValue)/

function whyExcluded(path: string, { expr, typeEnv }: Vector): string | undefined {
  const file = FILES[path.split("/")[0]!]
  if (file !== undefined) return file
  if (MESSAGES.test(expr)) return "there are no messages of protobuf"
  if (typeEnv.some(({ declKind }) => declKind.case === "function")) return "the vector declares a function"
  return EXCLUDED.find(([pattern]) => pattern.test(path))?.[1]
}

const FUNCTIONS = functionTable(KUBERNETES.functions)
const MACROS = macroTable([...KUBERNETES.macros, ...BINDINGS.macros])
const types = (name: string): CelType | undefined => TYPE_NAMES.get(name)

/** Returns the value of an expression, or the message that refuses it. */
function outcome({ expr, typeEnv, bindings, checkOnly }: Vector): Value {
  const variables = new Map<string, CelType>()
  const activation: Record<string, Value> = {}
  for (const { name, declKind } of typeEnv)
    if (declKind.case === "ident") variables.set(name, typeOfVector(declKind.value.type))
  for (const [name, { kind }] of Object.entries(bindings)) {
    if (kind.case !== "value") throw new Unsupported(`binding ${kind.case}`)
    activation[name] = valueOfVector(kind.value)
    if (!variables.has(name)) variables.set(name, DYN)
  }
  const issues = new Issues(expr)
  const expression = parse(expr, MACROS, issues)
  if (expression !== undefined) check(expression, { variables, functions: FUNCTIONS, types }, issues)
  if (expression === undefined || issues.count > 0) return new CelError(issues.sorted()[0]!.message)
  if (checkOnly) return true
  const globals = Array.from(variables, ([name, type]) => ({ name, type }))
  try {
    return new PlannedProgram(plan(expression, { functions: FUNCTIONS, globals, types }), globals).evaluate(activation)
      .value
  } catch (err) {
    if (err instanceof PlanError) return new CelError(err.message)
    throw err
  }
}

/** Returns the expected result of a vector as text; undefined if any value is right. */
function wanted({ resultMatcher: { case: kind, value } }: Vector): Value | undefined {
  if (kind === undefined) return true
  if (kind === "value") return valueOfVector(value)
  if (kind === "typedResult") return value.result === undefined ? undefined : valueOfVector(value.result)
  return new CelError("any error")
}

function fault(vector: Vector): string | undefined {
  const want = wanted(vector)
  const value = outcome(vector)
  if (want === undefined) return value instanceof CelError ? value.message : undefined
  if (want instanceof CelError) return value instanceof CelError ? undefined : `gave ${show(value)} and no error`
  const isSame =
    want instanceof Double && Number.isNaN(want.value)
      ? value instanceof Double && Number.isNaN(value.value)
      : equal(value, want)
  return isSame ? undefined : `gave ${show(value)}, not ${show(want)}`
}

function* vectorsOf(suite: IncrementalTestSuite, path: string): Iterable<readonly [string, Vector]> {
  for (const { name, original } of suite.tests) yield [`${path}/${name}`, original]
  for (const inner of suite.suites) yield* vectorsOf(inner, `${path}/${inner.name}`)
}

test("the language's test vectors pass, except those for features that Kubernetes does not have", () => {
  // given
  const faults: string[] = []
  const excluded = new Map<string, number>()
  let passed = 0
  // when
  for (const suite of getConformanceSuite().suites)
    for (const [path, vector] of vectorsOf(suite, suite.name)) {
      let why = whyExcluded(path, vector)
      try {
        const found = why === undefined ? fault(vector) : undefined
        // Vectors for evaluators without a type checker, or with a container of names, may pass all the same.
        if (found !== undefined && vector.disableCheck) why = "every expression is type-checked"
        else if (found !== undefined && vector.container !== "") why = "there are no containers of names"
        else if (found !== undefined) faults.push(`${path}: ${vector.expr}: ${found}`)
      } catch (err) {
        if (!(err instanceof Unsupported)) throw err
        why = "there are no messages of protobuf"
      }
      if (why === undefined) passed++
      else excluded.set(why, (excluded.get(why) ?? 0) + 1)
    }
  // then
  expect(faults).toEqual([])
  expect(passed).toBe(1356)
  expect(Object.fromEntries(excluded)).toEqual({
    "base64 is not enabled": 4,
    "cel-go 0.26 gives -1": 2,
    "cel-go 0.26 lets the last of repeated keys win": 2,
    "cel.block is not enabled": 37,
    "errors of bad presence tests are not enabled": 2,
    "every expression is type-checked": 30,
    "math is not enabled": 199,
    "the syntax of quoted fields is not enabled": 6,
    "the vector declares a function": 5,
    "there are no containers of names": 2,
    "there are no enums of protobuf": 85,
    "there are no messages of protobuf": 595,
    "version 2 of the library formats these in another way": 19,
  })
})
