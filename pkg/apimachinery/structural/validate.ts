import type { Cause } from "../errors.ts"
import { deepEqualWithNulls } from "../json/equal.ts"
import { ExactNumber } from "../json/exact-number.ts"
import { at, invalidValue, notSupported, required, tooLong, tooMany, typeInvalid } from "../validation/field-errors.ts"
import { counterpartIn, counterpartsOf, type Old } from "./counterparts.ts"
import { enumCheckOf, shownEnum } from "./enums.ts"
import { textFormat } from "./formats.ts"
import { isValid } from "./is-valid.ts"
import { itemsOf, membersOf, type JsonSchema } from "./json-schema.ts"
import { boundFor, isGoInteger, isInRange, isMultiple, lengthOf } from "./measures.ts"
import { patternOf } from "./pattern.ts"
import { faulty, hasEnoughFaults, MOST_TRIES, tries, withinBounds } from "./work.ts"
import { pushAll } from "../../lists/push-all.ts"

/**
 * Returns the faults of a value by its schema, with the API server's messages. `path` is the path of the value
 * ("status"). In an update, faults of parts that are unchanged from `old` are tolerated. The value is first checked by
 * `isValid`, which builds no paths; usually that is all. Source: kube-openapi pkg/validation/validate,
 * apiextensions-apiserver pkg/apiserver/validation.
 */
export function schemaFaults(schema: JsonSchema, value: unknown, path: string, old?: Old): readonly Cause[] {
  const known = withinBounds(() => isValid(schema, value))
  if (known === true) return []
  if (known === undefined) return [general(TOO_MUCH).cause(path)]
  const errors = withinBounds(() => {
    const found = validate(schema, value, "", old).errors
    return found.length === 0 && hasEnoughFaults() ? undefined : found
  })
  if (errors === undefined) return [general(TOO_MUCH).cause(path)]
  return causesOf(errors, path)
}

const TOO_MUCH = `the schema has too many alternatives for an object of this size: at most ${MOST_TRIES} are tried`
/** Faults whose texts are made, and the characters of these texts: a response has fewer. */
const MOST_TEXTS = 2000
const MOST_CHARACTERS = 4_000_000

/**
 * Returns the causes of faults. A message may quote all values of a long enum, and there may be thousands, of which
 * clients see only the first: so the last that is made stands for all that follow.
 */
function causesOf(errors: readonly Fault[], path: string): readonly Cause[] {
  const causes: Cause[] = []
  let left = MOST_CHARACTERS
  for (const { cause } of errors) {
    if (causes.length >= MOST_TEXTS || left < 0) break
    const made = cause(path)
    left -= made.message.length
    causes.push(made)
  }
  while (causes.length < errors.length) causes.push(causes.at(-1)!)
  return causes
}

interface Fault {
  /** `path` is the path before the place of the fault in the value. */
  cause(path: string): Cause
}

/**
 * Errors, and the number of successful checks: of several alternatives, the errors of the one with most of these are
 * reported.
 */
interface Result {
  errors: Fault[]
  matches: number
}
const valid = (matches: number): Result => ({ errors: [], matches })
const failed = (fault: Fault): Result => ({ errors: [fault], matches: 0 })
function merge(into: Result, ...others: readonly Result[]): void {
  for (const { errors, matches } of others) {
    pushAll(into.errors, errors)
    into.matches += matches
  }
}

function fault(place: string, make: (field: string) => Cause): Fault {
  faulty()
  return { cause: (path) => make(at(path, ...(place === "" || place === "." ? [] : [place.replace(/^\./, "")]))) }
}
/** Makes a fault at a place, whose message has the place again. */
const invalid = (place: string, value: unknown, detail: string): Fault =>
  fault(place, (field) => invalidValue(field, value ?? "", detail))
/** Makes a fault that upstream reports without a place. */
const general = (detail: string): Fault => ({ cause: (path) => invalidValue(path === "" ? "<nil>" : path, "", detail) })

/** Type, format and JSON type of a value, as Go sees it. */
type Kind = "string" | "array" | "object" | "boolean" | "integer" | "number"
function kindOf(value: unknown): Kind {
  switch (typeof value) {
    case "string":
      return "string"
    case "boolean":
      return "boolean"
    case "number":
      return isGoInteger(value) ? "integer" : "number"
    default:
      return Array.isArray(value) ? "array" : value instanceof ExactNumber ? "integer" : "object"
  }
}
const KIND_FORMAT: Readonly<Record<Kind, string>> = {
  string: "",
  array: "",
  object: "",
  boolean: "",
  integer: "int64",
  number: "float64",
}

const typesOf = (schema: JsonSchema): readonly string[] =>
  schema["x-kubernetes-int-or-string"] === true
    ? ["integer", "string"]
    : schema.type === undefined || schema.type === ""
      ? []
      : [schema.type]

/** Returns the format if it applies to the schema's type; other formats are ignored. */
function formatOf(schema: JsonSchema): string {
  const { format = "" } = schema
  if (format === "") return ""
  const types = typesOf(schema)
  const [type] = types
  if (types.length > 1) return textFormat(format) === undefined ? "" : format
  if (type === "integer") return format === "int32" || format === "int64" ? format : ""
  if (type === "number") return format === "float" || format === "double" ? format : ""
  return (type === undefined || type === "string") && textFormat(format) !== undefined ? format : ""
}

function validate(schema: JsonSchema, value: unknown, place: string, old: Old | undefined): Result {
  const result = validateHere(schema, value, place, old)
  // Source: ratcheting.go: faults of unchanged values are tolerated.
  return result.errors.length > 0 && old !== undefined && deepEqualWithNulls(old.value, value) ? valid(0) : result
}

function validateHere(schema: JsonSchema, value: unknown, place: string, old: Old | undefined): Result {
  const result = valid(0)
  if (value === null || value === undefined) {
    merge(result, typeResult(schema, null, place), enumResult(schema, null, place))
    return result
  }
  const kind = kindOf(value)
  const run = (found: Result): void => {
    merge(result, found)
    result.matches++
  }
  if (typesOf(schema).length > 0 || formatOf(schema) !== "") run(typeResult(schema, value, place))
  run(combinationResult(schema, value, place, old))
  if (kind === "string") run(textResult(schema, value as string, place))
  if (kind === "string" && formatOf(schema) !== "" && textFormat(formatOf(schema)) !== undefined)
    run(formatResult(schema, value as string, place))
  if (kind === "integer" || kind === "number") run(numberResult(schema, value as number | ExactNumber, place))
  if (kind === "array") run(listResult(schema, value as readonly unknown[], place, old))
  run(enumResult(schema, value, place))
  if (kind === "object") run(objectResult(schema, value as Values, place, old))
  result.matches++
  return result
}

type Values = Readonly<Record<string, unknown>>

function typeResult(schema: JsonSchema, value: unknown, place: string): Result {
  const types = typesOf(schema)
  const format = formatOf(schema)
  const wrong = (wanted: string, got: string): Result =>
    failed(
      fault(place, (field) =>
        typeInvalid(field, got, `${place} in body must be of type ${wanted}: ${JSON.stringify(got)}`),
      ),
    )
  if (value === null) return types.length > 0 && schema.nullable !== true ? wrong(types.join(","), "null") : valid(1)
  const kind = kindOf(value)
  const isFloatInteger = kind === "integer" && types.includes("integer")
  const isNumber = (kind === "integer" && types.includes("number")) || isFloatInteger
  if (
    kind !== "string" &&
    kind !== "array" &&
    format !== "" &&
    !(types.includes(kind) || KIND_FORMAT[kind] === format || isNumber)
  )
    return wrong(format, KIND_FORMAT[kind])
  if (
    !(types.includes("number") || types.includes("integer")) &&
    format !== "" &&
    (kind === "string" || kind === "array")
  )
    return valid(1)
  return types.includes(kind) || isNumber ? valid(1) : wrong(types.join(","), kind)
}

/** How many times as long it takes to try an alternative where faults are collected. */
const TRIES_WITH_FAULTS = 5

/** Checks anyOf, oneOf, allOf and not. */
function combinationResult(schema: JsonSchema, value: unknown, place: string, old: Old | undefined): Result {
  const { anyOf = [], oneOf = [], allOf = [], not } = schema
  const alternatives = anyOf.length + oneOf.length + allOf.length
  if (alternatives > 0) tries(alternatives * TRIES_WITH_FAULTS)
  const result = valid(0)
  const quoted = JSON.stringify(place)
  if (anyOf.length > 0) {
    let best: Result | undefined
    let first: Result | undefined
    for (const each of anyOf) {
      const found = validateHere(each, value, place, old)
      if (found.errors.length === 0) {
        first = found
        best = undefined
        break
      }
      if (best === undefined || found.matches > best.matches) best = found
    }
    if (first === undefined) result.errors.push(general(`${quoted} must validate at least one schema (anyOf)`))
    merge(result, best ?? first ?? valid(0))
  }
  if (oneOf.length > 0) {
    let best: Result | undefined
    let first: Result | undefined
    let count = 0
    for (const each of oneOf) {
      const found = validateHere(each, value, place, old)
      if (found.errors.length === 0) {
        count++
        best = undefined
        first ??= found
      } else if (count === 0 && (best === undefined || found.matches > best.matches)) best = found
    }
    if (count !== 1) {
      const more = count === 0 ? "Found none valid" : `Found ${count} valid alternatives`
      result.errors.push(general(`${quoted} must validate one and only one schema (oneOf). ${more}`))
      if (best !== undefined) merge(result, best)
    } else merge(result, first!)
  }
  if (allOf.length > 0) {
    let count = 0
    for (const each of allOf) {
      const found = validateHere(each, value, place, old)
      if (found.errors.length === 0) count++
      merge(result, found)
    }
    if (count !== allOf.length)
      result.errors.push(
        general(`${quoted} must validate all the schemas (allOf)${count === 0 ? ". None validated" : ""}`),
      )
  }
  if (not !== undefined && isValid(not, value))
    result.errors.push(general(`${quoted} must not validate the schema (not)`))
  result.matches++
  return result
}

function textResult({ maxLength, minLength, pattern = "" }: JsonSchema, value: string, place: string): Result {
  const length = lengthOf(value)
  if (maxLength !== undefined && length > maxLength) return failed(fault(place, (field) => tooLong(field, maxLength)))
  if (minLength !== undefined && length < minLength)
    return failed(invalid(place, value, `${place} in body should be at least ${minLength} chars long`))
  if (pattern !== "" && !patternOf(pattern).matches(value))
    return failed(invalid(place, value, `${place} in body should match '${pattern}'`))
  return valid(0)
}

function formatResult(schema: JsonSchema, value: string, place: string): Result {
  const format = formatOf(schema)
  if (textFormat(format)!(value)) return valid(0)
  return failed(
    fault(place, (field) =>
      typeInvalid(field, value, `${place} in body must be of type ${format}: ${JSON.stringify(value)}`),
    ),
  )
}

function numberResult(schema: JsonSchema, value: number | ExactNumber, place: string): Result {
  const { multipleOf, maximum, exclusiveMaximum = false, minimum, exclusiveMinimum = false } = schema
  const result = valid(1)
  const format = formatOf(schema)
  const number = value instanceof ExactNumber ? Number(value.text) : value
  if (!isInRange(schema, format, number)) {
    const what = format === "" ? "(default format)" : `with format ${format}`
    result.errors.push(general(`Checked value must be of type ${schema.type!} ${what} in ${place}`))
  }
  if (multipleOf !== undefined) {
    const factor = boundFor(value, multipleOf)
    if (factor <= 0)
      result.errors.push(
        invalid(place, factor, `factor MultipleOf declared for ${place} must be positive: ${goNumber(factor)}`),
      )
    else if (!isMultiple(value, factor))
      result.errors.push(invalid(place, value, `${place} in body should be a multiple of ${goNumber(factor)}`))
  }
  if (minimum !== undefined) {
    const least = boundFor(value, minimum)
    if (exclusiveMinimum ? number <= least : number < least)
      result.errors.push(
        invalid(
          place,
          value,
          `${place} in body should be greater than ${exclusiveMinimum ? "" : "or equal to "}${goNumber(least)}`,
        ),
      )
  }
  if (maximum !== undefined) {
    const most = boundFor(value, maximum)
    if (exclusiveMaximum ? number >= most : number > most)
      result.errors.push(
        invalid(
          place,
          value,
          `${place} in body should be less than ${exclusiveMaximum ? "" : "or equal to "}${goNumber(most)}`,
        ),
      )
  }
  return result
}

/** Formats a float as Go's %v. */
const goNumber = (value: number): string =>
  Math.abs(value) >= 1e21 || (value !== 0 && Math.abs(value) < 1e-4)
    ? value.toExponential().replace(/e([+-])(\d)$/, "e$10$2")
    : String(value)

function enumResult(schema: JsonSchema, value: unknown, place: string): Result {
  if ((schema.enum ?? []).length === 0 || (value !== null && enumCheckOf(schema)(value))) return valid(0)
  return failed(fault(place, (field) => notSupported(field, value, shownEnum(schema))))
}

function listResult(schema: JsonSchema, value: readonly unknown[], place: string, old: Old | undefined): Result {
  const { minItems, maxItems } = schema
  const result = valid(0)
  const items = itemsOf(schema)
  if (items !== undefined) {
    const counterparts = old === undefined ? undefined : counterpartsOf(schema, old.value)
    for (const [i, item] of value.entries()) {
      if (hasEnoughFaults()) break
      merge(result, validate(items, item, `${place}[${i}]`, counterparts?.(item)))
    }
  }
  if (minItems !== undefined && value.length < minItems)
    result.errors.push(invalid(place, value.length, `${place} in body should have at least ${minItems} items`))
  if (maxItems !== undefined && value.length > maxItems)
    result.errors.push(fault(place, (field) => tooMany(field, value.length, maxItems)))
  result.matches++
  return result
}

function objectResult(schema: JsonSchema, value: Values, place: string, old: Old | undefined): Result {
  const { minProperties, maxProperties, properties = {}, required: wanted = [], additionalProperties } = schema
  const result = valid(0)
  const names = Object.keys(value).filter((name) => value[name] !== undefined)
  if (minProperties !== undefined && names.length < minProperties)
    result.errors.push(
      invalid(place, names.length, `${place} in body should have at least ${minProperties} properties`),
    )
  if (maxProperties !== undefined && names.length > maxProperties)
    result.errors.push(fault(place, (field) => tooMany(field, names.length, maxProperties)))
  const before = (name: string): Old | undefined =>
    place === "" && (name === "apiVersion" || name === "kind") ? undefined : counterpartIn(schema, old, name)
  const members = membersOf(schema)
  for (const name of names) {
    if (hasEnoughFaults()) break
    if (Object.hasOwn(properties, name)) continue
    if (additionalProperties === false)
      result.errors.push(invalid(place, name, `${place}.${name} in body is a forbidden property`))
    else if (members !== undefined) merge(result, validate(members, value[name], `${place}.${name}`, before(name)))
  }
  for (const name of Object.keys(properties).sort())
    if (Object.hasOwn(value, name) && value[name] !== undefined)
      merge(result, validate(properties[name]!, value[name], place === "" ? name : `${place}.${name}`, before(name)))
  for (const name of wanted)
    if (!Object.hasOwn(value, name) || value[name] === undefined)
      result.errors.push(fault(`${place}.${name}`, (field) => required(field)))
  return result
}
