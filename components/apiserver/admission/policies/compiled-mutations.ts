import {
  compileExpression,
  type CompiledExpression,
  type ExpressionScope,
} from "../../../../pkg/api/admissionregistration/v1/expressions.ts"
import { MUTATION_RESULTS } from "../../../../pkg/api/admissionregistration/v1/mutating-policy-validation.ts"
import type { MutatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
import { compileVariables, type CompiledVariables } from "./evaluation.ts"

/** An expression of a policy that makes a change. */
export interface CompiledMutation {
  readonly patchType: string
  readonly expression: string
  /** Why it does not compile, where it does not. */
  readonly compiled: CompiledExpression | string
}

/** The expressions of a policy that changes objects. */
export interface CompiledMutations {
  readonly scope: ExpressionScope
  readonly variables: CompiledVariables
  readonly mutations: readonly CompiledMutation[]
}

/** Source: policy/mutating/compilation.go compilePolicy. */
export function compileMutations({ spec }: MutatingAdmissionPolicy): CompiledMutations {
  const { paramKind, variables = [], mutations = [] } = spec
  const plain: ExpressionScope = { hasParams: paramKind !== undefined, hasAuthorizer: true }
  const composed = compileVariables(variables, plain)
  const scope: ExpressionScope = { ...plain, variables: composed.types }
  return {
    scope,
    variables: composed,
    mutations: mutations.map(({ patchType, applyConfiguration, jsonPatch }) => {
      const { expression = "" } = (patchType === "JSONPatch" ? jsonPatch : applyConfiguration) ?? {}
      const compiled = compileExpression(expression, { ...scope, makesPatches: true }, [MUTATION_RESULTS[patchType]!])
      return { patchType, expression, compiled }
    }),
  }
}
