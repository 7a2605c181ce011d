import {
  compileExpression,
  type CompiledExpression,
  type ExpressionScope,
} from "../../../../pkg/api/admissionregistration/v1/expressions.ts"
import {
  ValidatingAdmissionPolicy,
  type AuditAnnotation,
  type Validation,
} from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import { ValidatingAdmissionPolicyBinding } from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicybinding.ts"
import { BOOL, NULL, STRING } from "../../../../pkg/cel/type.ts"
import type { Storage } from "../../../../pkg/storage/storage.ts"
import type { Objects } from "../../cacher/objects.ts"
import { storagePrefix } from "../../cacher/view.ts"
import { compileVariables, type CompiledVariables } from "./evaluation.ts"

type Compiled = CompiledExpression | string

/** A policy that is in force somewhere, its expressions compiled. */
export interface PolicyInForce {
  readonly policy: ValidatingAdmissionPolicy
  readonly bindings: readonly ValidatingAdmissionPolicyBinding[]
  readonly scope: ExpressionScope
  readonly variables: CompiledVariables
  readonly validations: readonly {
    readonly validation: Validation
    readonly condition: Compiled
    readonly message: Compiled | undefined
  }[]
  readonly annotations: readonly { readonly annotation: AuditAnnotation; readonly value: Compiled }[]
}

/**
 * The policies that have bindings, by their names. What has not changed stays compiled. Source:
 * policy/generic/policy_source.go.
 */
export class PolicySource {
  readonly #objects: Objects
  readonly #compiled = new WeakMap<ValidatingAdmissionPolicy, Omit<PolicyInForce, "bindings">>()
  #inForce: readonly PolicyInForce[] | undefined

  constructor({ storage, objects }: { readonly storage: Storage; readonly objects: Objects }) {
    this.#objects = objects
    const prefixes = [ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding].map((resource) =>
      storagePrefix(resource, undefined),
    )
    storage.subscribe((events) => {
      if (events.some(({ key }) => prefixes.some((prefix) => key.startsWith(prefix)))) this.#inForce = undefined
    })
  }

  all(): readonly PolicyInForce[] {
    return (this.#inForce ??= this.#collected())
  }

  #collected(): readonly PolicyInForce[] {
    const bindings = this.#objects.list(ValidatingAdmissionPolicyBinding)
    if (bindings.length === 0) return []
    return this.#objects.list(ValidatingAdmissionPolicy).flatMap((policy) => {
      const own = bindings.filter(({ spec }) => spec.policyName === policy.metadata.name)
      if (own.length === 0) return []
      let compiled = this.#compiled.get(policy)
      if (compiled === undefined) this.#compiled.set(policy, (compiled = compilePolicy(policy)))
      return [{ ...compiled, bindings: own }]
    })
  }
}

function compilePolicy(policy: ValidatingAdmissionPolicy): Omit<PolicyInForce, "bindings"> {
  const { paramKind, variables = [], validations = [], auditAnnotations = [] } = policy.spec
  const plain: ExpressionScope = { hasParams: paramKind !== undefined, hasAuthorizer: true }
  const composed = compileVariables(variables, plain)
  const scope: ExpressionScope = { ...plain, variables: composed.types }
  return {
    policy,
    scope: plain,
    variables: composed,
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
