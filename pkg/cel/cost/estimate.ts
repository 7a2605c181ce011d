import { isBinding } from "../syntax/binding.ts"
import { ACCUMULATOR, type Call, type Comprehension, type Expr, type ListExpr, type MapExpr } from "../syntax/ast.ts"
import type { Select } from "../syntax/ast.ts"
import type { CelType } from "../type.ts"
import { codePoints } from "../values/values.ts"
import { estimateKubernetesCall } from "./estimate-kubernetes.ts"
import { estimateLibraryCall } from "./estimate-libraries.ts"
import { estimateStandardCall } from "./estimate-standard.ts"
import type { CallEstimate, EstimatedNode, SizeOf } from "./estimated-node.ts"
import { BOUNDLESS, exactly, plus, times, union, UNKNOWN, type Range } from "./range.ts"
import { NEW_LIST, NEW_MAP, NEW_STRUCT } from "./sizes.ts"

/**
 * Estimates the least and greatest cost of an expression from the sizes that its types allow. Source: cel-go
 * checker/cost.go.
 */
export const estimateCost = (root: Expr, sizeOf: SizeOf): Range => new Estimator(sizeOf).cost(root)

const SELECT = exactly(1)
const NOTHING = exactly(0)

/** The sizes of a container's keys and values. */
interface EntrySize {
  readonly kind: "list" | "map"
  readonly key: Range
  readonly value: Range
}

interface Local {
  readonly path: readonly string[]
  readonly size: Range | undefined
  readonly entries: EntrySize | undefined
}

class Estimator {
  readonly #sizeOf: SizeOf
  readonly #paths = new Map<Expr, readonly string[]>()
  readonly #sizes = new Map<Expr, Range>()
  readonly #entries = new Map<Expr, EntrySize>()
  readonly #locals = new Map<string, Local[]>()

  constructor(sizeOf: SizeOf) {
    this.#sizeOf = sizeOf
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case "literal":
        return NOTHING
      case "ident":
        this.#paths.set(expr, this.#local(expr.name)?.path ?? [expr.name])
        return SELECT
      case "select":
        return this.#select(expr)
      case "call":
        return this.#call(expr)
      case "list":
        return this.#list(expr)
      case "map":
        return this.#map(expr)
      case "struct":
        return expr.fields.reduce((sum, { value }) => plus(sum, this.cost(value)), exactly(NEW_STRUCT))
      case "comprehension":
        return isBinding(expr) ? this.#binding(expr) : this.#comprehension(expr)
    }
  }

  #select(expr: Select): Range {
    if (expr.qualified !== undefined) {
      this.#paths.set(expr, [expr.qualified])
      return SELECT
    }
    const operand = this.cost(expr.operand)
    if (expr.testOnly) return operand
    this.#paths.set(expr, [...this.#path(expr.operand), expr.field])
    return ["map", "object", "param"].includes(expr.operand.type!.kind) ? plus(operand, SELECT) : operand
  }

  #call(expr: Call): Range {
    const { name, namespaced, overloads } = expr.resolved!
    if (name === "dyn") {
      const [arg] = expr.args as [Expr]
      const cost = this.cost(arg)
      this.#copySizes(expr, arg)
      return plus(SELECT, cost)
    }
    const costs = expr.args.map((arg) => this.cost(arg))
    const args = expr.args.map((arg) => this.#node(arg))
    const target = namespaced ? undefined : expr.target
    const targetCost = target === undefined ? NOTHING : this.cost(target)
    const targetNode = target && this.#node(target)
    let cost: Range = { min: BOUNDLESS, max: 0 }
    let size: Range | undefined
    for (const { id } of overloads) {
      const estimate = this.#overload(expr, name, id, targetNode, args, costs)
      cost = union(cost, estimate.cost)
      if (estimate.resultSize !== undefined)
        size = size === undefined ? estimate.resultSize : union(size, estimate.resultSize)
      if (id === "index_list" || id === "index_map") {
        size = this.#entriesOf(expr.args[0]!)?.value
        this.#paths.set(expr, [...this.#path(expr.args[0]!), id === "index_list" ? "@items" : "@values"])
      }
      size ??= this.#size(expr)
    }
    if (size !== undefined) this.#sizes.set(expr, size)
    return plus(targetCost, cost)
  }

  #overload(
    expr: Call,
    name: string,
    id: string,
    target: EstimatedNode | undefined,
    args: readonly EstimatedNode[],
    costs: readonly Range[],
  ): CallEstimate {
    if (name === "_&&_" || name === "_||_") {
      const most = costs.reduce((sum, { max }) => Math.min(sum + max, BOUNDLESS), 0)
      return { cost: { min: costs[0]!.min, max: most } }
    }
    if (name === "_?_:_") return this.#conditional(expr, costs)
    const sum = costs.reduce(plus, NOTHING)
    const own =
      estimateLibraryCall(id, target, args) ??
      estimateKubernetesCall(name, id, target, args, this.#sizeOf) ??
      estimateStandardCall(id, target, args)
    if (id === "add_string" || id === "add_bytes" || id === "add_list") {
      const entries = unite(this.#entriesOf(expr.args[0]!), this.#entriesOf(expr.args[1]!))
      if (entries !== undefined) this.#entries.set(expr, entries)
    }
    return { ...own, cost: plus(own.cost, sum) }
  }

  #conditional(expr: Call, costs: readonly Range[]): CallEstimate {
    const [, yes, no] = expr.args as [Expr, Expr, Expr]
    const entries = unite(this.#entriesOf(yes), this.#entriesOf(no))
    if (entries !== undefined) this.#entries.set(expr, entries)
    return {
      cost: plus(costs[0]!, union(costs[1]!, costs[2]!)),
      resultSize: union(this.#size(yes) ?? UNKNOWN, this.#size(no) ?? UNKNOWN),
    }
  }

  #list(expr: ListExpr): Range {
    let cost = exactly(NEW_LIST)
    for (const element of expr.elements) cost = plus(cost, this.cost(element))
    this.#entries.set(expr, { kind: "list", key: SELECT, value: this.#widest(expr.elements) })
    return cost
  }

  #map(expr: MapExpr): Range {
    let cost = exactly(NEW_MAP)
    for (const { key, value } of expr.entries) cost = plus(plus(cost, this.cost(key)), this.cost(value))
    const key = this.#widest(expr.entries.map((entry) => entry.key))
    const value = this.#widest(expr.entries.map((entry) => entry.value))
    this.#entries.set(expr, { kind: "map", key, value })
    return cost
  }

  /** Returns a range that covers the sizes of all expressions. */
  #widest(exprs: readonly Expr[]): Range {
    if (exprs.length === 0) return NOTHING
    return exprs.map((expr) => this.#size(expr) ?? UNKNOWN).reduce(union)
  }

  #binding(expr: Comprehension): Range {
    const cost = plus(this.cost(expr.range), this.cost(expr.init))
    this.#push(expr.accumulator, this.#asLocal(expr.init))
    const result = this.cost(expr.result)
    this.#pop(expr.accumulator)
    this.#copySizes(expr, expr.result)
    return plus(cost, result)
  }

  #comprehension(expr: Comprehension): Range {
    const { range, init } = expr
    const before = plus(this.cost(range), this.cost(init))
    this.#push(expr.accumulator, this.#asLocal(init))
    const [first, second] = this.#iterated(range, expr.variable2 !== undefined)
    this.#push(expr.variable, first)
    if (expr.variable2 !== undefined) this.#push(expr.variable2, second)
    const turn = plus(this.cost(expr.condition), this.cost(expr.step))
    this.#pop(expr.variable)
    if (expr.variable2 !== undefined) this.#pop(expr.variable2)
    const after = this.cost(expr.result)
    this.#pop(expr.accumulator)
    const turns = this.#size(range) ?? UNKNOWN
    if (init.kind === "literal") {
      const size = this.#size(init)
      if (size !== undefined) this.#sizes.set(expr, size)
    } else if (init.kind === "list" || init.kind === "map") {
      this.#sizes.set(expr, turns)
      const entries = this.#entriesOf(expr.step)
      if (entries !== undefined) this.#entries.set(expr, entries)
    }
    return plus(plus(before, after), times(turns, turn))
  }

  /** Returns the variables of a loop. A single variable is the item of a list or the key of a map. */
  #iterated(range: Expr, both: boolean): readonly [Local, Local] {
    const entries = this.#entriesOf(range)
    const path = this.#path(range)
    const isList = (entries?.kind ?? range.type!.kind) === "list"
    const local = (step: string, size: Range | undefined): Local => ({
      path: [...path, step],
      size,
      entries: undefined,
    })
    const key = local(isList ? "@indices" : "@keys", entries?.key)
    const value = local(isList ? "@items" : "@values", entries?.value)
    return both || !isList ? [key, value] : [value, value]
  }

  #asLocal(expr: Expr): Local {
    return { path: this.#path(expr), size: this.#size(expr), entries: this.#entriesOf(expr) }
  }

  #push(name: string, local: Local): void {
    const stack = this.#locals.get(name)
    if (stack === undefined) this.#locals.set(name, [local])
    else stack.push(local)
  }

  #pop(name: string): void {
    this.#locals.get(name)?.pop()
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1)
  }

  #path(expr: Expr): readonly string[] {
    const local = expr.kind === "ident" ? this.#local(expr.name) : undefined
    return local?.path ?? this.#paths.get(expr) ?? []
  }

  #node(expr: Expr): EstimatedNode {
    const path = this.#path(expr)
    return { type: expr.type!, expr, path: path[0] === ACCUMULATOR ? [] : path, size: this.#size(expr) }
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from)
    if (size !== undefined) this.#sizes.set(to, size)
    const entries = this.#entriesOf(from)
    if (entries !== undefined) this.#entries.set(to, entries)
  }

  #size(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr) ?? literalSize(expr)
    if (known !== undefined) return known
    const path = this.#path(expr)
    const declared = path.length === 0 ? undefined : this.#sizeOf(path)
    if (declared !== undefined) {
      this.#sizes.set(expr, declared)
      return declared
    }
    if (isScalar(expr.type!)) return SELECT
    return expr.kind === "ident" ? this.#local(expr.name)?.size : undefined
  }

  #entriesOf(expr: Expr): EntrySize | undefined {
    return this.#entries.get(expr) ?? (expr.kind === "ident" ? this.#local(expr.name)?.entries : undefined)
  }
}

function unite(a: EntrySize | undefined, b: EntrySize | undefined): EntrySize | undefined {
  if (a === undefined || b === undefined) return undefined
  return { kind: a.kind, key: union(a.key, b.key), value: union(a.value, b.value) }
}

function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === "list") return exactly(expr.elements.length)
  if (expr.kind === "map") return exactly(expr.entries.length)
  if (expr.kind !== "literal") return undefined
  if (typeof expr.value === "string") return exactly(codePoints(expr.value))
  return exactly(expr.value instanceof Uint8Array ? expr.value.length : 1)
}

/** Whether all values of a type have one size. */
function isScalar(type: CelType): boolean {
  if (["bool", "double", "duration", "int", "timestamp", "uint"].includes(type.kind)) return true
  return type.name === "optional_type" && isScalar(type.params[0]!)
}
