import type { MergeSchema } from "./merge-schema.ts"

type Json = Readonly<Record<string, unknown>>

const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {}
const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** The types of an OpenAPI v2 document that a kustomization brings. Source: kyaml openapi/openapi.go. */
export class OpenApiDocument {
  readonly #definitions: Json
  readonly #kinds = new Map<string, string>()
  readonly #namespaced = new Map<string, boolean>()

  readonly #others: (name: string) => MergeSchema | undefined

  /** `others` returns types that the document refers to, but does not have. */
  constructor(document: unknown, others: (name: string) => MergeSchema | undefined) {
    this.#others = others
    this.#definitions = objectOf(objectOf(document)["definitions"])
    for (const [name, definition] of Object.entries(this.#definitions)) {
      const types = objectOf(definition)[GVK]
      if (Array.isArray(types)) for (const type of types) this.#kinds.set(typeText(type), name)
    }
    for (const [path, item] of Object.entries(objectOf(objectOf(document)["paths"]))) {
      const gvk = objectOf(objectOf(item)["get"])[GVK]
      if (gvk === undefined) continue
      const type = typeText(gvk)
      if (path.includes("namespaces/{namespace}")) this.#namespaced.set(type, true)
      else if (!this.#namespaced.has(type)) this.#namespaced.set(type, false)
    }
  }

  /** Returns whether a kind, `<apiVersion>/<kind>`, is in namespaces; undefined for an unknown kind. */
  isNamespaced(type: string): boolean | undefined {
    return this.#namespaced.get(type)
  }

  schemaOf(apiVersion: string, kind: string): MergeSchema | undefined {
    const name = this.#kinds.get(`${apiVersion}/${kind}`)
    return name === undefined ? undefined : this.#schema(this.#definitions[name])
  }

  #schema(declared: unknown): MergeSchema | undefined {
    let schema = objectOf(declared)
    for (let depth = 0; textOf(schema["$ref"]) !== ""; depth++) {
      const name = textOf(schema["$ref"]).replace("#/definitions/", "")
      if (depth > MOST_REFERENCES) return undefined
      if (!Object.hasOwn(this.#definitions, name)) return this.#others(name)
      schema = objectOf(this.#definitions[name])
    }
    const properties = objectOf(schema["properties"])
    const additional = schema["additionalProperties"]
    const items = schema["type"] === "array" ? schema["items"] : undefined
    const schemaFrom = (type: unknown) => (type === undefined ? undefined : this.#schema(type))
    return {
      keys: mergeKeysOf(schema),
      // Computed when asked for, since types may contain themselves.
      get items() {
        return schemaFrom(items)
      },
      field: (name) =>
        schemaFrom(
          Object.hasOwn(properties, name) ? properties[name] : typeof additional === "object" ? additional : undefined,
        ),
    }
  }
}

const GVK = "x-kubernetes-group-version-kind"
const MOST_REFERENCES = 100

function typeText(gvk: unknown): string {
  const { group, version, kind } = objectOf(gvk)
  return `${textOf(group) === "" ? "" : `${textOf(group)}/`}${textOf(version)}/${textOf(kind)}`
}

function mergeKeysOf(schema: Json): readonly string[] | undefined {
  if (!textOf(schema["x-kubernetes-patch-strategy"]).split(",").includes("merge")) return undefined
  const keys = schema["x-kubernetes-list-map-keys"]
  if (Array.isArray(keys)) return keys.map(String)
  const key = textOf(schema["x-kubernetes-patch-merge-key"])
  return key === "" ? [] : [key]
}
