import { check } from "./check/checker.ts"
import { validate } from "./check/validate.ts"
import { estimateCost } from "./cost/estimate.ts"
import { sizesOf } from "./cost/estimated-node.ts"
import { functionTable } from "./library/declare.ts"
import { KUBERNETES, type Library } from "./kubernetes.ts"
import { CostExceeded, PER_CALL_LIMIT } from "./limits.ts"
import { Frame, type Activation } from "./plan/frame.ts"
import { plan, PlanError, type Planned } from "./plan/planner.ts"
import { Issues, type CelIssue } from "./syntax/issue.ts"
import { macroTable } from "./syntax/macros.ts"
import { parse } from "./syntax/parser.ts"
import type { CelType } from "./type.ts"
import { TYPE_NAMES } from "./types-by-name.ts"
import { CelError, type Value } from "./values.ts"

export interface CompileOptions {
  /** The variables that the expression may use. */
  readonly variables: Readonly<Record<string, CelType>>
  /** Further types that the expression may name and make, such as `Object.spec` of mutating policies. */
  readonly types?: (name: string) => CelType | undefined
  /** Libraries beyond those of Kubernetes. */
  readonly libraries?: readonly Library[]
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
export class Program {
  readonly #planned: Planned
  readonly #globals: readonly { readonly name: string; readonly type: CelType }[]

  constructor(planned: Planned, globals: readonly { readonly name: string; readonly type: CelType }[]) {
    this.#planned = planned
    this.#globals = globals
  }

  /**
   * Evaluates the expression. `activation` holds parsed JSON by the variables' names (integers beyond 2^53 as
   * ExactNumber), or values. Never throws.
   */
  evaluate(activation: Activation, { budget = PER_CALL_LIMIT }: EvaluationOptions = {}): Evaluated {
    const limit = Math.min(budget, PER_CALL_LIMIT)
    const frame = new Frame(activation, this.#globals, this.#planned.slots, limit)
    try {
      return { value: this.#planned.step(frame), cost: frame.cost, costExceeded: false }
    } catch (err) {
      if (err instanceof CostExceeded) return { value: new CelError(err.message), cost: frame.cost, costExceeded: true }
      // Only the engine's own limits are left: the depth of calls, the length of a string.
      if (err instanceof RangeError) return { value: new CelError(err.message), cost: frame.cost, costExceeded: false }
      throw err
    }
  }
}

const TABLES = tablesOf([KUBERNETES])

/** Compiles an expression with the libraries of Kubernetes 1.36. */
export function compile(source: string, options: CompileOptions): Compiled | Refused {
  const { variables, types = () => undefined, libraries = [] } = options
  const { functions, macros } = libraries.length === 0 ? TABLES : tablesOf([KUBERNETES, ...libraries])
  const typeNamed = (name: string): CelType | undefined => TYPE_NAMES.get(name) ?? types(name)
  const issues = new Issues(source)
  const refused = (): Refused => ({ stage: "compilation", issues: issues.sorted() })
  const expression = parse(source, macros, issues)
  if (expression === undefined) return refused()
  const resultType = check(
    expression,
    { variables: new Map(Object.entries(variables)), functions, types: typeNamed },
    issues,
  )
  if (issues.count === 0) validate(expression, issues)
  if (issues.count > 0) return refused()
  const globals = Object.entries(variables).map(([name, type]) => ({ name, type }))
  try {
    const planned = plan(expression, { functions, globals, types: typeNamed })
    const estimatedCost = estimateCost(expression, sizesOf(variables["self"]))
    return { program: new Program(planned, globals), resultType, estimatedCost }
  } catch (err) {
    if (!(err instanceof PlanError)) throw err
    return { stage: "instantiation", issues: [{ message: err.message, line: 0, column: -1 }] }
  }
}

function tablesOf(libraries: readonly Library[]) {
  return {
    functions: functionTable(libraries.flatMap((library) => library.functions)),
    macros: macroTable(libraries.flatMap((library) => library.macros)),
  }
}
