import { createHash } from "node:crypto"

/** An OpenAPI v2 document. */
export interface Document {
  readonly paths: Readonly<Record<string, unknown>>
  readonly definitions: Readonly<Record<string, unknown>>
  readonly parameters?: Readonly<Record<string, unknown>>
}

/**
 * Returns a short hash for each path and definition of a document, of all that clients work with: descriptions do not
 * count, the order of parameters, enums and required fields neither, and parameters that a document keeps apart are put
 * where they are used.
 */
export function digestOf(document: Document, ...left: readonly string[]): ReadonlyMap<string, string> {
  const digest = new Map<string, string>()
  for (const part of ["paths", "definitions"] as const)
    for (const [name, value] of Object.entries(document[part])) {
      const text = JSON.stringify(plain(value, document, new Set(left)))
      digest.set(name, createHash("sha256").update(text).digest("hex").slice(0, 8))
    }
  return digest
}

/** The documents of OpenAPI v3 by their path below `/openapi/v3`. */
export type DocumentsV3 = Readonly<
  Record<string, { readonly paths: Document["paths"]; readonly components?: { readonly schemas?: Document["paths"] } }>
>

/** The same of documents of v3: what is in a document has its path before its name. */
export function digestOfV3(documents: DocumentsV3): ReadonlyMap<string, string> {
  const digest = new Map<string, string>()
  for (const [root, { paths, components }] of Object.entries(documents))
    for (const [name, hash] of digestOf({ paths, definitions: components?.schemas ?? {} }))
      digest.set(`${root}:${name}`, hash)
  return digest
}

const UNORDERED: readonly string[] = ["parameters", "required", "enum"]
/** Kinds of every group tell of all groups that a server knows, served or not. */
const OF_EVERY_GROUP = 10
const PARAMETER = "#/parameters/"

function plain(value: unknown, document: Document, left: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => plain(item, document, left))
  if (typeof value !== "object" || value === null) return value
  const { $ref } = value as { readonly $ref?: unknown }
  if (typeof $ref === "string" && $ref.startsWith(PARAMETER))
    return plain(document.parameters?.[$ref.slice(PARAMETER.length)], document, left)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !left.has(name) && !(name === "description" && typeof inner === "string"))
      .filter(([, inner]) => !(Array.isArray(inner) && inner.length > OF_EVERY_GROUP && isKind(inner[0])))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => {
        const made = plain(inner, document, left)
        return [
          name,
          UNORDERED.includes(name) && Array.isArray(made) ? made.map((item) => JSON.stringify(item)).sort() : made,
        ]
      }),
  )
}

const isKind = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "group" in value && "kind" in value
