import {
  compileExpression,
  type CompiledExpression,
  type ExpressionScope,
} from "../../../../pkg/api/admissionregistration/v1/expressions.ts"
import type { ValidatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import type {
  AuditAnnotation,
  Validation,
} from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicyspec.ts"
import { BOOL, NULL, STRING } from "../../../../pkg/cel/type.ts"
import { compileVariables, type CompiledVariables } from "./evaluation.ts"

type Compiled = CompiledExpression | string

/** The compiled expressions of a ValidatingAdmissionPolicy. */
export interface CompiledValidations {
  readonly scope: ExpressionScope
  readonly variables: CompiledVariables
  readonly validations: readonly {
    readonly validation: Validation
    readonly condition: Compiled
    readonly message: Compiled | undefined
  }[]
  readonly annotations: readonly { readonly annotation: AuditAnnotation; readonly value: Compiled }[]
}

export function compileValidations(policy: ValidatingAdmissionPolicy): CompiledValidations {
  const { validations = [], auditAnnotations = [] } = policy.spec
  const { scope, variables } = compileVariables(policy.spec)
  return {
    scope,
    variables,
    validations: validations.map((validation) => ({
      validation,
      condition: compileExpression(validation.expression, scope, [BOOL]),
      message:
        (validation.messageExpression ?? "").trim() === ""
          ? undefined
          : compileExpression(validation.messageExpression!, { ...scope, hasAuthorizer: false }, [STRING]),
    })),
    annotations: auditAnnotations.map((annotation) => ({
      annotation,
      value: compileExpression(annotation.valueExpression.trim(), scope, [STRING, NULL]),
    })),
  }
}
