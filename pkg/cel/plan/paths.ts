/** Reads variables, fields and items, and charges for it. Source: cel-go interpreter/attributes.go. */
import { CelError, Optional, type Value } from "../values/values.ts"
import type { Frame, Step } from "./frame.ts"
import { find, qualify } from "./qualify.ts"

/** Cost of reading a variable or a field. Source: cel-go common/cost.go. */
export const SELECT = 1

/** How to evaluate an expression. */
export interface Plan {
  readonly step: Step
  /** The value of an expression that is known at compile time. It costs nothing. */
  readonly constant?: Value
  /**
   * For variables, fields, items and conditions: evaluates without the cost that a whole path has once. cel-go does not
   * charge it when the path is a branch of a condition or an index.
   */
  readonly bare?: Step
  /** Whether the path begins with a condition; such a path costs no more than its parts. */
  readonly isConditional?: boolean
}

export const constantPlan = (constant: Value): Plan => ({ step: () => constant, constant })

export const bareOf = ({ bare, step }: Plan): Step => bare ?? step

/** Returns the plan of a path, whose cost is charged once, after its parts. */
export function path(bare: Step, isConditional = false): Plan {
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

/** Reads a key of an object. If the object is an optional, the result is one too. */
export function access(frame: Frame, object: Value, key: Value): Value {
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

export function index(object: Plan, key: Plan, optional: boolean): Plan {
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
