import { DRAFTS, type Draft } from "./drafts.ts"
import { SchemaDocument } from "./schema-document.ts"

/*
 * What the drafts say about schemas themselves, as schemas. Each draft is one document here, also where it is published
 * as several. Source: json-schema.org.
 */

type Shapes = Readonly<Record<string, unknown>>

const named = (name: string) => ({ $ref: `#/definitions/${name}` })
const SCHEMA = { $ref: "#" }
const BOOLEAN = { type: "boolean" }
const TEXT = { type: "string" }
const NUMBER = { type: "number" }
const formatted = (format: string) => ({ ...TEXT, format })
const mapOf = (additionalProperties: unknown) => ({ type: "object", additionalProperties })
const each = (keywords: readonly string[], shape: unknown): Shapes =>
  Object.fromEntries(keywords.map((keyword) => [keyword, shape]))

const TYPES = { enum: ["array", "boolean", "integer", "null", "number", "object", "string"] }
const ANY_TYPES = {
  anyOf: [named("simpleTypes"), { type: "array", items: named("simpleTypes"), minItems: 1, uniqueItems: true }],
}

function definitions({ version }: Draft): Shapes {
  const sizes = version === 4 ? "positiveInteger" : "nonNegativeInteger"
  const [size, size0] = [named(sizes), version < 2019 ? { allOf: [named(sizes), {}] } : named(sizes)]
  return {
    schemaArray: { type: "array", minItems: 1, items: SCHEMA },
    [sizes]: { type: "integer", minimum: 0 },
    [`${sizes}Default0`]: size0,
    size,
    size0: version < 2019 ? named(`${sizes}Default0`) : size0,
    simpleTypes: TYPES,
    stringArray: { type: "array", items: TEXT, uniqueItems: true, ...(version === 4 ? { minItems: 1 } : {}) },
  }
}

const schemas = named("schemaArray")
const MAPS = ["definitions", "properties", "patternProperties"]
const SIZES = ["maxLength", "maxItems", "maxProperties"]
const SIZES0 = ["minLength", "minItems", "minProperties"]

/** Keywords that all drafts have. */
const validation = (): Shapes => ({
  ...each(["maximum", "minimum"], NUMBER),
  ...each(SIZES, named("size")),
  ...each(SIZES0, named("size0")),
  pattern: formatted("regex"),
  uniqueItems: BOOLEAN,
  required: named("stringArray"),
  type: ANY_TYPES,
})

const dependencies = mapOf({ anyOf: [SCHEMA, named("stringArray")] })

function draft4(): Shapes {
  return {
    type: "object",
    properties: {
      id: TEXT,
      $schema: formatted("uri"),
      ...each(["title", "description", "format", "$ref"], TEXT),
      multipleOf: { ...NUMBER, minimum: 0, exclusiveMinimum: true },
      ...validation(),
      ...each(["exclusiveMaximum", "exclusiveMinimum"], BOOLEAN),
      ...each(["additionalItems", "additionalProperties"], { anyOf: [BOOLEAN, SCHEMA] }),
      items: { anyOf: [SCHEMA, schemas] },
      ...each(MAPS, mapOf(SCHEMA)),
      dependencies,
      enum: { type: "array", minItems: 1, uniqueItems: true },
      ...each(["allOf", "anyOf", "oneOf"], schemas),
      not: SCHEMA,
    },
    dependencies: { exclusiveMaximum: ["maximum"], exclusiveMinimum: ["minimum"] },
  }
}

function draft6and7({ version }: Draft): Shapes {
  const isNewer = version === 7
  return {
    type: ["object", "boolean"],
    properties: {
      ...each(["$id", "$ref"], formatted("uri-reference")),
      $schema: formatted("uri"),
      ...each(["title", "description", "format"], TEXT),
      ...(isNewer ? each(["$comment", "contentMediaType", "contentEncoding"], TEXT) : {}),
      ...(isNewer ? each(["readOnly", "writeOnly"], BOOLEAN) : {}),
      examples: { type: "array" },
      multipleOf: { ...NUMBER, exclusiveMinimum: 0 },
      ...validation(),
      ...each(["exclusiveMaximum", "exclusiveMinimum"], NUMBER),
      ...each(["additionalItems", "contains", "additionalProperties", "propertyNames", "not"], SCHEMA),
      ...(isNewer ? each(["if", "then", "else"], SCHEMA) : {}),
      items: { anyOf: [SCHEMA, schemas] },
      ...each(MAPS, mapOf(SCHEMA)),
      ...(isNewer ? { patternProperties: { ...mapOf(SCHEMA), propertyNames: { format: "regex" } } } : {}),
      dependencies,
      enum: { type: "array", minItems: 1, uniqueItems: true },
      ...each(["allOf", "anyOf", "oneOf"], schemas),
    },
  }
}

/** The vocabularies of the newest drafts, in which each keyword is refused by the one that it belongs to. */
function vocabularies({ version }: Draft): Shapes {
  const is2020 = version === 2020
  const anchor = { ...TEXT, pattern: is2020 ? "^[A-Za-z_][-A-Za-z0-9._]*$" : "^[A-Za-z][-A-Za-z0-9.:_]*$" }
  const reference = formatted("uri-reference")
  const unevaluated = each(["unevaluatedItems", "unevaluatedProperties"], SCHEMA)
  const all: Readonly<Record<string, Shapes>> = {
    core: {
      $id: { ...reference, pattern: "^[^#]*#?$" },
      $schema: formatted("uri"),
      $ref: reference,
      $anchor: anchor,
      ...(is2020
        ? { $dynamicRef: reference, $dynamicAnchor: anchor }
        : { $recursiveRef: reference, $recursiveAnchor: BOOLEAN }),
      $vocabulary: { ...mapOf(BOOLEAN), propertyNames: formatted("uri") },
      $comment: TEXT,
      $defs: mapOf(SCHEMA),
    },
    applicator: {
      ...(is2020
        ? { prefixItems: schemas, items: SCHEMA }
        : { additionalItems: SCHEMA, items: { anyOf: [SCHEMA, schemas] }, ...unevaluated }),
      ...each(["contains", "additionalProperties", "propertyNames", "if", "then", "else", "not"], SCHEMA),
      ...each(["properties", "dependentSchemas"], mapOf(SCHEMA)),
      patternProperties: { ...mapOf(SCHEMA), propertyNames: { format: "regex" } },
      ...each(["allOf", "anyOf", "oneOf"], schemas),
    },
    ...(is2020 ? { unevaluated } : {}),
    validation: {
      multipleOf: { ...NUMBER, exclusiveMinimum: 0 },
      ...validation(),
      ...each(["exclusiveMaximum", "exclusiveMinimum"], NUMBER),
      ...each(["maxContains", "minContains"], named("size")),
      dependentRequired: mapOf(named("stringArray")),
      enum: { type: "array" },
    },
    "meta-data": {
      ...each(["title", "description"], TEXT),
      ...each(["deprecated", "readOnly", "writeOnly"], BOOLEAN),
      examples: { type: "array" },
    },
    format: { format: TEXT },
    content: { ...each(["contentMediaType", "contentEncoding"], TEXT), contentSchema: SCHEMA },
  }
  return {
    type: ["object", "boolean"],
    allOf: Object.keys(all).map((name) => ({ $ref: `#/$defs/${name}` })),
    properties: {
      definitions: mapOf(SCHEMA),
      dependencies,
      ...(is2020 ? { $recursiveAnchor: anchor, $recursiveRef: reference } : {}),
    },
    $defs: Object.fromEntries(
      Object.entries(all).map(([name, properties]) => [name, { type: ["object", "boolean"], properties }]),
    ),
  }
}

function metaschema(draft: Draft): SchemaDocument {
  const shape = draft.version === 4 ? draft4() : draft.version < 2019 ? draft6and7(draft) : vocabularies(draft)
  return new SchemaDocument(draft.url, { $schema: draft.url, ...shape, definitions: definitions(draft) })
}

const made = new Map<string, SchemaDocument>()

/** Returns the schema of a draft's schemas by its address; undefined for any other address. */
export function metaschemaAt(url: string): SchemaDocument | undefined {
  const draft = DRAFTS.find((one) => one.url === url)
  if (draft === undefined) return undefined
  const known = made.get(url) ?? metaschema(draft)
  made.set(url, known)
  return known
}
