/**
 * The operators that are not ordinary function calls: conditions, `&&` and `||`, equality, `or`, and `in` with a
 * constant list.
 */
import { equal, NO_SUCH_OVERLOAD } from "../values/compare.ts"
import { sizeForCost } from "../cost/sizes.ts"
import { isOfOtherKind } from "../values/json-values.ts"
import { identity } from "../values/maps.ts"
import { CelError, ListValue, Optional, type Value } from "../values/values.ts"
import type { Step } from "./frame.ts"
import { bareOf, constantPlan, type Plan } from "./paths.ts"

/** A condition itself costs nothing; only its parts do. */
export function conditional(condition: Plan, yes: Plan, no: Plan): Plan {
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

/** `&&` and `||`: a term with the deciding value wins over errors in other terms. */
export function logical(terms: readonly Step[], decides: boolean): Step {
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

export function equality(left: Step, right: Step, wanted: boolean): Step {
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

export function optionalOr(left: Step, right: Step, unwrap: boolean): Step {
  return (frame) => {
    const value = left(frame)
    if (!(value instanceof Optional)) return value
    if (value.value === undefined) return right(frame)
    return unwrap ? value.value : value
  }
}

/** `x in [1, 2]` with primitive constants: a lookup in a set, which costs nothing. */
export function inConstant({ step }: Plan, { constant }: Plan): Plan | undefined {
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
