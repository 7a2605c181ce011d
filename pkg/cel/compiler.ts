import { PatternBudget } from "../re2/limits.ts"
import { beginPatterns, endPatterns } from "./regex.ts"
import { check } from "./check/checker.ts"
import { validate } from "./check/validate.ts"
import { estimateCost } from "./cost/estimate.ts"
import { sizesOf, sizesOfVariable } from "./cost/estimated-node.ts"
import { functionTable } from "./library/declare.ts"
import type { Compiled, CompileOptions, Evaluated, EvaluationOptions, Program, Refused } from "./program.ts"
import { BINDINGS, JSON_PATCH, KUBERNETES, type Library } from "./kubernetes.ts"
import { CostExceeded, PER_CALL_LIMIT } from "./limits.ts"
import { mutationType } from "./mutation-types.ts"
import { Frame, type Activation } from "./plan/frame.ts"
import { plan, PlanError, type Planned } from "./plan/planner.ts"
import { Issues } from "./syntax/issue.ts"
import { macroTable } from "./syntax/macros.ts"
import { parse } from "./syntax/parser.ts"
import type { CelType } from "./type.ts"
import { TYPE_NAMES } from "./types-by-name.ts"
import { CelError } from "./values/values.ts"

/** A program made of closures, one for each part of the expression. */
export class PlannedProgram implements Program {
  readonly #planned: Planned
  readonly #globals: readonly { readonly name: string; readonly type: CelType }[]

  constructor(planned: Planned, globals: readonly { readonly name: string; readonly type: CelType }[]) {
    this.#planned = planned
    this.#globals = globals
  }

  evaluate(activation: Activation, { budget = PER_CALL_LIMIT, patterns }: EvaluationOptions = {}): Evaluated {
    const limit = Math.min(budget, PER_CALL_LIMIT)
    const frame = new Frame(activation, this.#globals, this.#planned.slots, limit)
    const before = beginPatterns(patterns ?? new PatternBudget())
    try {
      return { value: this.#planned.step(frame), cost: frame.cost, costExceeded: false }
    } catch (err) {
      if (err instanceof CostExceeded) return { value: new CelError(err.message), cost: frame.cost, costExceeded: true }
      // RangeErrors of the JavaScript engine: too deep calls, too long strings.
      if (err instanceof RangeError) return { value: new CelError(err.message), cost: frame.cost, costExceeded: false }
      throw err
    } finally {
      endPatterns(before)
    }
  }
}

const TABLES = tablesOf([KUBERNETES])
const MUTATION_TABLES = tablesOf([KUBERNETES, JSON_PATCH])
const DEVICE_TABLES = tablesOf([KUBERNETES, BINDINGS])

/** See `compile` in compile.ts, which loads this file. */
export function compile(source: string, options: CompileOptions): Compiled | Refused {
  const { variables, mutations = false, bindings = false, sizedBy } = options
  const { functions, macros } = mutations ? MUTATION_TABLES : bindings ? DEVICE_TABLES : TABLES
  const typeNamed = (name: string): CelType | undefined =>
    TYPE_NAMES.get(name) ?? (mutations ? mutationType(name) : undefined)
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
    const estimatedCost = estimateCost(
      expression,
      sizedBy === undefined ? sizesOf(variables["self"]) : sizesOfVariable(sizedBy, variables[sizedBy]),
    )
    return { program: new PlannedProgram(planned, globals), resultType, estimatedCost }
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
