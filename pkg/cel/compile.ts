import { createRequire } from "node:module"
import type * as compiler from "./compiler.ts"
import type { Activation } from "./plan/frame.ts"
import type { CelIssue } from "./syntax/issue.ts"
import type { CelType } from "./type.ts"
import type { Value } from "./values.ts"

export interface CompileOptions {
  /** The variables that the expression may use. */
  readonly variables: Readonly<Record<string, CelType>>
  /** Whether the expression may make mutations: `Object{}` and `JSONPatch{}`, with the function that escapes keys. */
  readonly mutations?: boolean
  /** Whether the expression may give values names by `cel.bind`. */
  readonly bindings?: boolean
  /**
   * The variable whose type says how large its parts can be, for the estimated cost. `self` unless given, and then the
   * items of lists that the expression writes count as if they were `self`.
   */
  readonly sizedBy?: string
}

export interface CostEstimate {
  /** In cel-go's units of cost; 2^64 means without bound. */
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
   * `compilation`: the expression is faulty, and `issues` say where. `instantiation`: it can never be evaluated, as
   * `int("x")`; the one issue has no place.
   */
  readonly stage: "compilation" | "instantiation"
  readonly issues: readonly CelIssue[]
}

export interface EvaluationOptions {
  /** The most that the evaluation may cost; PER_CALL_LIMIT if absent, and never more. */
  readonly budget?: number
}

export interface Evaluated {
  /** The result; a CelError where the expression failed. */
  readonly value: Value
  /** What the evaluation cost, also where it failed. */
  readonly cost: number
  /** Whether the evaluation was ended because it had cost too much. The value is an error then. */
  readonly costExceeded: boolean
}

/** An expression that is ready to be evaluated, any number of times. */
export interface Program {
  /**
   * Evaluates the expression. `activation` holds parsed JSON by the variables' names (integers beyond 2^53 as
   * ExactNumber), or values. Never throws.
   */
  evaluate(activation: Activation, options?: EvaluationOptions): Evaluated
}

/**
 * The language is loaded with the first expression: it takes some 30 ms, and most clusters have none. Only Bun and its
 * bundler have `require` in a module, and the bundler finds only what is written so; Deno makes its own.
 */
const load = (): typeof compiler =>
  typeof require === "function"
    ? require("./compiler.ts") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("./compiler.ts")

/** Compiles an expression with the libraries of Kubernetes 1.36. */
export const compile = (source: string, options: CompileOptions): Compiled | Refused => load().compile(source, options)
