import { expect, test } from "bun:test"
import { isValid } from "../../pkg/apimachinery/structural/is-valid.ts"
import type { JsonSchema } from "../../pkg/apimachinery/structural/json-schema.ts"
import { schemaFaults } from "../../pkg/apimachinery/structural/validate.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { Choices } from "../conformance/judged-custom-resources/choices.ts"
import { objectSchema } from "../conformance/judged-custom-resources/schemas.ts"
import { valueOf } from "../conformance/judged-custom-resources/values.ts"

const PAIRS = 20_000
const DEPTH = 3
/** No rules in CEL, which are no part of JSON Schema. */
const NO_RULES = Infinity

test("random objects are valid under random schemas exactly if a second validator, written from the specification, says so", () => {
  const choices = new Choices(seededRandom(7))
  const counts = { valid: 0, invalid: 0 }
  for (let i = 0; i < PAIRS; i++) {
    const schema = withoutFormats(objectSchema(choices, DEPTH, NO_RULES)) as JsonSchema
    const value = valueOf(choices, schema)
    const wants = accepts(schema, value)
    const found = { isValid: isValid(schema, value), hasFaults: schemaFaults(schema, value, "spec").length > 0 }
    if (found.isValid !== wants || found.hasFaults === wants)
      throw new Error(`Validity is not ${wants}: ${JSON.stringify({ schema, value, ...found })}`)
    counts[wants ? "valid" : "invalid"]++
  }
  // Both answers must be frequent.
  expect(Math.min(counts.valid, counts.invalid)).toBeGreaterThan(PAIRS / 10)
})

/** Which texts have a format is no part of the specification. */
function withoutFormats(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutFormats)
  if (typeof schema !== "object" || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => name !== "format")
      .map(([name, inner]) => [name, withoutFormats(inner)]),
  )
}

/**
 * Validates as JSON Schema (draft Wright 00) and OpenAPI 3.0 say, keyword by keyword, with int-or-string as Kubernetes
 * adds it. Written from those texts, and for the shortest way to say them.
 */
function accepts(schema: JsonSchema, value: unknown): boolean {
  const { allOf = [], anyOf, oneOf, not } = schema
  const fits = (other: JsonSchema): boolean => accepts(other, value)
  return (
    hasType(schema, value) &&
    (schema.enum === undefined || schema.enum.some((one) => Bun.deepEquals(one, value, true))) &&
    allOf.every(fits) &&
    (anyOf === undefined || anyOf.some(fits)) &&
    (oneOf === undefined || oneOf.filter(fits).length === 1) &&
    (not === undefined || !fits(not)) &&
    (typeof value !== "number" || isNumberOf(schema, value)) &&
    (typeof value !== "string" || isTextOf(schema, value)) &&
    (!Array.isArray(value) || isListOf(schema, value)) &&
    (!isObject(value) || isObjectOf(schema, value))
  )
}

/** A schema that may be null says so of the type alone: an enum has to name null too. */
function hasType(schema: JsonSchema, value: unknown): boolean {
  if (value === null && schema.nullable === true) return true
  if (schema["x-kubernetes-int-or-string"] === true) return typeof value === "string" || Number.isInteger(value)
  switch (schema.type) {
    case undefined:
      return true
    case "integer":
      return Number.isInteger(value)
    case "array":
      return Array.isArray(value)
    case "object":
      return isObject(value)
    default:
      return typeof value === schema.type
  }
}

function isNumberOf(schema: JsonSchema, value: number): boolean {
  const { minimum = -Infinity, maximum = Infinity, multipleOf } = schema
  return (
    (schema.exclusiveMinimum === true ? value > minimum : value >= minimum) &&
    (schema.exclusiveMaximum === true ? value < maximum : value <= maximum) &&
    (multipleOf === undefined || Number.isInteger(value / multipleOf))
  )
}

function isTextOf({ minLength = 0, maxLength = Infinity, pattern }: JsonSchema, value: string): boolean {
  const { length } = Array.from(value)
  return length >= minLength && length <= maxLength && (pattern === undefined || new RegExp(pattern, "u").test(value))
}

function isListOf({ minItems = 0, maxItems = Infinity, items }: JsonSchema, value: readonly unknown[]): boolean {
  return (
    value.length >= minItems &&
    value.length <= maxItems &&
    value.every((item) => items === undefined || accepts(items as JsonSchema, item))
  )
}

function isObjectOf(schema: JsonSchema, value: Readonly<Record<string, unknown>>): boolean {
  const { properties = {}, additionalProperties, required = [], minProperties = 0, maxProperties = Infinity } = schema
  const names = Object.keys(value)
  return (
    names.length >= minProperties &&
    names.length <= maxProperties &&
    required.every((name) => Object.hasOwn(value, name)) &&
    names.every((name) => {
      if (Object.hasOwn(properties, name)) return accepts(properties[name]!, value[name])
      return typeof additionalProperties !== "object" || accepts(additionalProperties, value[name])
    })
  )
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
