import type { FieldSpec, Type, Message } from "../../pkg/apimachinery/field-spec.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"

/**
 * The types of Kubernetes' kinds as interfaces, written from their declarations. tsc would write the inferred type of
 * each kind in place, the whole pod within every workload: 5 MB. Here each struct has its name and its documentation.
 */

/** What `typesOfKinds` returns. `names` are the types that the text exports. */
export interface KindTypes {
  readonly text: string
  readonly names: ReadonlySet<string>
}

/**
 * Returns a module of declarations with a type and a value of each kind, and the types of all that they contain.
 * `others` are further structs that it must have, as they are read and as they are sent.
 */
export function typesOfKinds(
  kinds: ReadonlyMap<string, Resource>,
  others: readonly Message[],
  header: string,
): KindTypes {
  const writer = new TypeWriter(kinds)
  const text = [
    header,
    ...[...kinds].map(([name, kind]) => writer.kind(name, kind)),
    ...others.map((message) => writer.bothSides(message)),
    ...writer.structs(),
  ].join("\n")
  return { text, names: writer.exported }
}

const TYPES = {
  string: "string",
  bool: "boolean",
  int32: "number",
  int64: "number",
  double: "number",
  bytes: "string",
  quantity: "string",
  intOrString: "number | string",
  time: "string",
  microTime: "string",
  duration: "string",
  json: "unknown",
  rawExtension: "unknown",
  fieldsV1: "unknown",
} as const

/** A text of more possible values, such as a signal of Linux, is a string: nobody reads a list of 60. */
const MOST_LITERALS = 20

type Side = "read" | "sent"

class TypeWriter {
  readonly exported = new Set<string>()
  readonly #kinds: ReadonlyMap<string, Resource>
  /** By the name of the message: the metadata of an object and that of a template are one type. */
  readonly #names = new Map<string, string>()
  /** In the order of their names' first use. */
  readonly #texts = new Map<string, string>()
  readonly #differs = new Map<Message, boolean>()

  constructor(kinds: ReadonlyMap<string, Resource>) {
    this.#kinds = kinds
    for (const name of kinds.keys()) this.exported.add(name)
  }

  /** Has a struct in both forms; returns the type of what is sent where that has no text of its own. */
  bothSides(message: Message): string {
    const name = this.#struct(message, "read")
    if (this.#struct(message, "sent") !== name) return ""
    this.exported.add(`${name}Input`)
    return `/** What may be sent of {@link ${name}}. */\nexport type ${name}Input = ${name}\n`
  }

  kind(name: string, { schema, doc }: Resource): string {
    this.exported.add(`${name}Input`)
    return `${comment(doc)}export interface ${name} extends KubeObject ${this.#fields(schema, "read")}
/** What may be sent of {@link ${name}}. */
export interface ${name}Input extends KubeObjectInput ${this.#fields(schema, "sent")}
${comment(doc)}export declare const ${name}: Resource<${name}, ${name}Input>
`
  }

  structs(): string[] {
    return [...this.#texts.keys()].sort().map((name) => this.#texts.get(name) ?? "")
  }

  #struct(message: Message, side: Side): string {
    const bare = this.#nameOf(message)
    const name = side === "sent" && this.#sentDiffers(message) ? `${bare}Input` : bare
    if (this.#texts.has(name)) return name
    this.#texts.set(name, "") // a struct may contain itself
    this.exported.add(name)
    const doc = name === bare ? message.doc : `What may be sent of {@link ${bare}}.`
    this.#texts.set(name, `${comment(doc)}export interface ${name} ${this.#fields(message, side)}\n`)
    return name
  }

  /** Whether a field that is always there when it is read may be left out when it is sent, at any depth. */
  #sentDiffers(message: Message): boolean {
    const known = this.#differs.get(message)
    if (known !== undefined) return known
    this.#differs.set(message, false) // in a circle the other fields decide
    const differs = Object.values(message.fields).some(({ spec }) => {
      if (isAlwaysRead(spec) && spec.presence !== "required") return true
      const inner = messageIn(spec.type)
      return inner !== undefined && this.#sentDiffers(inner)
    })
    this.#differs.set(message, differs)
    return differs
  }

  #fields(message: Message, side: Side): string {
    const lines = Object.entries(message.fields).map(([name, { spec }]) => {
      const isThere = side === "read" ? isAlwaysRead(spec) : spec.presence === "required"
      const type = `${this.#type(spec.type, side, spec.enum)}${spec.orNull === true ? " | null" : ""}`
      return `${comment(spec.doc, "  ")}  readonly ${property(name)}${isThere ? `: ${type}` : `?: ${type} | undefined`}\n`
    })
    return `{\n${lines.join("")}}`
  }

  #type(type: Type, side: Side, values?: readonly string[]): string {
    if (type.kind === "message") return this.#struct(type.message(), side)
    if (type.kind === "map") return `{ readonly [key: string]: ${this.#item(type.of, side)} }`
    if (type.kind === "list") {
      const items = this.#item(type.of, side, values)
      return `readonly ${/^[\w{]+$/.test(items) ? items : `(${items})`}[]`
    }
    return values === undefined || values.length > MOST_LITERALS
      ? TYPES[type.kind]
      : values.map((value) => JSON.stringify(value)).join(" | ")
  }

  /** A time in a list or a map may be null, which stands for Go's zero. */
  #item(type: Type, side: Side, values?: readonly string[]): string {
    return `${this.#type(type, side, values)}${type.kind === "time" ? " | null" : ""}`
  }

  /**
   * The last part of its OpenAPI name; before it that of its group, where another struct has this name; `…Fields` for
   * the fields of a kind that stand in another object.
   */
  #nameOf(message: Message): string {
    const known = this.#names.get(message.name)
    if (known !== undefined) return known
    const parts = message.name.split(".")
    const short = parts.at(-1) ?? ""
    const group = parts.at(-3) ?? ""
    const taken = new Set([...this.#kinds.keys(), ...this.#names.values()])
    const candidates = [short, `${group.slice(0, 1).toUpperCase()}${group.slice(1)}${short}`, `${short}Fields`]
    const isEmbedded = [...this.#kinds.values()].some(({ schema }) => schema.name === message.name)
    const name = (isEmbedded ? candidates.slice(2) : candidates).find((one) => !taken.has(one))
    if (name === undefined)
      throw new Error(`${message.name}: no name is left for its type among ${candidates.join(", ")}`)
    this.#names.set(message.name, name)
    return name
  }
}

/** Whether a decoded object always has the field. */
const isAlwaysRead = ({ presence, printZero }: FieldSpec): boolean => presence !== "optional" || printZero === true

const messageIn = (type: Type): Message | undefined =>
  type.kind === "message" ? type.message() : "of" in type ? messageIn(type.of) : undefined

const comment = (doc: string, indent = ""): string =>
  doc === "" ? "" : `${indent}/** ${doc.replaceAll("*/", "* /")} */\n`

/** Returns the name of a property as TypeScript writes it: `"x-kubernetes-map-type"`, which is no identifier. */
const property = (name: string): string => (/^[\w$]+$/.test(name) ? name : JSON.stringify(name))
