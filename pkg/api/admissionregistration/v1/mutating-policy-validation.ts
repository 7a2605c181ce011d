import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { at, invalidValue, notSupported, required } from "../../../apimachinery/validation/field-errors.ts"
import { JSON_PATCH_TYPE, OBJECT } from "../../../cel/mutation-types.ts"
import { listOf, type CelType } from "../../../cel/type.ts"
import { expressionFaults, VariableTypes, type ExpressionScope } from "./expressions.ts"
import { paramKindFaults, type MatchResources } from "./matchresources.ts"
import type { MutatingAdmissionPolicySpec, Mutation } from "./mutatingadmissionpolicyspec.ts"
import { constraintsFaults, failurePolicyFaults, variableFaults } from "./policy-validation.ts"
import { conditionsFaults } from "./webhook.ts"

/** Source: validateMutatingAdmissionPolicySpec in pkg/apis/admissionregistration/validation. */

const OPERATIONS = ["*", "CONNECT", "CREATE", "UPDATE"]
const PATCH_TYPES = ["ApplyConfiguration", "JSONPatch"]
const REINVOCATIONS = ["IfNeeded", "Never"]

/** The type of a mutation's expression, by the mutation's patchType. */
export const MUTATION_RESULTS: Readonly<Record<string, CelType>> = {
  ApplyConfiguration: OBJECT,
  JSONPatch: listOf(JSON_PATCH_TYPE),
}

/** Returns the faults of a policy. Match conditions that are unchanged from `old` are not compiled again. */
export function mutatingPolicyFaults(
  spec: MutatingAdmissionPolicySpec,
  old?: MutatingAdmissionPolicySpec,
): readonly Cause[] {
  const { failurePolicy, paramKind, matchConstraints, matchConditions = [], variables = [], mutations = [] } = spec
  const { reinvocationPolicy = "" } = spec
  const types = new VariableTypes()
  const hasParams = paramKind !== undefined
  const scope: ExpressionScope = { hasParams, hasAuthorizer: true, variables: types }
  const sameConditions =
    old !== undefined && deepEqual(paramKind, old.paramKind) && deepEqual(matchConditions, old.matchConditions ?? [])
  return [
    ...failurePolicyFaults(failurePolicy),
    ...(paramKind === undefined ? [] : paramKindFaults("spec.paramKind", paramKind)),
    ...constraintsFaults(matchConstraints),
    ...(matchConstraints === undefined ? [] : mutatingOperationFaults("spec.matchConstraints", matchConstraints)),
    ...(sameConditions
      ? []
      : conditionsFaults("spec.matchConditions", matchConditions, { hasParams, hasAuthorizer: true })),
    ...variables.flatMap((variable, i) => variableFaults(at("spec.variables", i), variable, scope, types)),
    ...(mutations.length === 0
      ? [required("spec.mutations", "mutations must contain at least one item")]
      : mutations.flatMap((mutation, i) => mutationFaults(at("spec.mutations", i), mutation, scope))),
    ...(reinvocationPolicy === ""
      ? [required("spec.reinvocationPolicy")]
      : REINVOCATIONS.includes(reinvocationPolicy)
        ? []
        : [notSupported("spec.reinvocationPolicy", reinvocationPolicy, REINVOCATIONS)]),
  ]
}

/** Refuses DELETE, since an object that is deleted cannot be mutated. */
export const mutatingOperationFaults = (
  path: string,
  { resourceRules = [] }: Pick<MatchResources, "resourceRules">,
): readonly Cause[] =>
  resourceRules
    .flatMap(({ operations = [] }) => operations)
    .filter((operation) => !OPERATIONS.includes(operation))
    .map((operation) => notSupported(at(path, "resourceRules", "operations"), operation, OPERATIONS))

function mutationFaults(path: string, mutation: Mutation, scope: ExpressionScope): readonly Cause[] {
  const { patchType, applyConfiguration, jsonPatch } = mutation
  if (patchType === "") return [required(at(path, "patchType"))]
  if (!PATCH_TYPES.includes(patchType)) return [notSupported(at(path, "patchType"), patchType, PATCH_TYPES)]
  const byField = { applyConfiguration, jsonPatch }
  const [own, other] =
    patchType === "JSONPatch"
      ? (["jsonPatch", "applyConfiguration"] as const)
      : (["applyConfiguration", "jsonPatch"] as const)
  const given = byField[own]
  return [
    ...(given === undefined
      ? [required(at(path, own), `must be specified when patchType is ${patchType}`)]
      : patchFaults(at(path, own, "expression"), given.expression ?? "", patchType, scope)),
    ...(byField[other] === undefined
      ? []
      : [invalidValue(at(path, other), `{${other}}`, `must not be specified when patchType is ${patchType}`)]),
  ]
}

function patchFaults(path: string, expression: string, patchType: string, scope: ExpressionScope): readonly Cause[] {
  const trimmed = expression.trim()
  if (trimmed === "") return [required(path)]
  return expressionFaults(path, trimmed, { ...scope, makesPatches: true }, [MUTATION_RESULTS[patchType]!])
}
