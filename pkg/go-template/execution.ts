import { GoObject } from "../go-fmt/go-object.ts"
import { goInt, isGoMap, numberOf, sortedEntries, TypedNumber } from "../go-fmt/go-number.ts"
import { quoted } from "../go-fmt/quote.ts"
import { sprint } from "../go-fmt/sprintf.ts"
import { Evaluation, type ExecutionContext } from "./evaluation.ts"
import { isTrue } from "./functions.ts"
import type { ControlNode, Node, PipeNode, TemplateNode } from "./node.ts"
import { boxed, unboxed } from "./value.ts"

/** Templates that call each other more often fail. */
const MOST_CALLS = 100_000

type Jump = "break" | "continue" | undefined

/** The execution of one template of a text. Source: Go text/template/exec.go. */
export class Execution {
  readonly #context: ExecutionContext
  readonly #evaluation: Evaluation
  readonly #calls: number

  constructor(context: ExecutionContext, name: string, data: unknown, calls = 0) {
    this.#context = context
    this.#evaluation = new Evaluation(context, name, data)
    this.#calls = calls
  }

  /** Writes nodes with `dot` as the value of `.`. @throws TemplateError */
  walk(dot: unknown, list: readonly Node[]): Jump {
    for (const node of list) {
      this.#evaluation.node = node
      this.#context.bounds?.step()
      const jump = this.#walkNode(dot, node)
      if (jump !== undefined) return jump
    }
    return undefined
  }

  #walkNode(dot: unknown, node: Node): Jump {
    switch (node.kind) {
      case "text":
        this.#context.write(node.text)
        return undefined
      case "action": {
        const value = this.#evaluation.pipeline(dot, node.pipe)
        if (node.pipe.variables.length > 0) return undefined
        this.#context.bounds?.printing(unboxed(value))
        this.#context.write(value === undefined ? "<no value>" : sprint([unboxed(value)]))
        return undefined
      }
      case "if":
      case "with":
        return this.#ifOrWith(dot, node)
      case "range":
        return this.#range(dot, node)
      case "template":
        this.#call(dot, node)
        return undefined
      case "break":
      case "continue":
        return node.kind
    }
  }

  #ifOrWith(dot: unknown, { kind, pipe, list, elseList }: ControlNode): Jump {
    const declared = this.#evaluation.variables.length
    const value = this.#evaluation.pipeline(dot, pipe)
    const jump = isTrue(unboxed(value))
      ? this.walk(kind === "with" ? value : dot, list)
      : elseList === undefined
        ? undefined
        : this.walk(dot, elseList)
    this.#evaluation.variables.length = declared
    return jump
  }

  #range(dot: unknown, node: ControlNode): Jump {
    const declared = this.#evaluation.variables.length
    const value = unboxed(this.#evaluation.pipeline(dot, node.pipe))
    const mark = this.#evaluation.variables.length
    let isEmpty = true
    for (const [index, element] of this.#elements(value, node.pipe.variables.length)) {
      isEmpty = false
      this.#context.bounds?.step()
      this.#assign(node.pipe, index, element)
      const jump = this.walk(element, node.list)
      this.#evaluation.variables.length = mark
      if (jump === "break") break
    }
    const jump = isEmpty && node.elseList !== undefined ? this.walk(dot, node.elseList) : undefined
    this.#evaluation.variables.length = declared
    // A break in the list of `else` ends this range, as in Go.
    return jump === "break" ? undefined : jump
  }

  #elements(value: unknown, variables: number): Iterable<readonly [unknown, unknown]> {
    if (value === undefined) return []
    if (value instanceof GoObject && value.entries !== undefined)
      return sortedEntries(value.entries).map(([key, item]) => [key, boxed(item)] as const)
    if (Array.isArray(value)) return value.map((item, i) => [goInt(i), boxed(item)] as const)
    const number = numberOf(value)
    if (number === undefined && isGoMap(value))
      return sortedEntries(value).map(([key, item]) => [key, boxed(item)] as const)
    if (number === undefined || typeof number.value !== "bigint")
      this.#evaluation.fail(`range can't iterate over ${sprint([value])}`)
    if (variables > 1) this.#evaluation.fail(`can't use ${sprint([value])} to iterate over more than one variable`)
    return numbersTo(number.value, (each) => new TypedNumber({ ...number, value: each } as TypedNumber["number"]))
  }

  #assign({ variables: [first, second], isAssignment }: PipeNode, index: unknown, element: unknown): void {
    if (first === undefined) return
    if (isAssignment) {
      this.#evaluation.set(first, second === undefined ? element : index)
      if (second !== undefined) this.#evaluation.set(second, element)
      return
    }
    this.#evaluation.variables.at(-1)!.value = element
    if (second !== undefined) this.#evaluation.variables.at(-2)!.value = index
  }

  #call(dot: unknown, node: TemplateNode): void {
    const list = this.#context.templates.get(node.name)
    if (list === undefined) this.#evaluation.fail(`template ${quoted(node.name)} not defined`)
    if (this.#calls === MOST_CALLS) this.#failDeep()
    const value = node.pipe === undefined ? undefined : this.#evaluation.pipeline(dot, node.pipe)
    try {
      new Execution(this.#context, node.name, value, this.#calls + 1).walk(value, list)
    } catch (error) {
      // The stack of JavaScript is smaller than Go's.
      if (!(error instanceof RangeError)) throw error
      this.#evaluation.node = node
      this.#failDeep()
    }
  }

  #failDeep(): never {
    this.#evaluation.fail(`exceeded maximum template depth (${MOST_CALLS})`)
  }
}

function* numbersTo(
  end: bigint,
  numberOfValue: (value: bigint) => unknown,
): Generator<readonly [unknown, unknown], void, undefined> {
  for (let value = 0n; value < end; value++) yield [undefined, numberOfValue(value)]
}
