import {
  compileExpression,
  VariableTypes,
  type CompiledExpression,
  type ExpressionScope,
} from "../../../../pkg/api/admissionregistration/v1/expressions.ts"
import type { Variable } from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicyspec.ts"
import { DYN, type CelType } from "../../../../pkg/cel/type.ts"
import { CelError, StructValue, type Value } from "../../../../pkg/cel/values/values.ts"

/** The cost limit of all expressions of one policy for one request. Source: apiserver pkg/apis/cel/config.go. */
export const POLICY_BUDGET = 10_000_000
/** The cost limit of all match conditions of one policy or webhook for one request. */
export const MATCH_CONDITIONS_BUDGET = 10_000_000 / 4

/** The expressions of one webhook or policy, compiled in the same scope; a string is the message of a compile error. */
export interface CompiledSet {
  readonly expressions: readonly (CompiledExpression | string)[]
  readonly sources: readonly string[]
}

export interface CompiledVariables {
  readonly type: CelType
  readonly byName: ReadonlyMap<string, CompiledExpression | string>
}

/**
 * Compiles the variables of a policy in order, since each can use the ones before it. Returns also the scope of the
 * policy's expressions.
 */
export function compileVariables({ paramKind, variables = [] }: PolicySpec): {
  readonly scope: ExpressionScope
  readonly variables: CompiledVariables
} {
  const plain: ExpressionScope = { hasParams: paramKind !== undefined, hasAuthorizer: true }
  const types = new VariableTypes()
  const byName = new Map<string, CompiledExpression | string>()
  for (const { name, expression } of variables) {
    const compiled = compileExpression(expression, { ...plain, variables: types })
    byName.set(name, compiled)
    types.add(name, typeof compiled === "string" ? DYN : compiled.resultType)
  }
  return { scope: { ...plain, variables: types }, variables: { type: types.type, byName } }
}

/** The fields that both kinds of policies have. */
interface PolicySpec {
  readonly paramKind?: object | undefined
  readonly variables?: readonly Variable[] | undefined
}

export const compileSet = (
  sources: readonly string[],
  scope: ExpressionScope,
  results: readonly CelType[],
): CompiledSet => ({
  sources,
  expressions: sources.map((source) => compileExpression(source, scope, results)),
})

/** The expressions of a policy have together exceeded the cost limit. */
export class OutOfBudget extends Error {
  constructor() {
    super("validation failed due to running out of cost budget, no further validation rules will be run")
  }
}

/** Counts down the cost limit of a policy. */
export class Budget {
  #left: number
  constructor(most: number) {
    this.#left = most
  }
  /** @throws OutOfBudget when `cost` exceeds what is left */
  spend(cost: number): void {
    if (cost > this.#left) throw new OutOfBudget()
    this.#left -= cost
  }
}

/** The result of an expression, or the message of its error. */
export type Outcome = { readonly value: Value } | { readonly error: string }

/**
 * Evaluates an expression and charges its cost to the budget. Variables that it reads are evaluated on first use, and
 * charged too.
 * @throws OutOfBudget. Source: plugin/cel/activation.go Evaluate.
 */
export function evaluate(
  compiled: CompiledExpression | string,
  source: string,
  activation: Readonly<Record<string, unknown>>,
  budget: Budget,
): Outcome {
  if (typeof compiled === "string") return { error: `compilation error: ${compiled}` }
  const { value, cost } = compiled.program.evaluate(activation)
  budget.spend(cost)
  if (value instanceof CelError) return { error: `expression '${source}' resulted in error: ${value.message}` }
  return { value }
}

/** The variables of a policy, each of which is evaluated when it is first read. Source: plugin/cel/composition.go. */
export class LazyVariables extends StructValue {
  readonly type: CelType
  readonly isMade = false
  readonly #byName: CompiledVariables["byName"]
  readonly #activation: Readonly<Record<string, unknown>>
  readonly #budget: Budget
  readonly #known = new Map<string, Value>()

  constructor({ type, byName }: CompiledVariables, activation: Readonly<Record<string, unknown>>, budget: Budget) {
    super()
    this.type = type
    this.#byName = byName
    // A variable can read the variables before it, through this object.
    this.#activation = { ...activation, variables: this }
    this.#budget = budget
  }
  get size(): number {
    return this.#byName.size
  }
  has(field: string): boolean {
    return this.#byName.has(field)
  }
  get(field: string): Value {
    let value = this.#known.get(field)
    if (value === undefined) this.#known.set(field, (value = this.#evaluated(field)))
    return value
  }
  fieldNames(): readonly string[] {
    return [...this.#byName.keys()]
  }
  equals(other: StructValue): boolean {
    return this === other
  }
  #evaluated(name: string): Value {
    const compiled = this.#byName.get(name)
    if (compiled === undefined) return new CelError(`no such key: ${name}`)
    if (typeof compiled === "string")
      return new CelError(`composited variable ${JSON.stringify(name)} fails to compile: ${compiled}`)
    const { value, cost } = compiled.program.evaluate(this.#activation)
    this.#budget.spend(cost)
    return value instanceof CelError
      ? new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${value.message}`)
      : value
  }
}
