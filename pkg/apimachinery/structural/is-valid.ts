import { ExactNumber } from "../json/exact-number.ts"
import { enumCheckOf } from "./enums.ts"
import { textFormat } from "./formats.ts"
import { itemsOf, membersOf, type JsonSchema } from "./json-schema.ts"
import { boundFor, isGoInteger, isInRange, isMultiple, lengthOf } from "./measures.ts"
import { patternOf } from "./pattern.ts"
import { tries } from "./work.ts"

/**
 * Whether a value is valid by its schema. The rules are those of validate.ts, compiled into functions that allocate
 * nothing, so a valid object costs one walk.
 */
export const isValid = (schema: JsonSchema, value: unknown): boolean => checkOf(schema)(value)

type Check = (value: unknown) => boolean

const checks = new WeakMap<JsonSchema, Check>()

function checkOf(schema: JsonSchema): Check {
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, (check = compile(schema)))
  return check
}

function compile(schema: JsonSchema): Check {
  const isOfType = typeCheck(schema)
  const parts: Check[] = []
  const { enum: allowed = [] } = schema
  if (allowed.length > 0) parts.push(enumCheckOf(schema))
  const { anyOf = [], oneOf = [], allOf = [], not } = schema
  if (anyOf.length > 0) {
    const checks = anyOf.map(checkOf)
    parts.push((value) => {
      for (const check of checks) {
        tries(1)
        if (check(value)) return true
      }
      return false
    })
  }
  if (oneOf.length > 0) {
    const checks = oneOf.map(checkOf)
    parts.push((value) => {
      tries(checks.length)
      return checks.filter((check) => check(value)).length === 1
    })
  }
  if (allOf.length > 0) {
    const checks = allOf.map(checkOf)
    parts.push((value) => {
      tries(checks.length)
      return checks.every((check) => check(value))
    })
  }
  if (not !== undefined) {
    const check = checkOf(not)
    parts.push((value) => {
      tries(1)
      return !check(value)
    })
  }
  const text = textCheck(schema)
  const number = numberCheck(schema)
  const list = listCheck(schema)
  const object = objectCheck(schema)
  const nullable =
    schema.nullable === true || (schema.type === undefined && schema["x-kubernetes-int-or-string"] !== true)
  return (value) => {
    if (value === null || value === undefined) return nullable && allowed.length === 0
    if (isOfType !== undefined && !isOfType(value)) return false
    for (const part of parts) if (!part(value)) return false
    switch (typeof value) {
      case "string":
        return text === undefined || text(value)
      case "number":
        return number === undefined || number(value)
      case "boolean":
        return true
      default:
        if (Array.isArray(value)) return list === undefined || list(value)
        if (value instanceof ExactNumber) return number === undefined || number(value)
        return object === undefined || object(value as Values)
    }
  }
}

type Values = Readonly<Record<string, unknown>>

/** As upstream, a schema with a format of strings accepts strings and lists, also when it declares no type. */
function typeCheck(schema: JsonSchema): Check | undefined {
  if (schema["x-kubernetes-int-or-string"] === true)
    return (value) => typeof value === "string" || isInteger(value) || value instanceof ExactNumber
  const isText = schema.format !== undefined && textFormat(schema.format) !== undefined
  switch (schema.type) {
    case undefined:
    case "":
      return isText ? (value) => typeof value === "string" || Array.isArray(value) : undefined
    case "string":
      return isText
        ? (value) => typeof value === "string" || Array.isArray(value)
        : (value) => typeof value === "string"
    case "boolean":
      return (value) => typeof value === "boolean"
    case "integer":
      return (value) => isInteger(value) || value instanceof ExactNumber
    case "number":
      return (value) => typeof value === "number" || value instanceof ExactNumber
    case "array":
      return Array.isArray
    case "object":
      return (value) => typeof value === "object" && !Array.isArray(value) && !(value instanceof ExactNumber)
    default:
      return () => false
  }
}
const isInteger = isGoInteger

function textCheck({ maxLength, minLength, pattern = "", format = "", type }: JsonSchema): Check | undefined {
  const formatted = type === undefined || type === "" || type === "string" ? textFormat(format) : undefined
  if (maxLength === undefined && minLength === undefined && pattern === "" && formatted === undefined) return undefined
  return (value) => {
    const text = value as string
    if (maxLength !== undefined && text.length > maxLength && lengthOf(text) > maxLength) return false
    if (minLength !== undefined && (text.length < minLength || lengthOf(text) < minLength)) return false
    return (pattern === "" || patternOf(pattern).matches(text)) && (formatted === undefined || formatted(text))
  }
}

function numberCheck(schema: JsonSchema): Check | undefined {
  const { multipleOf, maximum, exclusiveMaximum, minimum, exclusiveMinimum, format = "" } = schema
  const isRanged = format === "int32" || format === "float"
  if (multipleOf === undefined && maximum === undefined && minimum === undefined && !isRanged) return undefined
  return (value) => {
    const given = value as number | ExactNumber
    const number = typeof given === "number" ? given : Number(given.text)
    if (isRanged && !isInRange(schema, format, number)) return false
    if (multipleOf !== undefined && !isMultiple(given, boundFor(given, multipleOf))) return false
    if (minimum !== undefined) {
      const least = boundFor(given, minimum)
      if (exclusiveMinimum === true ? number <= least : number < least) return false
    }
    if (maximum === undefined) return true
    const most = boundFor(given, maximum)
    return exclusiveMaximum === true ? number < most : number <= most
  }
}

function listCheck(schema: JsonSchema): Check | undefined {
  const { minItems, maxItems } = schema
  const items = itemsOf(schema)
  if (minItems === undefined && maxItems === undefined && items === undefined) return undefined
  let check: Check | undefined
  return (value) => {
    const list = value as readonly unknown[]
    if ((minItems !== undefined && list.length < minItems) || (maxItems !== undefined && list.length > maxItems))
      return false
    if (items === undefined) return true
    check ??= checkOf(items)
    for (const item of list) if (!check(item)) return false
    return true
  }
}

function objectCheck(schema: JsonSchema): Check | undefined {
  const { minProperties, maxProperties, properties, required = [], additionalProperties } = schema
  const members = membersOf(schema)
  const isCounted = minProperties !== undefined || maxProperties !== undefined
  if (
    !isCounted &&
    properties === undefined &&
    required.length === 0 &&
    members === undefined &&
    additionalProperties !== false
  )
    return undefined
  const known = new Map<string, Check>()
  const checkFor = (name: string): Check | undefined => {
    const found = known.get(name)
    if (found !== undefined) return found
    if (properties === undefined || !Object.hasOwn(properties, name))
      return members === undefined ? undefined : checkOf(members)
    const made = checkOf(properties[name]!)
    known.set(name, made)
    return made
  }
  return (value) => {
    const object = value as Values
    let count = 0
    for (const name in object) {
      const given = object[name]
      if (given === undefined) continue
      count++
      const check = checkFor(name)
      if (check === undefined ? additionalProperties === false : !check(given)) return false
    }
    for (const name of required) if (object[name] === undefined || !Object.hasOwn(object, name)) return false
    return (
      !isCounted ||
      ((minProperties === undefined || count >= minProperties) &&
        (maxProperties === undefined || count <= maxProperties))
    )
  }
}
