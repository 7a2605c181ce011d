/** Calls of functions, by the number of their arguments. A call is charged after its arguments. */
import type { CallCost } from "../cost/sizes.ts"
import type { FunctionDeclaration, Implementation, Overload } from "../library/declare.ts"
import { CelError, type Value } from "../values/values.ts"
import { dispatcher } from "./dispatch.ts"
import type { Step } from "./frame.ts"

export const implementationOf = (declaration: FunctionDeclaration, overloads: readonly Overload[]): Implementation =>
  declaration.singleton ?? dispatcher(declaration, overloads)

export function nonStrict(arg: Step, implementation: Implementation): Step {
  return (frame) => {
    const value = arg(frame)
    frame.charge(1)
    return implementation(value)
  }
}

export function unary(arg: Step, implementation: Implementation, cost: CallCost): Step {
  return (frame) => {
    const value = arg(frame)
    const result = value instanceof CelError ? value : implementation(value)
    frame.charge(typeof cost === "number" ? cost : cost([value], result))
    return result
  }
}

export function binary(left: Step, right: Step, implementation: Implementation, cost: CallCost): Step {
  return (frame) => {
    const a = left(frame)
    const b = right(frame)
    const result = a instanceof CelError ? a : b instanceof CelError ? b : implementation(a, b)
    frame.charge(typeof cost === "number" ? cost : cost([a, b], result))
    return result
  }
}

/**
 * Calls a function with none, three or more arguments. The call costs nothing when an argument before the last one is
 * an error, since cel-go finds the cost by the arguments that were evaluated.
 */
export function nary(steps: readonly Step[], implementation: Implementation, cost: CallCost): Step {
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
