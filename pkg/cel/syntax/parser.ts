import { Double, intOf, LARGEST_INT, LARGEST_UINT, SMALLEST_INT, Uint } from "../values/values.ts"
import type { Value } from "../values/values.ts"
import type { Expr, ListExpr, MapEntry, StructField } from "./ast.ts"
import type { Issues } from "./issue.ts"
import { tokens, type Token } from "./lexer.ts"
import { expandMacro, MacroError, MOST_COPIES, type Copies, type Macro } from "./macros.ts"
import { Stop, TokenReader } from "./token-reader.ts"
import { unescapeBytes, unescapeString } from "./unescape.ts"

/** The most characters of an expression. Source: cel-go parser/options.go. */
const LONGEST = 100_000

const EXPRESSION_START =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

const ARGUMENT_START = EXPRESSION_START.replace("'(',", "'(', ')',")
const INDEX_START = EXPRESSION_START.replace("'!',", "'!', '?',")

const RESERVED: ReadonlySet<string> = new Set(
  "as break const continue else false for function if import in let loop package namespace null return true var void while".split(
    " ",
  ),
)

const RELATIONS: Readonly<Record<string, string>> = {
  "<": "_<_",
  "<=": "_<=_",
  ">": "_>_",
  ">=": "_>=_",
  "==": "_==_",
  "!=": "_!=_",
  in: "@in",
}
const SUMS: Readonly<Record<string, string>> = { "+": "_+_", "-": "_-_" }
const PRODUCTS: Readonly<Record<string, string>> = { "*": "_*_", "/": "_/_", "%": "_%_" }

/**
 * Parses an expression and expands its macros. Faults are reported with the messages of the ANTLR parser that upstream
 * uses. Returns undefined after any fault.
 */
export function parse(source: string, macros: ReadonlyMap<string, Macro>, issues: Issues): Expr | undefined {
  const size = Array.from(source).length
  if (size > LONGEST) {
    issues.report(undefined, `expression code point size exceeds limit: size: ${size}, limit ${LONGEST}`)
    return undefined
  }
  try {
    const expression = new Parser(tokens(source, issues), source, macros, issues).whole()
    return issues.count === 0 ? expression : undefined
  } catch (err) {
    if (err instanceof Stop) return undefined
    throw err
  }
}

class Parser extends TokenReader {
  readonly #source: string
  readonly #macros: ReadonlyMap<string, Macro>
  readonly #copies: Copies = { left: MOST_COPIES }
  #depth = 0
  /** The tokens that may follow, as a message names them; at first those that begin an expression. */
  #expecting = EXPRESSION_START

  constructor(list: readonly Token[], source: string, macros: ReadonlyMap<string, Macro>, issues: Issues) {
    super(list, issues)
    this.#source = source
    this.#macros = macros
  }

  whole(): Expr {
    const expression = this.#expression()
    if (this.token.kind !== "EOF") {
      const last = this.tokens[this.at + 1]?.kind === "EOF"
      this.syntax(`${last ? "extraneous" : "mismatched"} input '${this.token.text}' expecting <EOF>`)
    }
    return expression
  }

  /** Skips the faulty tokens; null takes the place of the faulty expression. */
  #recover(): Expr {
    this.resume()
    return this.#literal(this.token.offset, null)
  }

  #expression(): Expr {
    this.deeper(++this.#depth)
    const condition = this.#logical("||", "_||_", () => this.#logical("&&", "_&&_", () => this.#relation()))
    const operator = this.take("?")
    let result = condition
    if (operator !== undefined) {
      const yes = this.#logical("||", "_||_", () => this.#logical("&&", "_&&_", () => this.#relation()))
      this.expect(":")
      result = this.#call(operator.offset, "_?_:_", [condition, yes, this.#expression()])
    }
    this.#depth--
    return result
  }

  /** Parses `a && b && c` as one call with all its terms. */
  #logical(sign: string, name: string, next: () => Expr): Expr {
    const terms = [next()]
    let offset = 0
    for (let operator = this.take(sign); operator !== undefined; operator = this.take(sign)) {
      offset = operator.offset
      terms.push(next())
    }
    return terms.length === 1 ? terms[0]! : { kind: "call", offset, function: name, target: undefined, args: terms }
  }

  #relation(): Expr {
    return this.#chain(RELATIONS, () => this.#chain(SUMS, () => this.#chain(PRODUCTS, () => this.#unary())))
  }

  #chain(operators: Readonly<Record<string, string>>, next: () => Expr): Expr {
    let left = next()
    for (let length = 1; ; length++) {
      const token = this.token
      const name = token.kind === "punctuation" ? operators[token.text] : undefined
      if (name === undefined) return left
      this.deeper(length + this.#depth)
      this.at++
      this.recovering = false
      left = this.#call(token.offset, name, [left, next()])
    }
  }

  #unary(): Expr {
    const first = this.token
    for (const [sign, name] of [
      ["!", "!_"],
      ["-", "-_"],
    ] as const) {
      if (!this.is(sign)) continue
      const after = this.tokens[this.at + 1]!
      if (sign === "-" && (after.kind === "NUM_INT" || after.kind === "NUM_FLOAT")) return this.#member()
      let count = 0
      while (this.take(sign) !== undefined) count++
      const operand = this.#member()
      return count % 2 === 0 ? operand : this.#call(first.offset, name, [operand])
    }
    return this.#member()
  }

  #member(): Expr {
    let operand = this.#primary()
    for (let length = 1; ; length++) {
      this.deeper(length + this.#depth)
      const dot = this.take(".")
      if (dot !== undefined) {
        operand = this.#selection(operand, dot)
        continue
      }
      const bracket = this.take("[")
      if (bracket === undefined) return operand
      const optional = this.take("?") !== undefined
      if (!optional) this.#expecting = INDEX_START
      const index = this.#expression()
      this.expect("]")
      operand = this.#call(bracket.offset, optional ? "_[?_]" : "_[_]", [operand, index])
    }
  }

  #selection(operand: Expr, dot: Token): Expr {
    const optional = this.take("?") !== undefined
    const token = this.token
    if (token.kind !== "IDENTIFIER" && token.kind !== "ESC_IDENTIFIER") {
      const end = token.kind === "EOF" ? this.#source.length : token.offset + token.text.length
      this.syntaxFault(
        /^(true|false|null)$/.test(token.text)
          ? `mismatched input '${token.text}' expecting IDENTIFIER`
          : `no viable alternative at input '${this.#source.slice(dot.offset, end)}'`,
      )
      return this.#recover()
    }
    this.at++
    if (token.kind === "ESC_IDENTIFIER") this.report(token.offset, "unsupported syntax: '`'")
    const open = optional || token.kind !== "IDENTIFIER" ? undefined : this.take("(")
    if (open !== undefined) return this.#call(open.offset, token.text, this.#arguments(), operand)
    if (!optional) return { kind: "select", offset: dot.offset, operand, field: token.text, testOnly: false }
    const field: Expr = { kind: "literal", offset: token.offset, value: token.text }
    return this.#call(dot.offset, "_?._", [operand, field])
  }

  /** Parses the arguments of a call after its opening bracket. */
  #arguments(): readonly Expr[] {
    const args: Expr[] = []
    if (this.take(")") !== undefined) return args
    this.#expecting = ARGUMENT_START
    do args.push(this.#expression())
    while (this.take(",") !== undefined)
    this.expect(")")
    return args
  }

  #primary(): Expr {
    const token = this.token
    if (startsExpression(token)) {
      this.#expecting = EXPRESSION_START
      this.recovering = false
    }
    switch (token.kind) {
      case "NUM_INT":
      case "NUM_UINT":
      case "NUM_FLOAT":
        this.at++
        return this.#number(token, "")
      case "STRING":
      case "BYTES":
        this.at++
        return this.#string(token)
      case "IDENTIFIER":
        return this.#name(undefined)
      case "punctuation":
        break
      case "ESC_IDENTIFIER":
      case "EOF":
        return this.#noExpression()
    }
    switch (token.text) {
      case "-": {
        const next = this.tokens[this.at + 1]
        if (next?.kind !== "NUM_INT" && next?.kind !== "NUM_FLOAT") return this.#noExpression()
        this.at += 2
        return this.#number(this.tokens[this.at - 1]!, "-", token.offset)
      }
      case ".":
        if (this.tokens[this.at + 1]?.kind !== "IDENTIFIER") return this.#noExpression()
        this.at++
        return this.#name(token)
      case "(": {
        this.at++
        const inner = this.#expression()
        this.expect(")")
        return inner
      }
      case "[":
        return this.#list()
      case "{":
        return this.#map()
      case "true":
      case "false":
      case "null":
        this.at++
        return this.#literal(token.offset, token.text === "null" ? null : token.text === "true")
      default:
        return this.#noExpression()
    }
  }

  #noExpression(): Expr {
    const { text, offset } = this.token
    const next = this.tokens[this.at + 1]
    const canClose = this.#expecting === ARGUMENT_START && next?.text === ")"
    if (next === undefined || !(canClose || startsExpression(next))) {
      this.syntaxFault(`mismatched input '${text}' expecting ${this.#expecting}`)
      return this.#recover()
    }
    this.report(offset, `Syntax error: extraneous input '${text}' expecting ${this.#expecting}`)
    if (canClose) throw new Stop()
    this.at++
    return this.#primary()
  }

  #literal(offset: number, value: Value): Expr {
    return { kind: "literal", offset, value }
  }

  #number(token: Token, sign: string, offset = token.offset): Expr {
    if (token.kind === "NUM_FLOAT") {
      const value = Number(sign + token.text)
      if (!Number.isFinite(value)) this.report(offset, "invalid double literal")
      return this.#literal(offset, new Double(value))
    }
    if (token.kind === "NUM_UINT") {
      const value = BigInt(token.text.slice(0, -1))
      if (value > LARGEST_UINT) this.report(offset, "invalid uint literal")
      return this.#literal(offset, new Uint(value))
    }
    const value = BigInt(token.text) * (sign === "-" ? -1n : 1n)
    if (value > LARGEST_INT || value < SMALLEST_INT) this.report(offset, "invalid int literal")
    return this.#literal(offset, intOf(value))
  }

  #string(token: Token): Expr {
    const read = token.kind === "BYTES" ? unescapeBytes(bytesBody(token.text)) : unescapeString(token.text)
    if ("fault" in read) {
      this.report(token.offset, read.fault)
      return this.#literal(token.offset, "")
    }
    return this.#literal(token.offset, "text" in read ? read.text : read.bytes)
  }

  /** Parses a name, a call of a global function, or an object: `a`, `a(…)`, `a.B{…}`. */
  #name(dot: Token | undefined): Expr {
    const token = this.token
    this.at++
    const name = (dot === undefined ? "" : ".") + token.text
    const open = this.take("(")
    if (open !== undefined) {
      const args = this.#arguments()
      if (RESERVED.has(token.text)) this.report(dot?.offset ?? token.offset, `reserved identifier: ${token.text}`)
      return this.#call(open.offset, name, args)
    }
    const message = this.#messageName(name)
    if (message !== undefined) return this.#struct(message)
    if (RESERVED.has(token.text)) this.report(dot?.offset ?? token.offset, `reserved identifier: ${token.text}`)
    return { kind: "ident", offset: token.offset, name }
  }

  /** Returns the full name before a brace; undefined, without reading tokens, when no brace follows. */
  #messageName(first: string): string | undefined {
    let name = first
    let at = this.at
    const isSign = (text: string) => this.tokens[at]?.kind === "punctuation" && this.tokens[at]?.text === text
    while (isSign(".") && this.tokens[at + 1]?.kind === "IDENTIFIER") {
      name += `.${this.tokens[at + 1]!.text}`
      at += 2
    }
    if (!isSign("{")) return undefined
    this.at = at
    return name
  }

  #struct(name: string): Expr {
    const { offset } = this.expect("{")
    const fields: StructField[] = []
    while (!this.is("}")) {
      const optional = this.take("?") !== undefined
      const token = this.token
      if (token.kind !== "IDENTIFIER") {
        if (token.kind === "ESC_IDENTIFIER") this.report(token.offset, "unsupported syntax: '`'")
        else this.syntax(`mismatched input '${token.text}' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}`)
      }
      this.at++
      const colon = this.expect(":")
      fields.push({ offset: colon.offset, name: token.text, value: this.#expression(), optional })
      if (this.take(",") === undefined) break
    }
    this.expect("}")
    return { kind: "struct", offset, name, fields }
  }

  #list(): ListExpr {
    const { offset } = this.expect("[")
    const elements: Expr[] = []
    const optional = new Set<number>()
    while (!this.is("]")) {
      if (elements.length === 0 && this.take(",") !== undefined) break
      if (this.take("?") !== undefined) optional.add(elements.length)
      elements.push(this.#expression())
      if (this.take(",") === undefined) break
    }
    this.close("]")
    return { kind: "list", offset, elements, optional }
  }

  #map(): Expr {
    const { offset } = this.expect("{")
    const entries: MapEntry[] = []
    while (!this.is("}")) {
      if (entries.length === 0 && this.take(",") !== undefined) break
      const optional = this.take("?") !== undefined
      const key = this.#expression()
      const colon = this.expect(":")
      entries.push({ offset: colon.offset, key, value: this.#expression(), optional })
      if (this.take(",") === undefined) break
    }
    this.close("}")
    return { kind: "map", offset, entries }
  }

  #call(offset: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    try {
      const expanded = expandMacro(this.#macros, { name, target, args, offset }, this.#copies)
      if (expanded !== undefined) return expanded
    } catch (err) {
      if (!(err instanceof MacroError)) throw err
      this.report(err.offset, err.message)
      return this.#literal(offset, null)
    }
    return { kind: "call", offset, function: name, target, args }
  }
}

/** Returns a bytes token without its `b`; the `r` of a raw literal may be before or after it. */
const bytesBody = (text: string): string => text.replace(/^([rR]?)[bB]/, "$1")

const startsExpression = ({ kind, text }: Token): boolean =>
  kind === "punctuation"
    ? /^(\[|\{|\(|\.|-|!|true|false|null)$/.test(text)
    : kind !== "EOF" && kind !== "ESC_IDENTIFIER"
