/** A version of JSON Schema. */
export interface Draft {
  readonly version: 4 | 6 | 7 | 2019 | 2020
  /** The address of its metaschema, without a fragment. */
  readonly url: string
  /** The keyword that gives a schema its address. */
  readonly id: "id" | "$id"
}

const draft = (version: Draft["version"], url: string): Draft => ({ version, url, id: version === 4 ? "id" : "$id" })

export const DRAFTS: readonly Draft[] = [
  draft(4, "http://json-schema.org/draft-04/schema"),
  draft(6, "http://json-schema.org/draft-06/schema"),
  draft(7, "http://json-schema.org/draft-07/schema"),
  draft(2019, "https://json-schema.org/draft/2019-09/schema"),
  draft(2020, "https://json-schema.org/draft/2020-12/schema"),
]

/** What a schema without `$schema` is written in. */
export const NEWEST = DRAFTS.at(-1)!

/** Returns the draft that `$schema` names by either protocol; undefined for another metaschema. */
export function draftOf(schema: string): Draft | undefined {
  const [url = "", fragment = ""] = schema.split("#")
  if (fragment !== "") return undefined
  const plain = url.replace(/^https?:\/\//, "")
  if (plain === "json-schema.org/schema") return NEWEST
  return DRAFTS.find((one) => one.url.replace(/^https?:\/\//, "") === plain)
}

/** Keywords whose value is a schema, a list of them, or a map of them, and the first draft that has them. */
const SUBSCHEMAS: readonly (readonly [
  keyword: string,
  holds: "schema" | "list" | "map" | "schema or list",
  since: number,
])[] = [
  ["definitions", "map", 4],
  ["not", "schema", 4],
  ["allOf", "list", 4],
  ["anyOf", "list", 4],
  ["oneOf", "list", 4],
  ["properties", "map", 4],
  ["additionalProperties", "schema", 4],
  ["patternProperties", "map", 4],
  ["items", "schema or list", 4],
  ["additionalItems", "schema", 4],
  ["dependencies", "map", 4],
  ["propertyNames", "schema", 6],
  ["contains", "schema", 6],
  ["if", "schema", 7],
  ["then", "schema", 7],
  ["else", "schema", 7],
  ["$defs", "map", 2019],
  ["dependentSchemas", "map", 2019],
  ["unevaluatedProperties", "schema", 2019],
  ["unevaluatedItems", "schema", 2019],
  ["prefixItems", "list", 2020],
]

export type JsonMap = Readonly<Record<string, unknown>>

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === "object" && value !== null && !Array.isArray(value)

type Subschema = readonly [steps: readonly string[], schema: unknown]

/** Returns the schemas that stand in a schema, with the steps to them. */
export function subschemasOf(schema: JsonMap, { version }: Draft): readonly Subschema[] {
  return SUBSCHEMAS.flatMap(([keyword, holds, since]): readonly Subschema[] => {
    if (since > version || !Object.hasOwn(schema, keyword)) return []
    const value = schema[keyword]
    if (Array.isArray(value))
      return holds === "list" || holds === "schema or list"
        ? value.map((item: unknown, i) => [[keyword, String(i)], item] as const)
        : []
    if (!isMap(value)) return []
    return holds === "map"
      ? Object.entries(value).map(([name, item]) => [[keyword, name], item] as const)
      : holds === "list"
        ? []
        : [[[keyword], value] as const]
  })
}
