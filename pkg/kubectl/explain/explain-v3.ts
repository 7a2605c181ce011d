import { compareText, goFloat, sortedEntries } from "../../go-fmt/go-number.ts"
import { sprint } from "../../go-fmt/sprintf.ts"
import { gvrText, type GroupVersionKind, type GroupVersionResource } from "../rest/rest-mapper.ts"
import type { OpenApiDocument } from "../rest/openapi.ts"
import { filled, resolved, typeGuess, valuesOf, type Schema } from "./schema.ts"
import { indented, wordWrap } from "./word-wrap.ts"

/** Source of the output: kubectl pkg/explain/v2/templates/plaintext.tmpl. */
export class Explanation {
  readonly #document: OpenApiDocument
  readonly #recursive: boolean

  constructor(document: OpenApiDocument, recursive: boolean) {
    this.#document = document
    this.#recursive = recursive
  }

  /** Returns the kind of a resource, which its operations name. @throws Error when the document does not have it */
  kindOf(resource: GroupVersionResource): GroupVersionKind {
    const { group, version } = resource
    const prefix = `${group === "" ? "/api" : `/apis/${group}`}/${version}`
    const names = [prefix, `${prefix}/namespaces/{namespace}`].flatMap((path) => [
      `${path}/${resource.resource}`,
      `${path}/${resource.resource}/{name}`,
    ])
    let kind: GroupVersionKind | undefined
    for (const name of names) {
      const operations = this.#document.paths?.[name] ?? {}
      for (const method of ["get", "post", "put", "patch", "delete"]) {
        const operation = operations[method]
        if (operation === undefined) continue
        kind = operation["x-kubernetes-group-version-kind"]
        if (kind !== undefined) break
      }
    }
    if (kind === undefined) throw new Error(`error: GVR (${gvrText(resource)}) not found in OpenAPI schema`)
    return kind
  }

  /** Returns what stands above the description. */
  head({ group, kind, version }: GroupVersionKind): string {
    return `${group === "" ? "" : `GROUP:      ${group}\n`}KIND:       ${kind}\nVERSION:    ${version}\n\n`
  }

  /** Returns the description of a kind or of one of its fields. @throws Error when there is no such kind or field */
  body(kind: GroupVersionKind, fields: readonly string[]): string {
    const schemas = sortedEntries(this.#document.components?.schemas ?? {}) as readonly (readonly [
      string,
      KindSchema,
    ])[]
    const schema = schemas.find(([, each]) => (each["x-kubernetes-group-version-kind"] ?? []).some(isSameAs(kind)))?.[1]
    if (schema === undefined) throw new Error(`error: GVK ${sprint([kind])} not found in OpenAPI schema`)
    const text = this.#output(schema, fields, new Set())
    if (text === "") throw new Error(`error: field "${fields.at(-1)!}" does not exist`)
    return `${text}\n`
  }

  /** Follows the fields, and describes the last one; empty where a field does not exist. */
  #output(schema: Schema, fields: readonly string[], seen: ReadonlySet<string>): string {
    const target = resolved(schema, this.#document)
    const [name, ...rest] = fields
    if (name === undefined) return this.#described(target)
    const ref = schema.$ref ?? ""
    if (seen.has(ref)) return ""
    const next = ref === "" ? seen : new Set([...seen, ref])
    const field = Object.hasOwn(target.properties ?? {}, name) ? filled(target.properties![name]) : undefined
    if (field !== undefined) {
      const head = rest.length > 0 ? "" : `FIELD: ${name} <${typeGuess(field, this.#document)}>\n${longEnum(field)}\n\n`
      return head + this.#output(field, rest, new Set())
    }
    const inner = filled(target.items) ?? valuesOf(target)
    if (inner !== undefined) return this.#output(inner, fields, next)
    for (const each of target.allOf ?? []) {
      const text = this.#output(each, fields, next)
      if (text !== "") return text
    }
    return ""
  }

  #described(schema: Schema): string {
    const description = this.#description(schema)
    const fields = this.#fieldList(schema, 1, new Set())
    return (
      `DESCRIPTION:\n${indented(wordWrap(description === "" ? "<empty>" : description, 76), 4)}\n` +
      (filled(schema.externalDocs) === undefined ? "" : `\n${externalDocs(schema, 0)}`) +
      (fields === "" ? "" : `FIELDS:\n${fields}`)
    )
  }

  /** Returns the descriptions of a schema and of all that it consists of. */
  #description(schema: Schema): string {
    const target = filled(resolved(schema, this.#document))
    if (target === undefined) return ""
    const own = (target.description ?? "") === "" ? "" : `${target.description}\n`
    const parts = [...(target.allOf ?? []), filled(target.items), valuesOf(target)]
    return own + parts.map((part) => (part === undefined ? "" : this.#description(part))).join("")
  }

  #fieldList(schema: Schema, level: number, seen: ReadonlySet<string>): string {
    const ref = schema.$ref ?? ""
    if (ref !== "" && seen.has(ref)) return ""
    const next = ref === "" ? seen : new Set([...seen, ref])
    const target = resolved(schema, this.#document)
    let text = ""
    for (const [name, field] of Object.entries(target.properties ?? {}).sort(([a], [b]) => compareText(a, b))) {
      text += this.#field(name, target, level * 2)
      if (this.#recursive) text += this.#fieldList(field, level + 1, next)
    }
    for (const part of [...(target.allOf ?? []), filled(target.items), valuesOf(target)])
      if (part !== undefined) text += this.#fieldList(part, level, next)
    return text
  }

  #field(name: string, { properties, required = [] }: Schema, indent: number): string {
    const schema = properties![name]!
    const isRequired = required.includes(name) ? " -required-" : ""
    const type = typeGuess(schema, this.#document)
    const line = `${indented(name, indent)}\t<${type}>${isRequired}${shortEnum(schema, indent)}\n`
    if (this.#recursive) return line
    const description = (schema.description ?? "") === "" ? "<no description>" : schema.description!
    const docs = filled(schema.externalDocs) === undefined ? "" : `\n${externalDocs(schema, indent + 2, 76 - indent)}`
    return `${line}${indented(wordWrap(description, 78 - indent), indent + 2)}\n${docs}\n`
  }
}

type KindSchema = Schema & { readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKind[] }

const isSameAs = (kind: GroupVersionKind) => (other: GroupVersionKind) =>
  other.group === kind.group && other.version === kind.version && other.kind === kind.kind

function externalDocs({ externalDocs: docs = {} }: Schema, indent: number, width = 76): string {
  const { description = "", url = "" } = docs
  return (
    `${indented("EXTERNAL DOCS:", indent)}\n` +
    (description === "" ? "" : `${indented(wordWrap(description, width), indent === 0 ? 4 : indent + 2)}\n`) +
    (url === "" ? "" : `${indented(`URL: ${url}`, indent === 0 ? 4 : indent + 2)}\n`)
  )
}

/** How many values of an enum stand in a list of fields. */
const MOST_VALUES = 4

function shortEnum(schema: Schema, indent: number): string {
  const values = schema.enum ?? []
  if (values.length === 0) return ""
  const more = values.length > MOST_VALUES ? ", ...." : ""
  return `\n${" ".repeat(indent)}enum: ${values.slice(0, MOST_VALUES).map(valueText).join(", ")}${more}`
}

function longEnum(schema: Schema): string {
  const values = schema.enum ?? []
  return values.length === 0 ? "" : `ENUM:${values.map((value) => `\n    ${valueText(value)}`).join("")}`
}

/** Numbers of the document are floats to Go. */
const valueText = (value: unknown): string =>
  value === "" ? '""' : value === null ? "<no value>" : sprint([typeof value === "number" ? goFloat(value) : value])
