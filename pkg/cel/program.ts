import type { PatternBudget } from "../re2/limits.ts"
import type { Activation } from "./plan/frame.ts"
import type { CelIssue } from "./syntax/issue.ts"
import type { CelType } from "./type.ts"
import type { Value } from "./values/values.ts"

export interface CompileOptions {
  /** The variables that the expression may use. */
  readonly variables: Readonly<Record<string, CelType>>
  /** Whether the expression may build mutations: `Object{}` and `JSONPatch{}`, with the function that escapes keys. */
  readonly mutations?: boolean
  /** Whether the expression may name values with `cel.bind`. */
  readonly bindings?: boolean
  /**
   * The variable whose type gives the sizes for the cost estimate. With the default, `self`, the items of lists that
   * the expression writes count as if they were `self`.
   */
  readonly sizedBy?: string
}

export interface CostEstimate {
  /** In cel-go's units of cost; 2^64 means without limit. */
  readonly min: number
  readonly max: number
}

export interface Compiled {
  readonly program: Program
  readonly resultType: CelType
  readonly estimatedCost: CostEstimate
}

/** Why an expression cannot be used. */
export interface Refused {
  /**
   * `compilation`: the expression has faults, and `issues` say where. `instantiation`: every evaluation would fail, as
   * for `int("x")`; the one issue has no position.
   */
  readonly stage: "compilation" | "instantiation"
  readonly issues: readonly CelIssue[]
}

export interface EvaluationOptions {
  /** The cost limit of the evaluation; PER_CALL_LIMIT by default and at most. */
  readonly budget?: number
  /** What the patterns of several evaluations together may take; those of one unless given. */
  readonly patterns?: PatternBudget
}

export interface Evaluated {
  /** The result; a CelError when the evaluation failed. */
  readonly value: Value
  /** The cost of the evaluation, also when it failed. */
  readonly cost: number
  /** Whether the evaluation was aborted because it exceeded the cost limit. The value is then an error. */
  readonly costExceeded: boolean
}

/** A compiled expression, which can be evaluated any number of times. */
export interface Program {
  /**
   * Evaluates the expression. `activation` has the variables by name: parsed JSON (integers beyond 2^53 as
   * ExactNumber), or values. Never throws.
   */
  evaluate(activation: Activation, options?: EvaluationOptions): Evaluated
}
