import { ExactNumber } from "../../json/exact-number.ts"
import type { FieldSpec, Scalar, Type, Message } from "../../field-spec.ts"
import { GoValue } from "../../go/go-value.ts"
import { goQuoted, goSyntax, goText, goType } from "../../go/go-text.ts"
import { isJsonObject } from "../../json/json-value.ts"
import { shownElement } from "./fieldset.ts"
import { itemsOf, membersOf, type JsonSchema } from "../../structural/json-schema.ts"
import { elementAt, identitiesOf, shapeOfField, shapeOfSchema, type ListShape, type Shape } from "./shape.ts"

/**
 * Returns upstream's message about why a configuration is not a valid value of `message`: undeclared fields, values of
 * wrong types, list items that cannot be told apart. Undefined when it is valid. Source: structured-merge-diff
 * typed/validate.go.
 */
export function configurationFault(message: Message, config: unknown): string | undefined {
  const faults: Fault[] = []
  checkMessage(message, config, "", faults)
  if (faults.length === 0) return undefined
  const texts = faults.map(({ path, text }) => (path === "" ? text : `${path}: ${text}`))
  return texts.length === 1 ? texts[0] : ["errors:", ...texts.map((text) => `  ${text}`)].join("\n")
}

interface Fault {
  readonly path: string
  readonly text: string
}

function checkMessage({ fields, rules }: Message, value: unknown, path: string, faults: Fault[]): void {
  if (value === null || rules.ownJson !== undefined) return
  if (!isJsonObject(value)) return void faults.push({ path, text: `expected map, got ${held(value)}` })
  for (const [name, inner] of Object.entries(value)) {
    const spec = fields[name]?.spec
    const property = rules.structural?.schema.properties?.[name]
    if (spec !== undefined) checkType(spec.type, inner, `${path}.${name}`, faults, spec)
    else if (property !== undefined)
      checkSchema(
        property,
        inner,
        { path: `${path}.${name}`, keeps: rules.structural?.schema["x-kubernetes-preserve-unknown-fields"] === true },
        faults,
      )
    else if (rules.structural?.schema["x-kubernetes-preserve-unknown-fields"] === true) continue
    else if (rules.preserveUnknownFields !== true)
      return void faults.push({ path: `${path}.${name}`, text: "field not declared in schema" })
  }
}

function checkType(type: Type, value: unknown, path: string, faults: Fault[], spec?: FieldSpec): void {
  switch (type.kind) {
    case "message":
      return checkMessage(type.message(), value, path, faults)
    case "map":
      if (value === null) return
      if (!isJsonObject(value)) return void faults.push({ path, text: `expected map, got ${held(value)}` })
      for (const [key, inner] of Object.entries(value)) checkType(type.of, inner, `${path}.${key}`, faults)
      return
    case "list":
      if (value === null) return
      if (!Array.isArray(value)) return void faults.push({ path, text: `expected list, got ${held(value)}` })
      return checkItems(type.of, value, path, faults, spec)
    default: {
      const wrong = scalarFault(type.kind, value)
      if (wrong !== undefined) faults.push({ path, text: wrong })
    }
  }
}

/** The path of a value, and whether an outer schema preserves unknown fields: then all inner values accept them too. */
interface Within {
  readonly path: string
  readonly keeps: boolean
}

/**
 * Checks a value that a custom resource's schema describes. Source: kube-openapi pkg/schemaconv, which inherits
 * preserveUnknownFields to nested schemas.
 */
function checkSchema(schema: JsonSchema, value: unknown, within: Within, faults: Fault[]): void {
  if (value === null) return
  const { path } = within
  const keeps = within.keeps || schema["x-kubernetes-preserve-unknown-fields"] === true
  const members = membersOf(schema)
  const items = itemsOf(schema)
  switch (schema.type) {
    case "object": {
      if (!isJsonObject(value)) return void faults.push({ path, text: `expected map, got ${held(value)}` })
      if (schema["x-kubernetes-embedded-resource"] === true) return
      for (const [name, inner] of Object.entries(value)) {
        const property = schema.properties?.[name] ?? members
        if (property !== undefined) checkSchema(property, inner, { path: `${path}.${name}`, keeps }, faults)
        else if (!keeps && schema.properties !== undefined)
          return void faults.push({ path: `${path}.${name}`, text: "field not declared in schema" })
        else checkAnything(inner, `${path}.${name}`, faults)
      }
      return
    }
    case "array":
      if (!Array.isArray(value)) return void faults.push({ path, text: `expected list, got ${held(value)}` })
      if (items === undefined) return
      return checkEach(value, shapeOfSchema(schema), path, faults, (item) =>
        checkSchema(items, item, { path: "", keeps }, faults),
      )
    case undefined:
      return checkAnything(value, path, faults)
    default: {
      const wrong = scalarFault(SCALARS[schema.type] ?? "json", value)
      if (wrong !== undefined) faults.push({ path, text: wrong })
    }
  }
}
/** Checks a value without a declaration: any JSON is valid. */
function checkAnything(value: unknown, path: string, faults: Fault[]): void {
  if (value instanceof GoValue) faults.push({ path, text: `expected map, got ${held(value)}` })
  else if (Array.isArray(value)) value.forEach((item, i) => checkAnything(item, `${path}[${i}]`, faults))
  else if (isJsonObject(value))
    for (const [name, inner] of Object.entries(value)) checkAnything(inner, `${path}.${name}`, faults)
}
const SCALARS: Readonly<Record<string, Scalar>> = {
  string: "string",
  integer: "int64",
  number: "double",
  boolean: "bool",
}

function checkItems(of: Type, items: readonly unknown[], path: string, faults: Fault[], spec?: FieldSpec): void {
  const shape = spec === undefined ? undefined : shapeOfField(spec)
  checkEach(items, shape, path, faults, (item) => checkType(of, item, "", faults))
}

/** Checks the items of a list. Those of an associative list must have distinct keys. */
function checkEach(
  items: readonly unknown[],
  shape: Shape | undefined,
  path: string,
  faults: Fault[],
  check: (item: unknown) => void,
): void {
  const isAssociative = shape?.kind === "list" || shape?.kind === "set"
  const seen = new Set<unknown>()
  const identities = isAssociative ? identitiesOf(shape, items)[0]! : undefined
  for (const [i, item] of items.entries()) {
    if (isAssociative) {
      const nameless = shape.kind === "list" ? keylessFault(item, shape.keys) : scalarItemFault(item)
      if (nameless !== undefined) {
        faults.push({ path, text: `element ${i}: ${nameless}` })
        return
      }
      const identity = identities![i]
      if (seen.has(identity)) faults.push({ path, text: `duplicate entries for key ${shownItem(shape, items, i)}` })
      seen.add(identity)
    }
    const before = faults.length
    check(item)
    // The paths of most items are not needed.
    if (faults.length === before) continue
    const here = path + (isAssociative ? shownItem(shape, items, i) : `[${i}]`)
    for (let n = before; n < faults.length; n++) faults[n] = { ...faults[n]!, path: here + faults[n]!.path }
  }
}
const shownItem = (shape: ListShape, items: readonly unknown[], i: number) => shownElement(elementAt(shape, items, i))

function keylessFault(item: unknown, keys: readonly { name: string; fallback: unknown }[]): string | undefined {
  if (item === null) return "associative list with keys may not have a null element"
  if (!isJsonObject(item)) return "associative list with keys may not have non-map elements"
  if (keys.some(({ name, fallback }) => item[name] !== undefined || fallback !== undefined)) return undefined
  const names = keys.map(({ name }) => goQuoted(name)).join(" ")
  return `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`
}

function scalarItemFault(item: unknown): string | undefined {
  if (item === null) return "associative list without keys has an element that's an explicit null"
  if (isJsonObject(item)) return "associative list without keys has an element that's a map type"
  return Array.isArray(item) ? "not supported: associative list with lists as elements" : undefined
}

const isNumber = (value: unknown): boolean => typeof value === "number" || value instanceof ExactNumber

function scalarFault(kind: Scalar, value: unknown): string | undefined {
  if (value === null) return undefined
  switch (kind) {
    case "int32":
    case "int64":
    case "double":
      return isNumber(value) ? undefined : `expected numeric (int or float), got ${goType(value)}`
    case "bool":
      return typeof value === "boolean" ? undefined : `expected boolean, got ${held(value)}`
    case "quantity":
    case "intOrString":
      return typeof value === "object" && !isNumber(value) ? `expected any scalar, got ${held(value)}` : undefined
    case "json":
    case "rawExtension":
    case "fieldsV1":
      return undefined
    default:
      return typeof value === "string"
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`
  }
}

/** Formats a value as Go's `%v` formats its wrapper. */
const held = (value: unknown): string => `&{${goText(value)}}`
