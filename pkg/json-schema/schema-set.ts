import { pushAll } from "../lists/push-all.ts"
import { quoted } from "../go-fmt/quote.ts"
import { errorMessage } from "../errors/error-message.ts"
import { PatternBudget, sizeFault, sizeOfPattern } from "../re2/limits.ts"
import { compileRe2 } from "../re2/re2.ts"
import { isMap, subschemasOf } from "./drafts.ts"
import { metaschemaAt } from "./metaschemas.ts"
import { asFragment, pointerOf } from "./pointer.ts"
import { SchemaDocument, type SchemaNode } from "./schema-document.ts"

export interface Pattern {
  /** Whether it is found anywhere in a text, in time that is linear in the text's length. */
  test(text: string): boolean
}

/** Where a keyword that refers to a schema leads. */
export interface Target {
  readonly node: SchemaNode
  /** The name in `$dynamicRef`, if there is one. */
  readonly anchor: string | undefined
}

const REFERENCES = ["$ref", "$recursiveRef", "$dynamicRef"] as const
export type ReferenceKeyword = (typeof REFERENCES)[number]

const SINCE: Readonly<Record<ReferenceKeyword, number>> = { $ref: 4, $recursiveRef: 2019, $dynamicRef: 2020 }

/**
 * The schemas that a schema leads to, with their references and patterns resolved. Differs from upstream: nothing is
 * read or fetched. A schema at another address, other than those of the drafts themselves, allows everything.
 */
export class SchemaSet {
  readonly #targets = new Map<unknown, Map<ReferenceKeyword, Target>>()
  readonly #patterns = new Map<string, Pattern>()
  readonly #budget = new PatternBudget()
  readonly #validate: (node: SchemaNode) => void
  /** Whether any schema has a keyword that depends on what others have looked at. */
  usesUnevaluated = false

  /**
   * `validate` throws where a schema is none by its draft.
   * @throws Error where a reference leads nowhere, or a pattern cannot be compiled
   */
  constructor(root: SchemaNode, validate: (node: SchemaNode) => void) {
    this.#validate = validate
    const open = [root]
    const seen = new Set<unknown>()
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (!isMap(node.schema) || seen.has(node.schema)) continue
      seen.add(node.schema)
      pushAll(open, this.#prepare(node, node.schema))
    }
  }

  /** Where a keyword of a schema leads; undefined where the schema has no such keyword. */
  target(schema: unknown, keyword: ReferenceKeyword): Target | undefined {
    return this.#targets.get(schema)?.get(keyword)
  }

  /** Compiles a pattern, once. @throws Error in Go's words */
  pattern(source: string): Pattern {
    const known = this.#patterns.get(source)
    if (known !== undefined) return known
    const fault = sizeFault(source)
    if (fault !== undefined) throw new Error(fault)
    if (!this.#budget.takes(source, sizeOfPattern(source))) throw new Error("the patterns of the schema are too large")
    const made = compileRe2(source)
    this.#patterns.set(source, made)
    return made
  }

  #prepare(node: SchemaNode, schema: Readonly<Record<string, unknown>>): readonly SchemaNode[] {
    const { draft } = node.resource
    const targets = new Map<ReferenceKeyword, Target>()
    this.#targets.set(schema, targets)
    for (const keyword of REFERENCES) {
      const reference = schema[keyword]
      if (typeof reference === "string" && draft.version >= SINCE[keyword])
        targets.set(keyword, this.#resolve(node, reference))
    }
    const found = [...targets.values()].map((target) => target.node)
    if (draft.version < 2019 && targets.size > 0) return found
    const { pattern, patternProperties } = schema
    const place = (steps: readonly string[]) =>
      quoted(`${node.document.url}#${asFragment(pointerOf([...node.steps, ...steps]))}`)
    const compile = (source: string, keyword: string) => {
      try {
        this.pattern(source)
      } catch (err) {
        throw new Error(`invalid regex ${quoted(source)} at ${place([keyword])}: ${errorMessage(err)}`, { cause: err })
      }
    }
    if (typeof pattern === "string") compile(pattern, "pattern")
    if (isMap(patternProperties)) for (const key of Object.keys(patternProperties)) compile(key, "patternProperties")
    this.usesUnevaluated ||= "unevaluatedItems" in schema || "unevaluatedProperties" in schema
    const inside = subschemasOf(schema, draft).filter(
      ([[keyword = ""]]) => keyword !== "definitions" && keyword !== "$defs",
    )
    return [...found, ...inside.map(([steps, value]) => node.document.nodeOf(value, node, ...steps))]
  }

  #resolve(node: SchemaNode, reference: string): Target {
    let url: URL
    try {
      url = new URL(reference, node.resource.url)
    } catch {
      throw new Error(`error in parsing ${quoted(reference)}: it is no address`)
    }
    const [address = ""] = url.href.split("#")
    const fragment = decoded(url.hash.slice(1), reference)
    const anchor = fragment === "" || fragment.startsWith("/") ? undefined : fragment
    const resource = node.document.resourceOf(address)
    if (resource !== undefined) {
      const found = node.document.resolve(fragment, resource)
      if (found.isNew) this.#validate(found.node)
      return { node: found.node, anchor }
    }
    const meta = metaschemaAt(address)
    if (meta !== undefined) return { node: meta.resolve(fragment).node, anchor }
    if (url.protocol === "file:")
      throw new Error(`failing loading ${quoted(address)}: open ${url.pathname}: no such file or directory`)
    return { node: new SchemaDocument(address, true, node.document.draft).root, anchor }
  }
}

function decoded(fragment: string, reference: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    throw new Error(`error in parsing ${quoted(reference)}: invalid URL escape`)
  }
}
