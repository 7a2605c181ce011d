import { escapeProperty } from "./escape.ts"
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  STRING,
  TIMESTAMP,
  type CelField,
  type CelType,
  type ListSemantics,
} from "./type.ts"
import { largest } from "../lists/extremes.ts"

/** A structural OpenAPI v3 schema as plain JSON, without keywords that expressions do not use. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly nullable?: boolean
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly "x-kubernetes-int-or-string"?: boolean
  readonly "x-kubernetes-embedded-resource"?: boolean
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean
  readonly "x-kubernetes-list-type"?: string
  readonly "x-kubernetes-list-map-keys"?: readonly string[]
}

/** Source: apiserver pkg/apis/cel/config.go MaxRequestSizeBytes. */
const LARGEST_REQUEST = 3 * 1024 * 1024
/** Source: apiserver pkg/cel/limits.go. */
const LONGEST_TIME = 32
const LONGEST_DATE = 12

const TEXT: Schema = { type: "string" }
const OBJECT_META: Schema = { type: "object", properties: { name: TEXT, generateName: TEXT } }

/**
 * Returns the type of a schema's values in expressions, with the largest sizes that its values can have; undefined when
 * expressions cannot use them. `isRoot` means that the schema is that of a whole object, whose apiVersion, kind,
 * metadata.name and metadata.generateName can always be read. `name` is the prefix of type names in messages. Source:
 * apiserver pkg/cel/common/schemas.go SchemaDeclType.
 */
export function typeOfSchema(schema: Schema, isRoot = false, name = "selfType"): CelType | undefined {
  const type = typeFor(schema, isRoot || schema["x-kubernetes-embedded-resource"] === true, name)
  return type !== undefined && schema.nullable === true ? { ...type, nullable: true } : type
}

function typeFor(schema: Schema, isRoot: boolean, name: string): CelType | undefined {
  if (schema["x-kubernetes-int-or-string"] === true)
    return { ...DYN, maxElements: schema.maxLength === undefined ? LARGEST_REQUEST - 2 : bytesOf(schema.maxLength) }
  switch (schema.type) {
    case "array":
      return listType(schema, name)
    case "object":
      return objectType(isRoot ? withObjectMeta(schema) : schema, name)
    case "string":
      return textType(schema)
    case "boolean":
      return BOOL
    case "number":
      return DOUBLE
    case "integer":
      return INT
    default:
      return undefined
  }
}

function withObjectMeta(schema: Schema): Schema {
  const { kind, apiVersion, metadata, ...others } = schema.properties ?? {}
  const isText = (property: Schema | undefined) => property?.type === "string"
  const complete =
    isText(kind) &&
    isText(apiVersion) &&
    metadata?.type === "object" &&
    isText(metadata.properties?.["name"]) &&
    isText(metadata.properties?.["generateName"])
  if (complete) return schema
  return { ...schema, properties: { ...others, kind: TEXT, apiVersion: TEXT, metadata: OBJECT_META } }
}

function listType(schema: Schema, name: string): CelType | undefined {
  const items = schema.items && typeOfSchema(schema.items, false, `${name}.@idx`)
  if (items === undefined) return undefined
  const most = schema.maxItems ?? Math.floor((LARGEST_REQUEST - 2) / (items.minSerializedSize + 1))
  return listOf(items, Math.max(0, most), listSemantics(schema))
}

function listSemantics(schema: Schema): ListSemantics | undefined {
  if (schema["x-kubernetes-list-type"] === "set") return { kind: "set" }
  if (schema["x-kubernetes-list-type"] !== "map") return undefined
  return { kind: "map", keys: schema["x-kubernetes-list-map-keys"] ?? [] }
}

function objectType(schema: Schema, name: string): CelType | undefined {
  const { additionalProperties, properties = {}, required = [], maxProperties } = schema
  if (typeof additionalProperties === "object") {
    const values = typeOfSchema(additionalProperties, false, `${name}.@elem`)
    if (values === undefined) return undefined
    // Each entry has a key in quotes, a colon and a comma besides its value.
    const most = maxProperties ?? Math.floor((LARGEST_REQUEST - 2) / (values.minSerializedSize + 6))
    return mapOf(STRING, values, Math.max(0, most))
  }
  const fields = new Map<string, CelField>()
  let smallest = 2
  for (const [property, sub] of Object.entries(properties)) {
    const field = escapeProperty(property)
    const type = typeOfSchema(sub, false, `${name}.${field ?? property}`)
    if (type === undefined) continue
    if (field !== undefined) fields.set(field, { type, property })
    if (required.includes(property) && sub.default === undefined)
      smallest += new TextEncoder().encode(property).length + type.minSerializedSize + 4
  }
  return { kind: "object", name, params: [], fields, maxElements: 0, minSerializedSize: smallest }
}

function textType({ format, maxLength, enum: allowed = [] }: Schema): CelType {
  switch (format) {
    case "byte":
      return { ...BYTES, maxElements: maxLength === undefined ? LARGEST_REQUEST - 2 : Math.max(0, maxLength) }
    case "duration":
      return { ...DURATION, maxElements: LONGEST_TIME }
    case "date":
      return { ...TIMESTAMP, maxElements: LONGEST_DATE, minSerializedSize: LONGEST_DATE }
    case "date-time":
      return { ...TIMESTAMP, maxElements: LONGEST_TIME }
    default:
  }
  if (maxLength !== undefined) return { ...STRING, maxElements: bytesOf(maxLength) }
  if (allowed.length === 0) return { ...STRING, maxElements: LARGEST_REQUEST - 2 }
  const lengths = allowed.map((value) => (typeof value === "string" ? new TextEncoder().encode(value).length : 0))
  return { ...STRING, maxElements: largest(lengths) }
}

/** A character has up to four bytes. */
const bytesOf = (characters: number): number => Math.max(0, characters) * 4

/**
 * Returns the most values of at least `minSerializedSize` bytes that fit in one request: how often a rule below an
 * unbounded list or map may run. Source: apiextensions pkg/apiserver/schema/cel/compilation.go maxCardinality.
 */
export const maxCardinality = (minSerializedSize: number): number =>
  Math.floor(LARGEST_REQUEST / (minSerializedSize + 1))
