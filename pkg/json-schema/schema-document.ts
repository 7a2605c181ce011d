import { quoted } from "../go-fmt/quote.ts"
import { draftOf, isMap, NEWEST, subschemasOf, type Draft, type JsonMap } from "./drafts.ts"
import { asFragment, follow, pointerOf, stepsOf } from "./pointer.ts"

/** A part of a document that has an address of its own: the whole, and each schema with an id. */
export interface Resource {
  readonly url: string
  readonly steps: readonly string[]
  readonly draft: Draft
  /** The schemas that have a name in it. */
  readonly anchors: Map<string, SchemaNode>
  /** Those of them that schemas which refer to this one can replace. */
  readonly dynamic: Set<string>
  readonly isRecursive: boolean
}

/** One schema in a document. */
export interface SchemaNode {
  readonly document: SchemaDocument
  readonly schema: unknown
  readonly steps: readonly string[]
  readonly resource: Resource
}

/** Returns the address of a schema, as messages have it. */
export const addressOf = ({ document, steps }: SchemaNode): string => `${document.url}#${asFragment(pointerOf(steps))}`

/** A JSON document with all the schemas in it. */
export class SchemaDocument {
  readonly url: string
  readonly root: SchemaNode
  readonly #whole: unknown
  readonly #nodes = new Map<unknown, SchemaNode>()
  readonly #resources: Resource[] = []

  /** `draft` is for a document without `$schema`. @throws Error where two schemas have one address or name */
  constructor(url: string, whole: unknown, draft: Draft = NEWEST) {
    this.url = url
    this.#whole = whole
    const resource = this.#resourceAt([], isMap(whole) ? whole : {}, { url, draft })!
    this.root = { document: this, schema: whole, steps: [], resource }
    this.#collect(this.root)
  }

  get draft(): Draft {
    return this.root.resource.draft
  }

  /** Returns the schema that a value of the document is, with the steps from another one to it. */
  nodeOf(schema: unknown, from: SchemaNode, ...steps: readonly string[]): SchemaNode {
    // True and false have no place of their own.
    return this.#nodes.get(schema) ?? { ...from, schema, steps: [...from.steps, ...steps] }
  }

  /** Returns the resource with an address; undefined for one outside of this document. */
  resourceOf(url: string): Resource | undefined {
    return url === this.url ? this.root.resource : this.#resources.find((one) => one.url === url)
  }

  /**
   * Returns the schema that the fragment of an address leads to. `isNew` where no keyword of the draft leads to it, and
   * nothing has resolved it before. @throws Error where there is none
   */
  resolve(
    fragment: string,
    resource: Resource = this.root.resource,
  ): { readonly node: SchemaNode; readonly isNew: boolean } {
    if (fragment !== "" && !fragment.startsWith("/")) {
      const named = resource.anchors.get(fragment)
      if (named !== undefined) return { node: named, isNew: false }
      const reference = quoted(`${resource.url}#${asFragment(fragment)}`)
      throw new Error(`anchor in ${reference} not found in schema ${quoted(this.url)}`)
    }
    const address = () => quoted(`${this.url}#${asFragment(pointerOf(resource.steps) + fragment)}`)
    const further = stepsOf(fragment)
    if (further === undefined) throw new Error(`invalid json-pointer ${address()}`)
    const steps = [...resource.steps, ...further]
    const found = follow(this.#whole, steps)
    if (found === undefined) throw new Error(`json-pointer in ${address()} not found`)
    const known = this.#nodes.get(found[0])
    if (known !== undefined) return { node: known, isNew: false }
    const node = { document: this, schema: found[0], steps, resource: this.#around(steps) }
    this.#collect(node)
    return { node: this.nodeOf(found[0], node), isNew: typeof found[0] !== "boolean" }
  }

  /** The innermost resource that a place is in. */
  #around(steps: readonly string[]): Resource {
    const above = this.#resources.filter((one) => one.steps.every((step, i) => step === steps[i]))
    return above.reduce((a, b) => (b.steps.length > a.steps.length ? b : a))
  }

  #collect(first: SchemaNode): void {
    const open = [first]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      const { schema, steps } = node
      if (!isMap(schema) || this.#nodes.has(schema)) continue
      const resource = steps.length === 0 ? undefined : this.#resourceAt(steps, schema, node.resource)
      const own = resource === undefined ? node : { ...node, resource }
      this.#nodes.set(schema, own)
      this.#name(own, schema)
      for (const [further, value] of subschemasOf(schema, own.resource.draft).toReversed())
        open.push({ document: this, schema: value, steps: [...steps, ...further], resource: own.resource })
    }
  }
  /** Adds the resource that a schema is, if it has an address of its own. */
  #resourceAt(
    steps: readonly string[],
    schema: JsonMap,
    around: { readonly url: string; readonly draft: Draft },
  ): Resource | undefined {
    const place = pointerOf(steps)
    const named = schema["$schema"]
    const written = (typeof named === "string" ? draftOf(named) : undefined) ?? around.draft
    const isRoot = steps.length === 0
    const own = idOf(schema, written)
    const id = own === "" && !isRoot ? idOf(schema, around.draft) : own
    if (id === "" && !isRoot) return undefined
    let { url } = around
    if (id !== "")
      try {
        url = new URL(id, around.url).href
      } catch {
        throw new Error(`error in parsing id at ${quoted(`${this.url}#${asFragment(place)}`)}`)
      }
    const twin = this.#resources.find((one) => one.url === url)
    if (twin !== undefined) {
      const places = `${quoted(place)} and ${quoted(pointerOf(twin.steps))}`
      throw new Error(`duplicate id ${quoted(url)} in ${quoted(this.url)} at ${places}`)
    }
    const resource: Resource = {
      url,
      steps,
      draft: own === "" && !isRoot ? around.draft : written,
      anchors: new Map(),
      dynamic: new Set(),
      isRecursive: schema["$recursiveAnchor"] === true,
    }
    this.#resources.push(resource)
    return resource
  }

  /** Notes the names that a schema has in its resource. */
  #name(node: SchemaNode, schema: JsonMap): void {
    const { anchors, dynamic, draft } = node.resource
    const add = (name: unknown): void => {
      if (typeof name !== "string" || name === "") return
      const other = anchors.get(name)
      if (other !== undefined && other !== node) {
        const places = `${quoted(pointerOf(other.steps))} and ${quoted(pointerOf(node.steps))}`
        throw new Error(`duplicate anchor ${quoted(name)} in ${quoted(this.url)} at ${places}`)
      }
      anchors.set(name, node)
    }
    if (draft.version < 2019) {
      const id = schema[draft.id]
      if (typeof id === "string" && !Object.hasOwn(schema, "$ref")) add(id.split("#")[1])
      return
    }
    add(schema["$anchor"])
    if (draft.version < 2020) return
    const name = schema["$dynamicAnchor"]
    add(name)
    if (typeof name === "string") dynamic.add(name)
  }
}

/** Returns the address that a schema gives itself, without a fragment. */
function idOf(schema: JsonMap, { version, id }: Draft): string {
  // Beside a reference all else is ignored.
  if (version < 2019 && Object.hasOwn(schema, "$ref")) return ""
  const value = schema[id]
  return typeof value === "string" ? value.split("#")[0]! : ""
}
