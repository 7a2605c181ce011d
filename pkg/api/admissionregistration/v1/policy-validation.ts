import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { isQualifiedName } from "../../../apimachinery/validation/names.ts"
import { repeated } from "../../../apimachinery/validation/repeated.ts"
import { BOOL, DYN, NULL, STRING } from "../../../cel/type.ts"
import {
  compileExpression,
  expressionFault,
  expressionFaults,
  VariableTypes,
  type ExpressionScope,
} from "./expressions.ts"
import { matchFaults, paramKindFaults, type MatchResources } from "./matchresources.ts"
import type {
  AuditAnnotation,
  Validation,
  ValidatingAdmissionPolicySpec,
  Variable,
} from "./validatingadmissionpolicyspec.ts"
import { conditionsFaults } from "./webhook.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Source: validateValidatingAdmissionPolicySpec in pkg/apis/admissionregistration/validation. */

const REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"]
const MOST_ANNOTATIONS = 20
const LONGEST_VALUE_EXPRESSION = 5 * 1024
const NEITHER = "validations or auditAnnotations must contain at least one item"

/**
 * Returns the faults of a policy with this name. Match conditions that are unchanged from `old` are not compiled again.
 */
export function policyFaults(
  name: string,
  spec: ValidatingAdmissionPolicySpec,
  old?: ValidatingAdmissionPolicySpec,
): readonly Cause[] {
  const { failurePolicy, paramKind, matchConstraints, matchConditions = [], variables = [] } = spec
  const { validations = [], auditAnnotations = [] } = spec
  const types = new VariableTypes()
  const hasParams = paramKind !== undefined
  const scope: ExpressionScope = {
    hasParams,
    hasAuthorizer: true,
    ...(variables.length > 0 ? { variables: types } : {}),
  }
  const sameConditions =
    old !== undefined && deepEqual(paramKind, old.paramKind) && deepEqual(matchConditions, old.matchConditions ?? [])
  return [
    ...failurePolicyFaults(failurePolicy),
    ...(paramKind === undefined ? [] : paramKindFaults("spec.paramKind", paramKind)),
    ...constraintsFaults(matchConstraints),
    ...(sameConditions
      ? []
      : conditionsFaults("spec.matchConditions", matchConditions, { hasParams, hasAuthorizer: true })),
    ...variables.flatMap((variable, i) => variableFaults(at("spec.variables", i), variable, scope, types)),
    ...(validations.length === 0 && auditAnnotations.length === 0
      ? [required("spec.validations", NEITHER), required("spec.auditAnnotations", NEITHER)]
      : [
          ...validations.flatMap((validation, i) => validationFaults(at("spec.validations", i), validation, scope)),
          ...annotationsFaults("spec.auditAnnotations", name, auditAnnotations, scope),
        ]),
  ]
}

export const failurePolicyFaults = (policy: string): readonly Cause[] =>
  ["Fail", "Ignore"].includes(policy) ? [] : [notSupported("spec.failurePolicy", policy, ["Fail", "Ignore"])]

/** Returns the faults of a policy's match constraints, which must name resources. */
export const constraintsFaults = (constraints: MatchResources | undefined): readonly Cause[] =>
  constraints === undefined
    ? [required("spec.matchConstraints")]
    : [
        ...matchFaults("spec.matchConstraints", constraints),
        ...((constraints.resourceRules ?? []).length === 0 ? [required("spec.matchConstraints.resourceRules")] : []),
      ]

const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/
const RESERVED = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
)

/** Adds the type of the variable for later expressions. */
export function variableFaults(
  path: string,
  { name, expression }: Variable,
  scope: ExpressionScope,
  types: VariableTypes,
): readonly Cause[] {
  const causes: Cause[] = []
  if (name.trim() === "") causes.push(required(at(path, "name"), "name is not specified"))
  else if (!IDENTIFIER.test(name) || RESERVED.has(name))
    causes.push(invalidValue(at(path, "name"), name, "must be a valid CEL identifier"))
  if (expression.trim() === "") return [...causes, required(at(path, "expression"), "expression is not specified")]
  const compiled = compileExpression(expression, scope)
  if (typeof compiled === "string") causes.push(expressionFault(at(path, "expression"), expression, compiled))
  types.add(name, typeof compiled === "string" ? DYN : compiled.resultType)
  return causes
}

function validationFaults(path: string, validation: Validation, scope: ExpressionScope): readonly Cause[] {
  const { expression, message = "", messageExpression = "", reason } = validation
  const causes: Cause[] = []
  if (expression.trim() === "") causes.push(required(at(path, "expression"), "expression is not specified"))
  else pushAll(causes, expressionFaults(at(path, "expression"), expression, scope, [BOOL]))
  if (messageExpression !== "" && messageExpression.trim() === "")
    causes.push(invalidValue(at(path, "messageExpression"), messageExpression, "must be non-empty if specified"))
  else if (messageExpression !== "")
    pushAll(
      causes,
      expressionFaults(at(path, "messageExpression"), messageExpression, { ...scope, hasAuthorizer: false }, [STRING]),
    )
  if (message !== "" && message.trim() === "")
    causes.push(invalidValue(at(path, "message"), message, "must be non-empty if specified"))
  else if (/[\n\r]/.test(message.trim()))
    causes.push(invalidValue(at(path, "message"), message, "must not contain line breaks"))
  if (reason !== undefined && !REASONS.includes(reason)) causes.push(notSupported(at(path, "reason"), reason, REASONS))
  return causes
}

function annotationsFaults(
  path: string,
  policy: string,
  annotations: readonly AuditAnnotation[],
  scope: ExpressionScope,
): readonly Cause[] {
  const causes: Cause[] = []
  const twins = repeated(annotations, ({ key }) => key)
  if (annotations.length > MOST_ANNOTATIONS)
    causes.push(invalidValue(path, annotations, `must not have more than ${MOST_ANNOTATIONS} auditAnnotations`))
  for (const [i, { key, valueExpression }] of annotations.entries()) {
    const here = at(path, i)
    if (policy === "") causes.push(invalidValue(at(here, "key"), key, "requires metadata.name be non-empty"))
    else pushAll(causes, invalidValues(at(here, "key"), `${policy}/${key}`, isQualifiedName(`${policy}/${key}`)))
    const trimmed = valueExpression.trim()
    if (trimmed === "") causes.push(required(at(here, "valueExpression"), "valueExpression is not specified"))
    else if (trimmed.length > LONGEST_VALUE_EXPRESSION)
      causes.push(required(at(here, "valueExpression"), `must not exceed ${LONGEST_VALUE_EXPRESSION} bytes in length`))
    else pushAll(causes, expressionFaults(at(here, "valueExpression"), trimmed, scope, [STRING, NULL]))
    if (twins.has(i)) causes.push(duplicate(at(here, "key"), key))
  }
  return causes
}
