import { NO_SUCH_OVERLOAD, equal } from "../compare.ts"
import { callCost } from "../cost/runtime.ts"
import { NEW_LIST, NEW_MAP, NEW_STRUCT, sizeForCost, type CallCost } from "../cost/sizes.ts"
import { show, typeOfValue } from "../convert.ts"
import type { FunctionDeclaration, Implementation, Overload } from "../library/declare.ts"
import { HashMap, identity } from "../maps.ts"
import type { Call, Comprehension, Expr, ListExpr, MapExpr } from "../syntax/ast.ts"
import type { Select, StructExpr } from "../syntax/ast.ts"
import { isBinding } from "../syntax/binding.ts"
import type { CelType } from "../type.ts"
import { TYPE_NAMES } from "../types-by-name.ts"
import { ArrayList, CelError, ListValue, MapValue, Optional, StructValue, TypeValue, type Value } from "../values.ts"
import { GrowingList, MadeStruct } from "./made-values.ts"
import { dispatcher } from "./dispatch.ts"
import type { Frame, Global, Step } from "./frame.ts"
import { isOfOtherKind } from "../json-values.ts"
import { find, isPresent, qualify } from "./qualify.ts"

/** Cost of reading a variable or a field. Source: cel-go common/cost.go. */
const SELECT = 1

/** How an expression is evaluated. */
interface Plan {
  readonly step: Step
  /** The value of an expression that is known before evaluation. It costs nothing. */
  readonly constant?: Value
  /**
   * Of variables, fields, items and conditions: evaluates without the cost that reading a whole path has once. cel-go
   * leaves it out where the path is the branch of a condition or an index.
   */
  readonly bare?: Step
  /** Whether the path begins with a condition; such a path costs no more than its parts. */
  readonly isConditional?: boolean
}

export interface Planned {
  readonly step: Step
  readonly slots: number
}

/** Says that an expression can never be evaluated, as `int("x")`. */
export class PlanError extends Error {}

export interface PlanOptions {
  readonly functions: ReadonlyMap<string, FunctionDeclaration>
  readonly globals: readonly Global[]
  readonly types: (name: string) => CelType | undefined
}

/**
 * Turns a checked expression into closures which charge what cel-go charges. Source: cel-go interpreter/planner.go,
 * decorators.go (what is evaluated before), runtimecost.go. Throws a PlanError.
 */
export function plan(root: Expr, options: PlanOptions): Planned {
  const planner = new Planner(options)
  const { step } = planner.plan(root)
  return { step, slots: planner.slots }
}

interface Local {
  readonly slot: number
  /** Of a variable that is given its value when it is first read. */
  readonly init?: Step
}

/**
 * Functions of one argument whose value for a constant is worked out beforehand. Source: cel-go
 * IsTypeConversionFunction.
 */
const CONVERSIONS: ReadonlySet<string> = new Set(
  "bool bytes double duration dyn int string timestamp type uint".split(" "),
)

const constantPlan = (constant: Value): Plan => ({ step: () => constant, constant })

class Planner {
  readonly #options: PlanOptions
  readonly #globals: ReadonlyMap<string, number>
  readonly #locals: Map<string, Local>[] = []
  slots: number

  constructor(options: PlanOptions) {
    this.#options = options
    this.#globals = new Map(options.globals.map(({ name }, i) => [name, i]))
    this.slots = options.globals.length
  }

  plan(expr: Expr): Plan {
    switch (expr.kind) {
      case "literal":
        return constantPlan(expr.value)
      case "ident":
        return this.#ident(expr.name)
      case "select":
        return expr.qualified === undefined ? this.#select(expr) : this.#ident(expr.qualified)
      case "call":
        return this.#call(expr)
      case "list":
        return this.#list(expr)
      case "map":
        return this.#map(expr)
      case "struct":
        return this.#struct(expr)
      case "comprehension":
        return this.#comprehension(expr)
    }
  }

  #ident(written: string): Plan {
    const name = written.replace(/^\./, "")
    const local = written === name ? this.#locals.findLast((scope) => scope.has(name))?.get(name) : undefined
    if (local !== undefined) return path(readLocal(local))
    const slot = this.#globals.get(name)
    if (slot !== undefined) return path((frame) => frame.global(slot))
    // Types that are not cel-go's own can be made by an expression, but have no value.
    const type = TYPE_NAMES.get(name)
    if (type === undefined) throw new PlanError(`reference to undefined type: ${name}`)
    return constantPlan(new TypeValue(type))
  }

  #select({ operand, field, testOnly }: Select): Plan {
    const from = this.plan(operand)
    const read = bareOf(from)
    if (testOnly) {
      const step: Step = (frame) => {
        const object = read(frame)
        if (object instanceof CelError || (object instanceof Optional && object.value === undefined))
          return object instanceof CelError ? object : false
        frame.charge(SELECT)
        return isPresent(object, field)
      }
      return { step, bare: step }
    }
    return path((frame) => {
      const object = read(frame)
      if (object instanceof StructValue) {
        frame.charge(SELECT)
        return object.get(field)
      }
      return access(frame, object, field)
    }, from.isConditional)
  }

  #call(expr: Call): Plan {
    const { name, namespaced, overloads } = expr.resolved!
    const written = expr.target === undefined || namespaced ? expr.args : [expr.target, ...expr.args]
    const args = written.map((arg) => this.plan(arg))
    const [first, second, third] = args as [Plan, Plan, Plan]
    switch (name) {
      case "_&&_":
        return {
          step: logical(
            args.map(({ step }) => step),
            false,
          ),
        }
      case "_||_":
        return {
          step: logical(
            args.map(({ step }) => step),
            true,
          ),
        }
      case "_?_:_":
        return conditional(first, second, third)
      case "_==_":
        return { step: equality(first.step, second.step, true) }
      case "_!=_":
        return { step: equality(first.step, second.step, false) }
      case "_[_]":
        return index(first, second, false)
      case "_[?_]":
      case "_?._":
        return index(first, second, true)
      case "or":
      case "orValue":
        if (overloads.length !== 1 || overloads[0]!.id.startsWith("optional_"))
          return { step: optionalOr(first.step, second.step, name === "orValue") }
        break
      case "@in": {
        const membership =
          overloads.length === 1 && overloads[0]!.id === "in_list" ? inConstant(first, second) : undefined
        if (membership !== undefined) return membership
        break
      }
      default:
    }
    const declaration = this.#options.functions.get(name)!
    if (args.length === 1 && first.constant !== undefined && CONVERSIONS.has(name)) {
      const value = implementationOf(declaration, overloads)(first.constant)
      if (value instanceof CelError) throw new PlanError(value.message)
      return constantPlan(value)
    }
    return { step: this.#functionCall(declaration, overloads, args) }
  }

  #functionCall(declaration: FunctionDeclaration, overloads: readonly Overload[], args: readonly Plan[]): Step {
    const id = overloads.length === 1 ? overloads[0]!.id : ""
    const cost = callCost(declaration.name, id)
    const constants = args.map(({ constant }) => constant)
    const prepared = overloads.length === 1 ? declaration.prepare?.(constants, overloads[0]!) : undefined
    if (prepared instanceof CelError) throw new PlanError(prepared.message)
    const implementation = prepared ?? implementationOf(declaration, overloads)
    const steps = args.map(({ step }) => step)
    if (declaration.name === "@not_strictly_false") return nonStrict(steps[0]!, implementation)
    const [first, second] = steps
    // cel-go turns calls with a known pattern into calls of any number of arguments.
    if (prepared !== undefined) return nary(steps, implementation, cost)
    if (steps.length === 1) return unary(first!, implementation, cost)
    if (steps.length === 2) return binary(first!, second!, implementation, cost)
    return nary(steps, implementation, cost)
  }

  #list({ elements, optional }: ListExpr): Plan {
    const plans = elements.map((element) => this.plan(element))
    if (optional.size === 0 && plans.every(({ constant }) => constant !== undefined))
      return constantPlan(new ArrayList(plans.map(({ constant }) => constant!)))
    const steps = plans.map(({ step }) => step)
    return {
      step(frame) {
        const list = evaluateList(frame, steps, optional)
        frame.charge(NEW_LIST)
        return list
      },
    }
  }

  #map({ entries }: MapExpr): Plan {
    const plans = entries.map(({ key, value, optional }) => ({
      key: this.plan(key),
      value: this.plan(value),
      optional,
    }))
    const make: Step = (frame) => {
      const map = new HashMap()
      for (const { key, value, optional } of plans) {
        const k = key.step(frame)
        if (k instanceof CelError) return k
        const v = unwrapped(value.step(frame), optional, () => `entry '${show(k)}'`)
        if (v instanceof CelError) return v
        if (v === undefined) map.delete(k)
        else if (!map.set(k, v)) return new CelError(`unsupported key type: ${typeOfValue(k).name}`)
      }
      return map
    }
    const isConstant = plans.every(
      ({ key, value, optional }) => !optional && key.constant !== undefined && value.constant !== undefined,
    )
    if (isConstant) {
      const map = make(undefined as unknown as Frame)
      if (!(map instanceof CelError)) return constantPlan(map)
    }
    return {
      step(frame) {
        const map = make(frame)
        frame.charge(NEW_MAP)
        return map
      },
    }
  }

  #struct({ name, fields }: StructExpr): Plan {
    const type = this.#options.types(name.replace(/^\./, ""))!
    const plans = fields.map((field) => ({ ...field, step: this.plan(field.value).step }))
    return {
      step(frame) {
        const values = new Map<string, Value>()
        let fault: CelError | undefined
        for (const { name: field, step, optional } of plans) {
          const value = unwrapped(step(frame), optional, () => `entry '${field}'`)
          if (value instanceof CelError) {
            fault = value
            break
          }
          if (value === undefined) values.delete(field)
          else values.set(field, value)
        }
        frame.charge(NEW_STRUCT)
        return fault ?? new MadeStruct(type, values)
      },
    }
  }

  #slot(): number {
    return this.slots++
  }

  #comprehension(expr: Comprehension): Plan {
    if (isBinding(expr)) return this.#binding(expr)
    const { step: range } = this.plan(expr.range)
    const { step: init } = this.plan(expr.init)
    const accumulator = this.#slot()
    const variable = this.#slot()
    const variable2 = expr.variable2 === undefined ? undefined : this.#slot()
    const scope = new Map<string, Local>([[expr.accumulator, { slot: accumulator }]])
    this.#locals.push(scope)
    const loop = new Map<string, Local>([[expr.variable, { slot: variable }]])
    if (variable2 !== undefined) loop.set(expr.variable2!, { slot: variable2 })
    this.#locals.push(loop)
    const { step: condition, constant } = this.plan(expr.condition)
    const { step } = this.plan(expr.step)
    this.#locals.pop()
    const { step: result } = this.plan(expr.result)
    this.#locals.pop()
    const always = constant === true
    return {
      step(frame) {
        const over = range(frame)
        if (over instanceof CelError) return over
        const { slots } = frame
        slots[accumulator] = mutable(init(frame))
        for (const [key, value] of variable2 === undefined ? single(over) : pairs(over)) {
          if (key instanceof Fault) return key.error
          slots[variable] = key
          if (variable2 !== undefined) slots[variable2] = value
          if (!always && condition(frame) === false) break
          slots[accumulator] = step(frame)
        }
        const value = result(frame)
        return value instanceof GrowingList ? value.settled() : value
      },
    }
  }

  /** A variable with a value, which is worked out when it is first read. */
  #binding(expr: Comprehension): Plan {
    const { step: init } = this.plan(expr.init)
    const slot = this.#slot()
    this.#locals.push(new Map([[expr.accumulator, { slot, init }]]))
    const { step: result } = this.plan(expr.result)
    this.#locals.pop()
    return {
      step(frame) {
        frame.slots[slot] = undefined
        return result(frame)
      },
    }
  }
}

const bareOf = ({ bare, step }: Plan): Step => bare ?? step

/** A path: its cost comes once, after its parts. */
function path(bare: Step, isConditional = false): Plan {
  if (isConditional) return { step: bare, bare, isConditional }
  return {
    bare,
    step(frame) {
      const value = bare(frame)
      frame.charge(SELECT)
      return value
    },
  }
}

function readLocal({ slot, init }: Local): Step {
  if (init === undefined) return (frame) => frame.slots[slot]!
  return (frame) => (frame.slots[slot] ??= init(frame))
}

/** Reads from an object that may be an optional, which makes the result one. */
function access(frame: Frame, object: Value, key: Value): Value {
  if (object instanceof CelError) return object
  if (object instanceof Optional) return object.value === undefined ? object : accessOptional(frame, object.value, key)
  frame.charge(SELECT)
  return qualify(object, key)
}

function accessOptional(frame: Frame, object: Value, key: Value): Value {
  const found = find(object, key)
  if (found === undefined) return Optional.NONE
  frame.charge(SELECT)
  return found instanceof CelError ? found : new Optional(found)
}

function index(object: Plan, key: Plan, optional: boolean): Plan {
  const read = bareOf(object)
  const readKey = bareOf(key)
  return path((frame) => {
    const from = read(frame)
    if (from instanceof CelError) return from
    const inner = from instanceof Optional ? from.value : from
    if (inner === undefined) return from
    const at = readKey(frame)
    if (at instanceof CelError) {
      if (from === inner && !optional) frame.charge(SELECT)
      return at
    }
    if (from !== inner || optional) return accessOptional(frame, inner, at)
    return access(frame, inner, at)
  }, object.isConditional)
}

/** A condition costs nothing, and its branches no more than their parts. */
function conditional(condition: Plan, yes: Plan, no: Plan): Plan {
  const { step: holds } = condition
  const whenTrue = bareOf(yes)
  const whenFalse = bareOf(no)
  const step: Step = (frame) => {
    const value = holds(frame)
    if (value === true) return whenTrue(frame)
    if (value === false) return whenFalse(frame)
    return value instanceof CelError ? value : NO_SUCH_OVERLOAD
  }
  return { step, bare: step, isConditional: true }
}

/** `&&` and `||`: a term that decides wins over errors in other terms. */
function logical(terms: readonly Step[], decides: boolean): Step {
  if (terms.length === 2) {
    const [left, right] = terms as [Step, Step]
    return (frame) => {
      const a = left(frame)
      if (a === decides) return decides
      const b = right(frame)
      if (b === decides) return decides
      if (typeof a === "boolean" && typeof b === "boolean") return !decides
      return asFault(typeof a === "boolean" ? b : a)
    }
  }
  return (frame) => {
    let fault: CelError | undefined
    for (const term of terms) {
      const value = term(frame)
      if (value === decides) return decides
      if (typeof value !== "boolean") fault ??= asFault(value)
    }
    return fault ?? !decides
  }
}

const asFault = (value: Value): CelError => (value instanceof CelError ? value : NO_SUCH_OVERLOAD)

function equality(left: Step, right: Step, wanted: boolean): Step {
  return (frame) => {
    const a = left(frame)
    const b = right(frame)
    frame.charge(equalityCost(a, b))
    if (a instanceof CelError) return a
    if (b instanceof CelError) return b
    const isEqual = equal(a, b)
    if (wanted && !isEqual && isOfOtherKind(a, b)) return NO_SUCH_OVERLOAD
    return isEqual === wanted
  }
}

function equalityCost(a: Value, b: Value): number {
  if (typeof a === "number" || typeof b === "number")
    return Math.min(1, typeof a === "number" ? smallest(b) : smallest(a))
  return Math.ceil(Math.min(sizeForCost(a), sizeForCost(b)) * 0.1)
}

const smallest = (value: Value): number => Math.min(1, sizeForCost(value))

function optionalOr(left: Step, right: Step, unwrap: boolean): Step {
  return (frame) => {
    const value = left(frame)
    if (!(value instanceof Optional)) return value
    if (value.value === undefined) return right(frame)
    return unwrap ? value.value : value
  }
}

/** `x in [1, 2]` with primitives: a set, which costs nothing to look into. */
function inConstant({ step }: Plan, { constant }: Plan): Plan | undefined {
  if (!(constant instanceof ListValue)) return undefined
  if (constant.size === 0) return constantPlan(false)
  const members = new Set<unknown>()
  for (const item of constant) {
    const id = identity(item)
    if (id === undefined) return undefined
    members.add(id)
  }
  return {
    step(frame) {
      const value = step(frame)
      return value instanceof CelError ? value : members.has(identity(value))
    },
  }
}

const implementationOf = (declaration: FunctionDeclaration, overloads: readonly Overload[]): Implementation =>
  declaration.singleton ?? dispatcher(declaration, overloads)

function nonStrict(arg: Step, implementation: Implementation): Step {
  return (frame) => {
    const value = arg(frame)
    frame.charge(1)
    return implementation(value)
  }
}

function unary(arg: Step, implementation: Implementation, cost: CallCost): Step {
  return (frame) => {
    const value = arg(frame)
    const result = value instanceof CelError ? value : implementation(value)
    frame.charge(typeof cost === "number" ? cost : cost([value], result))
    return result
  }
}

function binary(left: Step, right: Step, implementation: Implementation, cost: CallCost): Step {
  return (frame) => {
    const a = left(frame)
    const b = right(frame)
    const result = a instanceof CelError ? a : b instanceof CelError ? b : implementation(a, b)
    frame.charge(typeof cost === "number" ? cost : cost([a, b], result))
    return result
  }
}

/**
 * A call of none, three or more arguments. It costs nothing where an argument before the last is an error: cel-go finds
 * the cost by the arguments that were evaluated.
 */
function nary(steps: readonly Step[], implementation: Implementation, cost: CallCost): Step {
  return (frame) => {
    const args: Value[] = []
    for (const step of steps) {
      const value = step(frame)
      args.push(value)
      if (!(value instanceof CelError)) continue
      if (args.length === steps.length) frame.charge(typeof cost === "number" ? cost : cost(args, value))
      return value
    }
    const result = implementation(...args)
    frame.charge(typeof cost === "number" ? cost : cost(args, result))
    return result
  }
}

function evaluateList(frame: Frame, steps: readonly Step[], optional: ReadonlySet<number>): Value {
  const items: Value[] = []
  for (let i = 0; i < steps.length; i++) {
    const value = unwrapped(steps[i]!(frame), optional.has(i), () => "list element")
    if (value instanceof CelError) return value
    if (value !== undefined) items.push(value)
  }
  return new ArrayList(items)
}

/** The value of an element that may be written `?x`: undefined for one that is none. */
function unwrapped(value: Value, optional: boolean, what: () => string): Value | undefined {
  if (!optional || value instanceof CelError) return value
  if (value instanceof Optional) return value.value
  return new CelError(`cannot initialize optional ${what()} from non-optional value ${show(value)}`)
}

/** Macros begin with an empty list or map, to which each turn adds. */
function mutable(value: Value): Value {
  if (value instanceof ArrayList && value.size === 0) return new GrowingList()
  return value instanceof HashMap && value.size === 0 ? new HashMap() : value
}

/** Stands in a loop for a range that cannot be walked. */
class Fault {
  readonly error: CelError
  constructor(error: CelError) {
    this.error = error
  }
}
type Item = readonly [Value | Fault, Value]

function* single(range: Value): Iterable<Item> {
  if (range instanceof ListValue) for (const item of range) yield [item, null]
  else if (range instanceof MapValue) for (const key of range.keys()) yield [key, null]
  else if (range instanceof StructValue) for (const name of range.fieldNames()) yield [name, null]
  else yield [new Fault(new CelError(`got '${goType(range)}', expected iterable type`)), null]
}

/** The name of a value's type in cel-go's own code, which its message shows. */
function goType(value: Value): string {
  if (value instanceof Optional) return "*types.Optional"
  const word = typeOfValue(value).name.replace(/^google\.protobuf\.|_type$/g, "")
  return `types.${word[0]!.toUpperCase()}${word.slice(1)}`
}

function* pairs(range: Value): Iterable<Item> {
  if (range instanceof ListValue) for (let i = 0; i < range.size; i++) yield [i, range.at(i)]
  else if (range instanceof MapValue) for (const key of range.keys()) yield [key, range.find(key)!]
  else if (range instanceof StructValue) for (const name of range.fieldNames()) yield [name, range.get(name)]
  else yield [new Fault(new CelError(`unsupported comprehension range type: ${typeOfValue(range).name}`)), null]
}
