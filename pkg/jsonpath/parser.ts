import { goFloat, goInt } from "../go-fmt/go-number.ts"
import { INVALID_SYNTAX, isPrintable, unescaped } from "../go-fmt/quote.ts"
import { pushAll } from "../lists/push-all.ts"
import { JsonPathError } from "./jsonpath-error.ts"
import type { ArrayNode, JsonPathNode, ListNode } from "./node.ts"

/** Parses a template, in which expressions stand in braces. @throws JsonPathError */
export const parseJsonPath = (text: string): ListNode => new Parser(text).parse()

/** Parses what stands in a part of an expression. */
function parseAction(text: string): ListNode {
  const [first] = parseJsonPath(`{${text}}`).nodes
  return first as ListNode
}

const TERMINATOR = /[ \t\r\n.,[\]$@{}]/
const WORD = /^[\p{L}\p{Nd}_]$/u
const DIGIT = /^\p{Nd}$/u

const fail = (message: string): never => {
  throw new JsonPathError(message)
}

/** Source: client-go util/jsonpath/parser.go. */
class Parser {
  readonly #text: string
  readonly #root: ListNode = { kind: "list", nodes: [] }
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  parse(): ListNode {
    for (;;) {
      const open = this.#text.indexOf("{", this.#at)
      const end = open === -1 ? this.#text.length : open
      if (end > this.#at) this.#root.nodes.push({ kind: "text", text: this.#text.slice(this.#at, end) })
      if (open === -1) return this.#root
      this.#at = open + 1
      const list: ListNode = { kind: "list", nodes: [] }
      this.#root.nodes.push(list)
      this.#action(list.nodes)
    }
  }

  /** Returns the next character and passes it; the empty text at the end. */
  #next(): string {
    const code = this.#text.codePointAt(this.#at)
    if (code === undefined) return ""
    const sign = String.fromCodePoint(code)
    this.#at += sign.length
    return sign
  }

  /** Parses an expression to its closing brace. */
  #action(nodes: JsonPathNode[]): void {
    for (;;) {
      const start = this.#at
      if (this.#text.startsWith("[?(", start)) {
        this.#at += 3
        nodes.push(this.#filter())
        continue
      }
      if (this.#text.startsWith("..", start)) {
        this.#recursive(nodes)
        continue
      }
      const sign = this.#next()
      if (sign === "}") return
      if (sign === "" || sign === "\r" || sign === "\n") fail("unclosed action")
      // The object itself needs no node.
      if (sign === " " || sign === "@" || sign === "$") continue
      if (sign === "[") pushAll(nodes, this.#array())
      else if (sign === '"' || sign === "'") nodes.push(this.#quoted(sign))
      else if (sign === ".") nodes.push(this.#field())
      else if (sign === "+" || sign === "-" || DIGIT.test(sign)) nodes.push(this.#number(start))
      else if (WORD.test(sign)) nodes.push(this.#identifier(start))
      else fail(`unrecognized character in action: ${shownCharacter(sign)}`)
    }
  }

  #recursive(nodes: JsonPathNode[]): void {
    if (nodes.at(-1)?.kind === "recursive") fail("invalid multiple recursive descent")
    this.#at += 2
    nodes.push({ kind: "recursive" })
    const code = this.#text.codePointAt(this.#at)
    if (code !== undefined && WORD.test(String.fromCodePoint(code))) nodes.push(this.#field())
  }

  #identifier(start: number): JsonPathNode {
    while (this.#at < this.#text.length && !TERMINATOR.test(this.#text[this.#at]!)) this.#at++
    const name = this.#text.slice(start, this.#at)
    return name === "true" || name === "false"
      ? { kind: "constant", value: name === "true" }
      : { kind: "identifier", name }
  }

  #number(start: number): JsonPathNode {
    const pattern = /[-+]?[.\p{Nd}]*/uy
    pattern.lastIndex = start
    pattern.test(this.#text)
    this.#at = pattern.lastIndex
    const text = this.#text.slice(start, this.#at)
    if (/^[-+]?[0-9]+$/.test(text)) {
      const value = BigInt(text.replace("+", ""))
      if (BigInt.asIntN(64, value) === value) return { kind: "constant", value: goInt(value) }
    }
    if (/^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$/.test(text) && Number.isFinite(Number(text)))
      return { kind: "constant", value: goFloat(Number(text)) }
    return fail(`cannot parse number ${text}`)
  }

  #field(): JsonPathNode {
    const start = this.#at
    while (this.#at < this.#text.length) {
      const sign = this.#text[this.#at]!
      if (sign === "\\") this.#at += this.#at + 1 < this.#text.length ? 2 : 1
      else if (TERMINATOR.test(sign)) break
      else this.#at++
    }
    const name = this.#text.slice(start, this.#at)
    return name === "*" ? { kind: "wildcard" } : { kind: "field", name: name.replaceAll("\\", "") }
  }

  #quoted(quote: '"' | "'"): JsonPathNode {
    const start = this.#at - 1
    for (;;) {
      const sign = this.#next()
      if (sign === "" || sign === "\n") fail("unterminated quoted string")
      if (sign === quote && this.#text[this.#at - 2] !== "\\") break
    }
    const source = this.#text.slice(start, this.#at)
    const text = source.length < 2 ? undefined : unescaped(source.slice(1, -1), quote)
    return { kind: "text", text: text ?? fail(`unquote string ${source} error ${INVALID_SYNTAX}`) }
  }

  #array(): readonly JsonPathNode[] {
    const start = this.#at
    for (let sign = this.#next(); sign !== "]"; sign = this.#next())
      if (sign === "" || sign === "\n") fail("unterminated array")
    const text = this.#text.slice(start, this.#at - 1)
    const parts = text.split(",")
    if (parts.length > 1)
      return [{ kind: "union", lists: parts.map((part) => parseAction(`[${part.replace(/^ +| +$/g, "")}]`)) }]
    const key = /^'([^']*)'$/.exec(text)?.[1]
    return key === undefined ? [sliceOf(text === "*" ? ":" : text)] : parseAction(`.${key}`).nodes
  }

  #filter(): JsonPathNode {
    const start = this.#at
    let [begins, ends] = [false, false]
    let pair = ""
    for (;;) {
      const sign = this.#next()
      if (sign === "" || sign === "\n") fail("unterminated filter")
      if (sign === '"' || sign === "'") {
        if (!begins) {
          begins = true
          pair = sign
        } else if (this.#text[this.#at - 2] !== "\\" && sign === pair) ends = true
      } else if (sign === ")" && begins === ends) break
    }
    if (this.#next() !== "]") fail("unclosed array expect ]")
    const text = this.#text.slice(start, this.#at - 2)
    const [, left, operator, right] = /^([^!<>=]+)([!<>=]+)(.+?)$/.exec(text) ?? []
    if (left === undefined || operator === undefined || right === undefined)
      return { kind: "filter", left: parseAction(text), right: { kind: "list", nodes: [] }, operator: "exists" }
    return { kind: "filter", left: parseAction(left), right: parseAction(right), operator }
  }
}

function sliceOf(text: string): ArrayNode {
  const match = /^(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?$/.exec(text)
  if (match === null) return fail(`invalid array index ${text}`)
  const [, first = "", second = "", third = ""] = match
  const start = indexOf(first)
  const isEndDerived = second === ""
  return {
    kind: "array",
    start,
    end: isEndDerived ? (start ?? 0) + 1 : indexOf(second.slice(1)),
    isEndDerived,
    step: indexOf(third.slice(1)),
  }
}

function indexOf(text: string): number | undefined {
  if (text === "") return undefined
  const isNumber = /^-?[0-9]+$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)
  return isNumber ? Number(text) : fail(`array index ${text} is not a number`)
}

function shownCharacter(sign: string): string {
  const code = sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")
  return `U+${code}${isPrintable(sign) ? ` '${sign}'` : ""}`
}
