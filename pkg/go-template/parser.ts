import { quoted, INVALID_SYNTAX, unquoted } from "../go-fmt/quote.ts"
import { Lexer, shownToken, type Token, type TokenKind } from "./lexer.ts"
import type { CommandNode, ControlNode, Node, Operand, PipeNode, TemplateNode } from "./node.ts"
import { shownNode } from "./node.ts"
import { numberConstant } from "./number-constant.ts"
import { TemplateError } from "./template-error.ts"

/** The templates of a text by their names: the text itself, and what `define` and `block` declare in it. */
export type Templates = ReadonlyMap<string, readonly Node[]>

/** Parses a template. `name` stands in error messages. @throws TemplateError */
export function parseTemplate(name: string, text: string, isFunction: (name: string) => boolean): Templates {
  const shared: Shared = { name, lexer: new Lexer(text), isFunction, templates: new Map() }
  new Parser(shared, name).parseAll()
  return shared.templates
}

interface Shared {
  readonly name: string
  readonly lexer: Lexer
  readonly isFunction: (name: string) => boolean
  readonly templates: Map<string, readonly Node[]>
}

const MOST_PARENS = 10_000

/** What ends a list of nodes. */
type End = { readonly kind: "end" | "else"; readonly at: number }
type ListedNode = Node | End

const isEnd = (node: ListedNode): node is End => node.kind === "end" || node.kind === "else"

/** Parses one template: that of the whole text, or that of a `define` or `block`. Source: Go text/template/parse. */
class Parser {
  readonly #shared: Shared
  #name: string
  /** The last tokens: how many of them are to be read again says `#peeked`. */
  readonly #tokens: [Token, Token, Token]
  #peeked = 0
  #variables = ["$"]
  #ranges = 0
  #parens = 0
  /** Where the action begins that is being parsed. */
  #action: number | undefined

  constructor(shared: Shared, name: string) {
    this.#shared = shared
    this.#name = name
    const none: Token = { kind: "eof", at: -1, text: "" }
    this.#tokens = [none, none, none]
  }

  parseAll(): void {
    const list: Node[] = []
    for (let token = this.#peek(); token.kind !== "eof"; token = this.#peek()) {
      if (token.kind === "leftDelim") {
        this.#next()
        if (this.#nextNonSpace().kind === "define") {
          new Parser(this.#shared, "definition").parseDefinition()
          continue
        }
        this.#backupTwo(token)
      }
      const node = this.#textOrAction()
      if (isEnd(node)) this.#fail(`unexpected {{${node.kind}}}`)
      list.push(node)
    }
    this.#add(list)
  }

  parseDefinition(): void {
    const context = "define clause"
    const token = this.#nextNonSpace()
    if (token.kind !== "string" && token.kind !== "rawString") this.#unexpected(token, context)
    this.#name = this.#unquoted(token.text)
    this.#expect("rightDelim", context)
    const [list, end] = this.#itemList()
    if (end.kind !== "end") this.#fail(`unexpected {{${end.kind}}} in ${context}`)
    this.#add(list)
  }

  #add(list: readonly Node[]): void {
    const before = this.#shared.templates.get(this.#name)
    if (before === undefined || isEmpty(before)) this.#shared.templates.set(this.#name, list)
    else if (!isEmpty(list)) this.#fail(`template: multiple definition of template ${quoted(this.#name)}`)
  }

  #next(): Token {
    if (this.#peeked > 0) this.#peeked--
    else this.#tokens[0] = this.#shared.lexer.next()
    return this.#tokens[this.#peeked]!
  }

  #peek(): Token {
    if (this.#peeked > 0) return this.#tokens[this.#peeked - 1]!
    this.#peeked = 1
    this.#tokens[0] = this.#shared.lexer.next()
    return this.#tokens[0]
  }

  #backupTwo(first: Token): void {
    this.#tokens[1] = first
    this.#peeked = 2
  }

  #backupThree(first: Token, second: Token): void {
    this.#tokens[1] = second
    this.#tokens[2] = first
    this.#peeked = 3
  }

  #nextNonSpace(): Token {
    let token = this.#next()
    while (token.kind === "space") token = this.#next()
    return token
  }

  #peekNonSpace(): Token {
    const token = this.#nextNonSpace()
    this.#peeked++
    return token
  }

  #expect(kind: TokenKind, context: string): Token {
    const token = this.#nextNonSpace()
    if (token.kind !== kind) this.#unexpected(token, context)
    return token
  }

  #lineOf(at: number): number {
    let line = at < 0 ? 0 : 1
    for (let i = this.#shared.lexer.text.indexOf("\n"); i !== -1 && i < at; line++)
      i = this.#shared.lexer.text.indexOf("\n", i + 1)
    return line
  }

  #fail(message: string): never {
    throw new TemplateError(`template: ${this.#shared.name}:${this.#lineOf(this.#tokens[0].at)}: ${message}`)
  }

  #unexpected(token: Token, context: string): never {
    if (token.kind !== "error") this.#fail(`unexpected ${shownToken(token)} in ${context}`)
    const started = this.#action === undefined ? 0 : this.#lineOf(this.#action)
    if (started === 0 || started === this.#lineOf(token.at)) this.#fail(token.text)
    const where = `started at ${this.#shared.name}:${started}`
    this.#fail(`${token.text} ${token.text.endsWith(" action") ? where : `in action ${where}`}`)
  }

  #unquoted(source: string): string {
    return unquoted(source) ?? this.#fail(INVALID_SYNTAX)
  }

  /** Parses to the next `end` or `else`. */
  #itemList(): readonly [readonly Node[], End] {
    const list: Node[] = []
    while (this.#peekNonSpace().kind !== "eof") {
      const node = this.#textOrAction()
      if (isEnd(node)) return [list, node]
      list.push(node)
    }
    this.#fail("unexpected EOF")
  }

  #textOrAction(): ListedNode {
    const token = this.#nextNonSpace()
    if (token.kind === "text") return { kind: "text", at: token.at, text: token.text }
    if (token.kind !== "leftDelim") this.#unexpected(token, "input")
    this.#action = token.at
    const node = this.#parseAction()
    this.#action = undefined
    return node
  }

  #parseAction(): ListedNode {
    const token = this.#nextNonSpace()
    switch (token.kind) {
      case "block":
        return this.#block()
      case "break":
      case "continue":
        return this.#jump(token.kind, token.at)
      case "else":
        return this.#else()
      case "end":
        return { kind: "end", at: this.#expect("rightDelim", "end").at }
      case "if":
      case "range":
      case "with":
        return this.#control(token.kind)
      case "template":
        return this.#template()
      default: {
        this.#peeked++
        const { at } = this.#peek()
        return { kind: "action", at, pipe: this.#pipeline("command", "rightDelim") }
      }
    }
  }

  #jump(kind: "break" | "continue", at: number): Node {
    const token = this.#nextNonSpace()
    if (token.kind !== "rightDelim") this.#unexpected(token, `{{${kind}}}`)
    if (this.#ranges === 0) this.#fail(`{{${kind}}} outside {{range}}`)
    return { kind, at }
  }

  #else(): End {
    const next = this.#peekNonSpace()
    // `else if` leaves its `if` to the control that the `else` belongs to.
    if (next.kind === "if" || next.kind === "with") return { kind: "else", at: next.at }
    return { kind: "else", at: this.#expect("rightDelim", "else").at }
  }

  #control(kind: ControlNode["kind"]): ControlNode {
    const declared = this.#variables.length
    const pipe = this.#pipeline(kind, "rightDelim")
    if (kind === "range") this.#ranges++
    const [list, end] = this.#itemList()
    if (kind === "range") this.#ranges--
    const elseList = end.kind === "else" ? this.#elseList(kind) : undefined
    this.#variables.length = declared
    return { kind, at: pipe.at, pipe, list, elseList }
  }

  #elseList(kind: ControlNode["kind"]): readonly Node[] {
    if ((kind === "if" || kind === "with") && this.#peek().kind === kind) {
      this.#next()
      return [this.#control(kind)]
    }
    const [list, end] = this.#itemList()
    if (end.kind !== "end") this.#fail(`expected end; found {{${end.kind}}}`)
    return list
  }

  #block(): TemplateNode {
    const context = "block clause"
    const token = this.#nextNonSpace()
    const name = this.#templateName(token, context)
    const pipe = this.#pipeline(context, "rightDelim")
    const block = new Parser(this.#shared, name)
    const [list, end] = block.#itemList()
    if (end.kind !== "end") this.#fail(`unexpected {{${end.kind}}} in ${context}`)
    block.#add(list)
    return { kind: "template", at: token.at, name, pipe }
  }

  #template(): TemplateNode {
    const context = "template clause"
    const token = this.#nextNonSpace()
    const name = this.#templateName(token, context)
    if (this.#nextNonSpace().kind === "rightDelim") return { kind: "template", at: token.at, name, pipe: undefined }
    this.#peeked++
    return { kind: "template", at: token.at, name, pipe: this.#pipeline(context, "rightDelim") }
  }

  #templateName(token: Token, context: string): string {
    if (token.kind !== "string" && token.kind !== "rawString") this.#unexpected(token, context)
    return this.#unquoted(token.text)
  }

  #pipeline(context: string, end: "rightDelim" | "rightParen"): PipeNode {
    const { at } = this.#peekNonSpace()
    const { variables, isAssignment } = this.#declarations(context)
    const commands: CommandNode[] = []
    for (let token = this.#nextNonSpace(); token.kind !== end; token = this.#nextNonSpace()) {
      if (!OPERANDS.has(token.kind)) this.#unexpected(token, context)
      this.#peeked++
      commands.push(this.#command())
    }
    if (commands.length === 0) this.#fail(`missing value for ${context}`)
    for (const [i, { operands }] of commands.entries())
      if (i > 0 && CONSTANTS.has(operands[0]!.kind)) this.#fail(`non executable command in pipeline stage ${i + 1}`)
    return { kind: "pipe", at, variables, isAssignment, commands }
  }

  #declarations(context: string): { readonly variables: readonly string[]; readonly isAssignment: boolean } {
    const variables: string[] = []
    for (;;) {
      const variable = this.#peekNonSpace()
      if (variable.kind !== "variable") return { variables, isAssignment: false }
      this.#next()
      const after = this.#peek()
      const next = this.#peekNonSpace()
      const isComma = next.kind === "char" && next.text === ","
      if (next.kind === "assign" || next.kind === "declare" || isComma) {
        this.#nextNonSpace()
        variables.push(variable.text)
        this.#variables.push(variable.text)
        if (!isComma) return { variables, isAssignment: next.kind === "assign" }
        if (context !== "range" || variables.length >= 2) this.#fail(`too many declarations in ${context}`)
        const follows = this.#peekNonSpace().kind
        if (follows !== "variable" && follows !== "rightDelim" && follows !== "rightParen")
          this.#fail("range can only initialize variables")
        continue
      }
      // The variable is an operand.
      if (after.kind === "space") this.#backupThree(variable, after)
      else this.#backupTwo(variable)
      return { variables, isAssignment: false }
    }
  }

  #command(): CommandNode {
    const { at } = this.#peekNonSpace()
    const operands: Operand[] = []
    for (;;) {
      this.#peekNonSpace()
      const operand = this.#operand()
      if (operand !== undefined) operands.push(operand)
      const token = this.#next()
      if (token.kind === "space") continue
      if (token.kind === "rightDelim" || token.kind === "rightParen") this.#peeked++
      else if (token.kind !== "pipe") this.#unexpected(token, "operand")
      if (operands.length === 0) this.#fail("empty command")
      return { kind: "command", at, operands }
    }
  }

  #operand(): Operand | undefined {
    const term = this.#term()
    if (term === undefined || this.#peek().kind !== "field") return term
    const { at } = this.#peek()
    const names: string[] = []
    while (this.#peek().kind === "field") names.push(this.#next().text.slice(1))
    if (term.kind === "field") return { ...term, at, names: [...term.names, ...names] }
    if (term.kind === "variable") return { ...term, at, names }
    if (CONSTANTS.has(term.kind)) this.#fail(`unexpected . after term ${quoted(shownNode(term))}`)
    return { kind: "chain", at, of: term, names }
  }

  #term(): Operand | undefined {
    const token = this.#nextNonSpace()
    const { at, text } = token
    switch (token.kind) {
      case "identifier":
        if (!this.#shared.isFunction(text)) this.#fail(`function ${quoted(text)} not defined`)
        return { kind: "identifier", at, name: text }
      case "dot":
      case "nil":
        return { kind: token.kind, at }
      case "variable":
        if (!this.#variables.includes(text)) this.#fail(`undefined variable ${quoted(text)}`)
        return { kind: "variable", at, name: text, names: [] }
      case "field":
        return { kind: "field", at, names: [text.slice(1)] }
      case "bool":
        return { kind: "bool", at, value: text === "true" }
      case "number":
      case "complex":
      case "charConstant": {
        const constant = numberConstant(text, token.kind)
        if ("fault" in constant) this.#fail(constant.fault)
        return { kind: "number", at, source: text, constant }
      }
      case "leftParen": {
        if (this.#parens >= MOST_PARENS) this.#fail("max expression depth exceeded")
        this.#parens++
        const pipe = this.#pipeline("parenthesized pipeline", "rightParen")
        this.#parens--
        return pipe
      }
      case "string":
      case "rawString":
        return { kind: "string", at, source: text, value: this.#unquoted(text) }
      default:
        this.#peeked++
        return undefined
    }
  }
}

const OPERANDS: ReadonlySet<TokenKind> = new Set<TokenKind>([
  "bool",
  "charConstant",
  "complex",
  "dot",
  "field",
  "identifier",
  "number",
  "nil",
  "rawString",
  "string",
  "variable",
  "leftParen",
])

/** Operands that cannot be called, and have no fields. */
const CONSTANTS: ReadonlySet<Operand["kind"]> = new Set<Operand["kind"]>(["bool", "dot", "nil", "number", "string"])

/** Whether a template has nothing but white space in it. */
export const isEmpty = (list: readonly Node[]): boolean =>
  list.every((node) => node.kind === "text" && node.text.trim() === "")
