import { callCost, withCompiling } from "../cost/runtime.ts"
import { NEW_LIST, NEW_MAP, NEW_STRUCT } from "../cost/sizes.ts"
import { PATTERN_FUNCTIONS } from "../regex.ts"
import { show, typeOfValue } from "../values/convert.ts"
import type { FunctionDeclaration, Overload } from "../library/declare.ts"
import { HashMap } from "../values/maps.ts"
import type { Call, Comprehension, Expr, ListExpr, MapExpr, Select, StructExpr } from "../syntax/ast.ts"
import { isBinding } from "../syntax/binding.ts"
import type { CelType } from "../type.ts"
import { TYPE_NAMES } from "../types-by-name.ts"
import { ArrayList, CelError, Optional, StructValue, TypeValue, type Value } from "../values/values.ts"
import { binary, implementationOf, nary, nonStrict, unary } from "./calls.ts"
import type { Frame, Global, Step } from "./frame.ts"
import { GrowingList, MadeStruct } from "./made-values.ts"
import { conditional, equality, inConstant, logical, optionalOr } from "./operators.ts"
import { access, bareOf, constantPlan, index, path, SELECT, type Plan } from "./paths.ts"
import { isPresent } from "./qualify.ts"
import { Fault, pairs, single } from "./ranges.ts"

export interface Planned {
  readonly step: Step
  readonly slots: number
}

/** Every evaluation of the expression would fail, as for `int("x")`. */
export class PlanError extends Error {}

export interface PlanOptions {
  readonly functions: ReadonlyMap<string, FunctionDeclaration>
  readonly globals: readonly Global[]
  readonly types: (name: string) => CelType | undefined
}

/**
 * Turns a checked expression into closures with cel-go's costs. Source: cel-go interpreter/planner.go, decorators.go
 * (constant folding), runtimecost.go. Throws PlanError.
 */
export function plan(root: Expr, options: PlanOptions): Planned {
  const planner = new Planner(options)
  const { step } = planner.plan(root)
  return { step, slots: planner.slots }
}

interface Local {
  readonly slot: number
  /** Computes the value of a variable when it is first read. */
  readonly init?: Step
}

/**
 * Functions of one argument that are evaluated at compile time when the argument is a constant. Source: cel-go
 * IsTypeConversionFunction.
 */
const CONVERSIONS: ReadonlySet<string> = new Set(
  "bool bytes double duration dyn int string timestamp type uint".split(" "),
)

function readLocal({ slot, init }: Local): Step {
  if (init === undefined) return (frame) => frame.slots[slot]!
  return (frame) => (frame.slots[slot] ??= init(frame))
}

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
    // Expressions can build types other than cel-go's own, but cannot use their names as values.
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
    const constants = args.map(({ constant }) => constant)
    const prepared = overloads.length === 1 ? declaration.prepare?.(constants, overloads[0]!) : undefined
    if (prepared instanceof CelError) throw new PlanError(prepared.message)
    const known = callCost(declaration.name, id)
    const cost = prepared === undefined && PATTERN_FUNCTIONS.has(declaration.name) ? withCompiling(known) : known
    const implementation = prepared ?? implementationOf(declaration, overloads)
    const steps = args.map(({ step }) => step)
    if (declaration.name === "@not_strictly_false") return nonStrict(steps[0]!, implementation)
    const [first, second] = steps
    // cel-go turns a call with a constant pattern into a call with any number of arguments.
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

  /** Plans a variable whose value is computed when it is first read. */
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

function evaluateList(frame: Frame, steps: readonly Step[], optional: ReadonlySet<number>): Value {
  const items: Value[] = []
  for (let i = 0; i < steps.length; i++) {
    const value = unwrapped(steps[i]!(frame), optional.has(i), () => "list element")
    if (value instanceof CelError) return value
    if (value !== undefined) items.push(value)
  }
  return new ArrayList(items)
}

/** Returns the value of an element that may be written as `?x`; undefined for an empty optional. */
function unwrapped(value: Value, optional: boolean, what: () => string): Value | undefined {
  if (!optional || value instanceof CelError) return value
  if (value instanceof Optional) return value.value
  return new CelError(`cannot initialize optional ${what()} from non-optional value ${show(value)}`)
}

/** Macros begin with an empty list or map, to which each iteration adds. */
function mutable(value: Value): Value {
  if (value instanceof ArrayList && value.size === 0) return new GrowingList()
  return value instanceof HashMap && value.size === 0 ? new HashMap() : value
}
