import { byteLength } from "../go-fmt/go-bytes.ts"
import { GoObject } from "../go-fmt/go-object.ts"
import { goTypeOf, isGoMap } from "../go-fmt/go-number.ts"
import { quoted } from "../go-fmt/quote.ts"
import { FunctionError } from "./function-error.ts"
import { isTrue, type Parameter, type TemplateFunction } from "./functions.ts"
import type { ChainNode, CommandNode, Node, Operand, PipeNode } from "./node.ts"
import { shownNode } from "./node.ts"
import type { Templates } from "./parser.ts"
import { TemplateError } from "./template-error.ts"
import { boxed, Boxed, isNilBox, staticTypeOf, unboxed } from "./value.ts"

/**
 * What a template does with a key that a map does not have: print `<no value>`, fail, or take nil for it, which has no
 * fields.
 */
export type MissingKey = "default" | "error" | "zero"

/** The text that a template is from, and the name that it was parsed with, which error messages show. */
export interface TemplateSource {
  readonly name: string
  readonly text: string
}

/** What bounds the work of executions. Each method throws when it is too much. */
export interface ExecutionBounds {
  /** Called for each node, and each turn of a loop. */
  readonly step: () => void
  /** Called for each argument: one node can have any number of them. */
  readonly argument: () => void
  /** Called with each value that is to be printed. */
  readonly printing: (value: unknown) => void
  /** Called with the number of characters that are to be written, and of those before. */
  readonly writing: (characters: number, before: number) => void
}

/** What all of one execution shares. */
export interface ExecutionContext {
  readonly templates: Templates
  readonly sourceOf: (template: string) => TemplateSource
  /** Functions of the caller first, then Go's own. */
  readonly functionOf: (name: string) => TemplateFunction | undefined
  readonly isBuiltin: (name: string) => boolean
  readonly missingKey: MissingKey
  readonly write: (text: string) => void
  readonly bounds?: ExecutionBounds | undefined
}

interface Variable {
  readonly name: string
  value: unknown
}

/** The value that a pipeline passes on; absent for its first command. */
const ABSENT = Symbol("no value from the pipeline")

/** The values of the pipelines of one template, and its variables. Source: Go text/template/exec.go. */
export class Evaluation {
  readonly #context: ExecutionContext
  readonly #name: string
  variables: Variable[]
  /** What is evaluated now, for error messages. */
  node: Node | CommandNode | Operand | undefined

  constructor(context: ExecutionContext, name: string, data: unknown) {
    this.#context = context
    this.#name = name
    this.variables = [{ name: "$", value: data }]
  }

  fail(message: string): never {
    const { name, text } = this.#context.sourceOf(this.#name)
    const node = this.node
    if (node === undefined) throw new TemplateError(`template: ${this.#name}: ${message}`)
    const before = text.slice(0, node.at)
    const start = before.lastIndexOf("\n") + 1
    const place = `${name}:${before.split("\n").length}:${byteLength(before.slice(start))}`
    throw new TemplateError(`template: ${place}: executing ${quoted(this.#name)} at <${shownNode(node)}>: ${message}`)
  }

  set(name: string, value: unknown): void {
    const variable = this.variables.findLast((each) => each.name === name)
    if (variable === undefined) this.fail(`undefined variable: ${name}`)
    variable.value = value
  }

  pipeline(dot: unknown, pipe: PipeNode): unknown {
    this.node = pipe
    let value: unknown = ABSENT
    for (const command of pipe.commands) value = unboxed(this.#command(dot, command, value))
    for (const name of pipe.variables)
      if (pipe.isAssignment) this.set(name, value)
      else this.variables.push({ name, value })
    return value
  }

  #command(dot: unknown, command: CommandNode, final: unknown): unknown {
    const { operands } = command
    const first = operands[0]!
    switch (first.kind) {
      case "field":
        this.node = first
        return this.#fields(dot, dot, first.names, operands, final)
      case "chain":
        return this.#chain(dot, first, operands, final)
      case "identifier":
        this.node = first
        return this.#function(dot, first.name, command, operands, final)
      case "pipe":
        this.#refuseArguments(operands, final)
        return this.pipeline(dot, first)
      case "variable":
        return this.#variable(dot, first.name, first.names, first, operands, final)
      default:
        this.node = first
        this.#refuseArguments(operands, final)
        if (first.kind === "nil") this.fail("nil is not a command")
        return first.kind === "dot" ? dot : this.#constant(first)
    }
  }

  #refuseArguments(operands: readonly Operand[], final: unknown): void {
    if (operands.length > 1 || final !== ABSENT)
      this.fail(`can't give argument to non-function ${shownNode(operands[0]!)}`)
  }

  /** Returns the value of a constant. */
  #constant(node: Operand): unknown {
    this.node = node
    if (node.kind === "bool" || node.kind === "string") return node.value
    if (node.kind !== "number") this.fail(`can't handle assignment of ${shownNode(node)} to empty interface argument`)
    if ("overflow" in node.constant) this.fail(`${node.constant.overflow} overflows int`)
    return "value" in node.constant ? node.constant.value : undefined
  }

  #chain(dot: unknown, node: ChainNode, operands: readonly Operand[], final: unknown): unknown {
    this.node = node
    return this.#fields(dot, this.#argument(dot, "value", node.of), node.names, operands, final)
  }

  #variable(
    dot: unknown,
    name: string,
    names: readonly string[],
    node: Operand,
    operands: readonly Operand[],
    final: unknown,
  ): unknown {
    this.node = node
    const variable = this.variables.findLast((each) => each.name === name)
    if (variable === undefined) this.fail(`undefined variable: ${name}`)
    if (names.length > 0) return this.#fields(dot, variable.value, names, operands, final)
    this.#refuseArguments(operands, final)
    return variable.value
  }

  #fields(
    dot: unknown,
    receiver: unknown,
    names: readonly string[],
    operands: readonly Operand[],
    final: unknown,
  ): unknown {
    const hasArguments = operands.length > 1 || final !== ABSENT
    let value = receiver
    for (const [i, name] of names.entries()) {
      const object = unboxed(value)
      if (object instanceof GoObject && Object.hasOwn(object.methods, name))
        value = this.#method(dot, object, name, i === names.length - 1 ? operands : [], final)
      else value = this.#field(value, name, hasArguments && i === names.length - 1)
    }
    return value
  }

  #method(dot: unknown, object: GoObject, name: string, operands: readonly Operand[], final: unknown): unknown {
    const node = this.node
    const args = operands.slice(1).map((operand) => this.#argument(dot, "any", operand))
    if (operands.length > 0 && final !== ABSENT) args.push(this.#checked(final, "any"))
    try {
      return boxed(object.methods[name]!(...args))
    } catch (error) {
      if (!(error instanceof FunctionError)) throw error
      this.node = node
      this.fail(`error calling ${name}: ${error.message}`)
    }
  }

  #field(receiver: unknown, name: string, hasArguments: boolean): unknown {
    const isStrict = this.#context.missingKey === "error"
    if (receiver === undefined) return isStrict ? this.fail(`nil data; no entry for key ${quoted(name)}`) : undefined
    if (isNilBox(receiver)) this.fail(`nil pointer evaluating interface {}.${name}`)
    const found = unboxed(receiver)
    const map = found instanceof GoObject ? ownerOf(found, name) : found
    if (!isGoMap(map)) this.fail(`can't evaluate field ${name} in type ${staticTypeOf(receiver)}`)
    if (hasArguments) this.fail(`${name} is not a method but has arguments`)
    const value = Object.hasOwn(map, name) ? map[name] : undefined
    if (value !== undefined) return boxed(value)
    if (found instanceof GoObject) this.fail(`can't evaluate field ${name} in type ${found.type}`)
    if (this.#context.missingKey === "zero") return boxed(null)
    return isStrict ? this.fail(`map has no entry for key ${quoted(name)}`) : undefined
  }

  #function(
    dot: unknown,
    name: string,
    node: CommandNode | Operand,
    operands: readonly Operand[],
    final: unknown,
  ): unknown {
    const given = operands.slice(1)
    const isOwn = this.#context.isBuiltin(name)
    if (isOwn && (name === "and" || name === "or")) return this.#andOr(dot, name, given, final)
    const called = isOwn && name === "call" ? CALL : this.#context.functionOf(name)
    if (called === undefined) this.fail(`${quoted(name)} is not a defined function`)
    this.#checkCount(name, called, given.length, final)
    const { parameters, rest } = called
    const args = given.map((operand, i) => this.#argument(dot, parameters[i] ?? rest!, operand))
    if (final !== ABSENT) args.push(this.#checked(final, parameters[args.length] ?? rest!))
    if (called === CALL) this.#failCall(node, args[0], given[0], final)
    try {
      return called.call(args)
    } catch (error) {
      if (!(error instanceof FunctionError)) throw error
      this.node = node
      this.fail(`error calling ${name}: ${error.message}`)
    }
  }

  #checkCount(name: string, { parameters, rest }: TemplateFunction, given: number, final: unknown): void {
    const count = given + (final === ABSENT ? 0 : 1)
    const wanted = parameters.length
    if (rest !== undefined && count < wanted)
      this.fail(`wrong number of args for ${name}: want at least ${wanted} got ${given}`)
    if (rest === undefined && count !== wanted)
      this.fail(`wrong number of args for ${name}: want ${wanted} got ${count}`)
  }

  /** Fails because no value of a document is a function. */
  #failCall(node: CommandNode | Operand, called: unknown, operand: Operand | undefined, final: unknown): never {
    this.node = node
    const value = unboxed(called)
    if (value === undefined) this.fail("error calling call: call of nil")
    const type = goTypeOf(value)
    const name = operand === undefined ? shownFinal(final) : shownNode(operand)
    this.fail(`error calling call: non-function ${name} of type ${type}`)
  }

  /** Evaluates arguments until one decides the answer. */
  #andOr(dot: unknown, name: "and" | "or", given: readonly Operand[], final: unknown): unknown {
    if (given.length === 0 && final === ABSENT) this.fail(`wrong number of args for ${name}: want at least 1 got 0`)
    let value: unknown
    for (const operand of given) {
      value = this.#argument(dot, "value", operand)
      if (isTrue(unboxed(value)) === (name === "or")) return value
    }
    return final === ABSENT ? value : final
  }

  #argument(dot: unknown, parameter: Parameter, node: Operand): unknown {
    this.node = node
    this.#context.bounds?.argument()
    switch (node.kind) {
      case "dot":
        return this.#checked(dot, parameter)
      case "nil":
        if (parameter === "string") this.fail("cannot assign nil to string")
        return parameter === "any" ? null : undefined
      case "field":
        return this.#checked(this.#fields(dot, dot, node.names, [], ABSENT), parameter)
      case "variable":
        return this.#checked(this.#variable(dot, node.name, node.names, node, [], ABSENT), parameter)
      case "pipe":
        return this.#checked(this.pipeline(dot, node), parameter)
      case "identifier":
        return this.#checked(this.#function(dot, node.name, node, [], ABSENT), parameter)
      case "chain":
        return this.#checked(this.#chain(dot, node, [], ABSENT), parameter)
      default:
        if (parameter === "string" && node.kind !== "string") this.fail(`expected string; found ${shownNode(node)}`)
        return this.#constant(node)
    }
  }

  /** Returns a value as a parameter takes it. */
  #checked(value: unknown, parameter: Parameter): unknown {
    if (parameter === "value") return value
    const inner = unboxed(value)
    if (parameter === "any") return inner ?? null
    if (value === undefined) this.fail("invalid value; expected string")
    if (typeof inner !== "string")
      this.fail(`wrong type for value; expected string; got ${isNilBox(value) ? "interface {}" : goTypeOf(inner)}`)
    return inner
  }
}

/** Returns the fields of an object, or its entries where those have the name, of which there may be very many. */
const ownerOf = ({ fields, entries = {} }: GoObject, name: string): Readonly<Record<string, unknown>> =>
  Object.hasOwn(fields, name) ? fields : entries

/** `call` is checked as the others are; what it calls is never a function. */
const CALL: TemplateFunction = { parameters: ["value"], rest: "value", call: () => undefined }

/** Returns a value that a pipeline passed on, as reflection prints it. */
const shownFinal = (final: unknown): string =>
  typeof final === "string" ? final : `<${final instanceof Boxed ? "interface {}" : goTypeOf(final)} Value>`
