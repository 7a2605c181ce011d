import {
  compileExpression,
  type CompiledExpression,
  type ExpressionScope,
} from "../../../../pkg/api/admissionregistration/v1/expressions.ts"
import { MUTATION_RESULTS } from "../../../../pkg/api/admissionregistration/v1/mutating-policy-validation.ts"
import type { MutatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
import { compileVariables, type CompiledVariables } from "./evaluation.ts"

/** One mutation of a policy. */
export interface CompiledMutation {
  readonly patchType: string
  readonly expression: string
  /** The compiled expression, or the message of its compile error. */
  readonly compiled: CompiledExpression | string
}

/** The compiled expressions of a MutatingAdmissionPolicy. */
export interface CompiledMutations {
  readonly scope: ExpressionScope
  readonly variables: CompiledVariables
  readonly mutations: readonly CompiledMutation[]
}

/** Compiles the expressions of a policy. Source: policy/mutating/compilation.go compilePolicy. */
export function compileMutations({ spec }: MutatingAdmissionPolicy): CompiledMutations {
  const { scope, variables } = compileVariables(spec)
  return {
    scope,
    variables,
    mutations: (spec.mutations ?? []).map(({ patchType, applyConfiguration, jsonPatch }) => {
      const { expression = "" } = (patchType === "JSONPatch" ? jsonPatch : applyConfiguration) ?? {}
      const compiled = compileExpression(expression, { ...scope, makesPatches: true }, [MUTATION_RESULTS[patchType]!])
      return { patchType, expression, compiled }
    }),
  }
}
