import { bytesOf } from "../go-fmt/go-bytes.ts"
import { goJson } from "../go-fmt/go-json.ts"
import { goTypeOf, isGoMap, sortedEntries, TypedNumber } from "../go-fmt/go-number.ts"
import { sprint } from "../go-fmt/sprintf.ts"
import { pushAll } from "../lists/push-all.ts"
import { comparison } from "./compare.ts"
import { JsonPathError } from "./jsonpath-error.ts"
import type { ArrayNode, FilterNode, JsonPathNode, ListNode } from "./node.ts"
import { parseJsonPath } from "./parser.ts"

/** Values found; undefined is Go's invalid value, the content of an absent one. With them, what ended the search. */
interface Found {
  readonly values: readonly unknown[]
  readonly error?: string
}

/**
 * A template of kubectl's JSONPath: `{.metadata.name}`, `{range .items[*]}{.kind}{"\n"}{end}`. The values of objects
 * under a wildcard come in the order of their keys; Go returns them in any order.
 */
export class JsonPath {
  readonly #allowMissingKeys: boolean
  readonly #outputJson: boolean
  /**
   * What is evaluated next. A template that had a `range` begins inside of it when it
   * is executed again, as client-go's does.
   */
  #nodes: readonly JsonPathNode[]
  #beginRange = 0
  #inRange = 0
  #endRange = 0
  #lastEnd: JsonPathNode | undefined

  /** Parses a template. @throws JsonPathError with client-go's message */
  constructor(
    text: string,
    {
      allowMissingKeys = false,
      outputJson = false,
    }: { readonly allowMissingKeys?: boolean; readonly outputJson?: boolean } = {},
  ) {
    this.#nodes = parseJsonPath(text).nodes
    this.#allowMissingKeys = allowMissingKeys
    this.#outputJson = outputJson
  }

  /** Returns the output for a value. @throws JsonPathError with client-go's message */
  execute(data: unknown): string {
    return this.findResults(data)
      .map((values) => this.#printed(values))
      .join("")
  }

  /** Returns the values that each part of the template finds. @throws JsonPathError with client-go's message */
  findResults(data: unknown): readonly (readonly unknown[])[] {
    // An object without a value is nothing at all in Go.
    const root = [data ?? undefined]
    const nodes = this.#nodes
    const all: (readonly unknown[])[] = []
    for (let i = 0; i < nodes.length; i++) {
      const { values, error } = this.#walk(root, nodes[i]!)
      if (error !== undefined) throw new JsonPathError(error)
      if (this.#endRange > 0 && this.#endRange <= this.#inRange) {
        this.#endRange--
        this.#lastEnd = nodes[i]
        break
      }
      if (this.#beginRange === 0) {
        all.push(values)
        continue
      }
      this.#beginRange--
      this.#inRange++
      const body = nodes.slice(i + 1)
      // A range without values is passed through too, so that its end is found.
      for (const value of values.length === 0 ? [undefined] : values) {
        this.#nodes = body
        const results = this.findResults(value)
        if (values.length > 0) pushAll(all, results)
      }
      this.#inRange--
      const end = this.#lastEnd === undefined ? -1 : nodes.indexOf(this.#lastEnd, i + 1)
      if (end !== -1) i = end
    }
    return all
  }

  #printed(values: readonly unknown[]): string {
    if (this.#outputJson) return `${goJson(values, { indent: "    " })}\n`
    return values.map(shown).join(" ")
  }

  #walk(input: readonly unknown[], node: JsonPathNode): Found {
    switch (node.kind) {
      case "list":
        return this.#list(input, node)
      case "text":
        return { values: [node.text] }
      case "constant":
        return { values: input.map(() => node.value) }
      case "identifier":
        return this.#identifier(input, node.name)
      case "field":
        return this.#field(input, node.name)
      case "array":
        return sliced(input, node)
      case "filter":
        return this.#filter(input, node)
      case "wildcard":
        return { values: input.flatMap((value) => childrenOf(value)) }
      case "recursive":
        return { values: descendants(input) }
      case "union":
        return this.#union(input, node.lists)
    }
  }

  #list(input: readonly unknown[], { nodes }: ListNode): Found {
    let found: Found = { values: input }
    for (const node of nodes) {
      found = this.#walk(found.values, node)
      if (found.error !== undefined) return found
    }
    return found
  }

  #identifier(input: readonly unknown[], name: string): Found {
    if (name === "range") {
      this.#beginRange++
      return { values: input }
    }
    if (name !== "end") return { values: input, error: `unrecognized identifier ${name}` }
    if (this.#inRange === 0) return { values: [], error: "not in range, nothing to end" }
    this.#endRange++
    return { values: [] }
  }

  #field(input: readonly unknown[], name: string): Found {
    if (input.length === 0) return { values: [] }
    const values = input.flatMap((value) =>
      isGoMap(value) && Object.hasOwn(value, name) && value[name] !== undefined ? [value[name]] : [],
    )
    return values.length > 0 || this.#allowMissingKeys ? { values } : { values, error: `${name} is not found` }
  }

  #union(input: readonly unknown[], lists: readonly ListNode[]): Found {
    const values: unknown[] = []
    for (const list of lists) {
      const found = this.#list(input, list)
      if (found.error !== undefined) return { values: input, error: found.error }
      pushAll(values, found.values)
    }
    return { values }
  }

  #filter(input: readonly unknown[], node: FilterNode): Found {
    const values: unknown[] = []
    for (const list of input) {
      if (!Array.isArray(list))
        return { values: input, error: `${shownWhole(list)} is not array or slice and cannot be filtered` }
      for (const item of list as readonly unknown[]) {
        const { isKept, error, isTypeError = false } = this.#passes(item, node)
        if (error !== undefined) return { values: isTypeError ? values : input, error }
        if (isKept) values.push(item)
      }
    }
    return { values }
  }

  #passes(
    item: unknown,
    { left, right, operator }: FilterNode,
  ): { readonly isKept: boolean; readonly error?: string; readonly isTypeError?: boolean } {
    const lefts = this.#list([item], left)
    if (operator === "exists") return { isKept: lefts.values.length > 0 }
    if (lefts.error !== undefined) return { isKept: false, error: lefts.error }
    if (lefts.values.length === 0) return { isKept: false }
    if (lefts.values.length > 1) return { isKept: false, error: TOO_MANY }
    const rights = this.#list([item], right)
    if (rights.error !== undefined) return { isKept: false, error: rights.error }
    if (rights.values.length === 0) return { isKept: false }
    if (rights.values.length > 1) return { isKept: false, error: TOO_MANY }
    try {
      return { isKept: comparison(operator, lefts.values[0], rights.values[0]) }
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error
      return { isKept: false, error: error.message, isTypeError: true }
    }
  }
}

const TOO_MANY = "can only compare one element at a time"

function sliced(input: readonly unknown[], node: ArrayNode): Found {
  const values: unknown[] = []
  const fail = (error: string): Found => ({ values: input, error })
  for (const list of input) {
    if (list === null) continue
    if (list === undefined) return fail("reflect: call of reflect.Value.Type on zero Value")
    if (!Array.isArray(list)) return fail(`${goTypeOf(list)} is not array or slice`)
    const { length } = list
    let { start = 0, end = length } = node
    if (start < 0) start += length
    if (end < 0 || (end === 0 && node.isEndDerived)) end += length
    // Nothing is asked for, wherever that is; the rest of the input is left out, too.
    if (start === end) return { values }
    if (start >= length || start < 0) return fail(`array index out of bounds: index ${start}, length ${length}`)
    if (end > length || end < 0) return fail(`array index out of bounds: index ${end - 1}, length ${length}`)
    if (start > end) return fail(`starting index ${start} is greater than ending index ${end}`)
    const step = node.step ?? 1
    if (step <= 0) return fail("step must be > 0")
    for (let i = start; i < end; i += step) values.push(list[i])
  }
  return { values }
}

/** Returns what is in a map, list or text: of a text its bytes. */
function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (typeof value === "string")
    return Array.from(bytesOf(value), (byte) => new TypedNumber({ type: "uint8", value: BigInt(byte) }))
  return isGoMap(value) ? sortedEntries(value).map(([, child]) => child) : []
}

/** Returns all maps, lists and texts in values that are not empty, themselves included. */
const descendants = (input: readonly unknown[]): readonly unknown[] =>
  input.flatMap((value) => {
    const children = typeof value === "string" ? [] : childrenOf(value)
    if (children.length === 0 && (typeof value !== "string" || value === "")) return []
    return [value, ...descendants(children)]
  })

/** Returns a value as the output shows it. */
function shown(value: unknown): string {
  if (value === undefined) return "<no value>"
  if (value === null) return "null"
  return Array.isArray(value) || isGoMap(value) ? goJson(value) : sprint([value])
}

const shownWhole = (value: unknown): string => (value === undefined ? "<invalid reflect.Value>" : sprint([value]))
