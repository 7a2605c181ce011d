import { compareText } from "../../go-fmt/go-number.ts"
import { quoted } from "../../go-fmt/quote.ts"
import type { GroupVersionKind } from "../rest/rest-mapper.ts"
import { Formatter } from "./formatter.ts"

/** A definition of OpenAPI v2, as far as `explain` reads it. */
export interface Definition {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Definition>>
  readonly required?: readonly string[]
  readonly items?: Definition
  readonly additionalProperties?: Definition | boolean
  readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKind[]
}

export interface SwaggerDocument {
  readonly definitions?: Readonly<Record<string, Definition>>
}

/** What a definition is to a visitor. Source: kube-openapi pkg/util/proto. */
type Shape = "reference" | "kind" | "map" | "array" | "primitive" | "arbitrary"

function shapeOf({ $ref, type, properties }: Definition): Shape {
  if ($ref !== undefined) return "reference"
  if (properties !== undefined && (type === undefined || type === "object")) return "kind"
  if (type === undefined) return "arbitrary"
  return type === "object" ? "map" : type === "array" ? "array" : "primitive"
}

/** Anything: a list or a map that does not say of what. */
const ARBITRARY: Definition = {}

/** Source of the output: kubectl pkg/explain (model_printer.go, fields_printer.go, recursive_fields_printer.go). */
export class SwaggerExplanation {
  readonly #document: SwaggerDocument
  readonly #recursive: boolean

  constructor(document: SwaggerDocument, recursive: boolean) {
    this.#document = document
    this.#recursive = recursive
  }

  /** Returns the definition of a kind. */
  definitionOf(kind: GroupVersionKind): Definition | undefined {
    return Object.values(this.#document.definitions ?? {}).find((definition) =>
      definition["x-kubernetes-group-version-kind"]?.some(
        (each) => each.group === kind.group && each.version === kind.version && each.kind === kind.kind,
      ),
    )
  }

  /** Returns the description of a kind or of one of its fields. @throws Error when there is no such field */
  text(definition: Definition, fields: readonly string[], kind: GroupVersionKind): string {
    const out = new Formatter()
    this.#model(this.#lookUp(definition, fields), { name: fields.at(-1) ?? "", type: "", descriptions: [] }, kind, out)
    return out.text
  }

  #inner(definition: Definition): Definition {
    if (definition.$ref !== undefined)
      return this.#document.definitions?.[definition.$ref.replace("#/definitions/", "")] ?? ARBITRARY
    if (definition.type === "array") return definition.items ?? ARBITRARY
    return typeof definition.additionalProperties === "object" ? definition.additionalProperties : ARBITRARY
  }

  #lookUp(definition: Definition, fields: readonly string[]): Definition {
    const [name, ...rest] = fields
    const shape = shapeOf(definition)
    if (name === undefined || shape === "primitive" || shape === "arbitrary") return definition
    if (shape !== "kind") return this.#lookUp(this.#inner(definition), fields)
    if (!Object.hasOwn(definition.properties!, name)) throw new Error(`field ${quoted(name)} does not exist`)
    return this.#lookUp(definition.properties![name]!, rest)
  }

  #typeOf(definition: Definition): string {
    switch (shapeOf(definition)) {
      case "reference":
        return this.#typeOf(this.#inner(definition))
      case "kind":
        return "Object"
      case "map":
        return `map[string]${this.#typeOf(this.#inner(definition))}`
      case "array":
        return `[]${this.#typeOf(this.#inner(definition))}`
      case "primitive":
        return definition.type!
      case "arbitrary":
        return ""
    }
  }

  #model(
    definition: Definition,
    {
      name,
      type,
      descriptions,
    }: { readonly name: string; readonly type: string; readonly descriptions: readonly string[] },
    kind: GroupVersionKind,
    out: Formatter,
  ): void {
    const shape = shapeOf(definition)
    const all = [...descriptions, definition.description ?? ""]
    const known = type === "" && shape !== "reference" ? this.#typeOf(definition) : type
    if (shape === "reference" || shape === "map" || shape === "array")
      return this.#model(this.#inner(definition), { name, type: known, descriptions: all }, kind, out)
    out.write(`KIND:     ${kind.kind}`)
    out.write(`VERSION:  ${kind.group === "" ? kind.version : `${kind.group}/${kind.version}`}\n`)
    if (shape === "primitive") out.write(`FIELD:    ${name} <${known}>\n`)
    else if (shape === "kind" && name !== "") out.write(`RESOURCE: ${name} <${known}>\n`)
    printDescriptions(all, out)
    if (shape !== "kind") return
    out.write("\nFIELDS:")
    const fields = out.indented(3)
    if (this.#recursive) this.#recursiveFields(definition, new Set(), fields)
    else this.#fields(definition, fields)
  }

  #fields(definition: Definition, out: Formatter): void {
    for (const [name, field] of sortedFields(definition)) {
      out.write(`${name}\t<${this.#typeOf(field)}>${definition.required?.includes(name) === true ? " -required-" : ""}`)
      out.indented(2).writeWrapped(field.description ?? "")
      out.write("")
    }
  }

  #recursiveFields(definition: Definition, seen: ReadonlySet<string>, out: Formatter): void {
    const { $ref } = definition
    switch (shapeOf(definition)) {
      case "reference":
        if (!seen.has($ref!)) this.#recursiveFields(this.#inner(definition), new Set([...seen, $ref!]), out)
        return
      case "map":
      case "array":
        return this.#recursiveFields(this.#inner(definition), seen, out)
      case "kind":
        for (const [name, field] of sortedFields(definition)) {
          out.write(`${name}\t<${this.#typeOf(field)}>`)
          this.#recursiveFields(field, seen, out.indented(3))
        }
        return
      case "primitive":
      case "arbitrary":
        return
    }
  }
}

const sortedFields = ({ properties = {} }: Definition): readonly (readonly [string, Definition])[] =>
  Object.entries(properties).sort(([a], [b]) => compareText(a, b))

function printDescriptions(descriptions: readonly string[], out: Formatter): void {
  out.write("DESCRIPTION:")
  const text = out.indented(5)
  for (const [i, description] of descriptions.entries()) {
    if (description === "") continue
    if (i !== 0) out.write("")
    text.writeWrapped(description)
  }
  if (descriptions.every((description) => description === "")) text.writeWrapped("<empty>")
}
