import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { uncovered } from "./rule-coverage.ts"
import type { BindingObject, RoleObject, SubjectObject } from "./rbac-objects.ts"
import type { SimpleRule } from "../../describe/policy-rules.ts"
import type { Unstructured } from "../../rest/json.ts"

/** What is to be done with an object so that it grants what a file says, and why. */
export interface Reconciliation<T extends Unstructured> {
  readonly operation: "create" | "update" | "recreate" | "none"
  /** The object as it shall be. */
  readonly object: T
  /** Whether the object on the server forbids changes. */
  readonly isProtected: boolean
  readonly missingRules: readonly SimpleRule[]
  readonly extraRules: readonly SimpleRule[]
  readonly missingSubjects: readonly SubjectObject[]
  readonly extraSubjects: readonly SubjectObject[]
}

/** The annotation of objects that are not reconciled, whose value is `false` then. */
const AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"

const NOTHING = { isProtected: false, missingRules: [], extraRules: [], missingSubjects: [], extraSubjects: [] }

const isProtected = ({ metadata }: Unstructured): boolean => metadata?.annotations?.[AUTO_UPDATE] === "false"

/** What a new object grants. */
export const creationOf = <T extends RoleObject & BindingObject>(expected: T): Reconciliation<T> => ({
  ...NOTHING,
  operation: "create",
  object: expected,
  missingRules: (expected.rules ?? []).map(wholeRule),
  missingSubjects: expected.subjects ?? [],
})

const wholeRule = (rule: NonNullable<RoleObject["rules"]>[number]): SimpleRule => ({
  verbs: rule.verbs,
  apiGroups: rule.apiGroups ?? [],
  resources: rule.resources ?? [],
  resourceNames: rule.resourceNames ?? [],
  nonResourceURLs: rule.nonResourceURLs ?? [],
})

/** Source: component-helpers auth/rbac/reconciliation/reconcile_role.go. */
export function reconciledRole<T extends RoleObject>(
  existing: T,
  expected: T,
  removesExtra: boolean,
): Reconciliation<T> {
  const [have, want] = [existing.rules ?? [], expected.rules ?? []]
  const areAggregated = expected.aggregationRule !== undefined && existing.aggregationRule !== undefined
  const extraRules = areAggregated ? [] : uncovered(want, have)
  const missingRules = uncovered(have, want)
  const object = withMetadata(existing, expected)
  if (!removesExtra && missingRules.length > 0) object.rules = [...have, ...missingRules.map(withoutEmpty)]
  if (removesExtra && missingRules.length + extraRules.length > 0) object.rules = want
  const aggregationRule = reconciledAggregation(existing, expected, removesExtra)
  if (aggregationRule === undefined) delete object.aggregationRule
  else object.aggregationRule = aggregationRule
  return { ...NOTHING, ...changed(existing, object), isProtected: isProtected(existing), missingRules, extraRules }
}

const withoutEmpty = ({ verbs, ...rule }: SimpleRule) => ({
  ...Object.fromEntries(Object.entries(rule).filter(([, list]) => list.length > 0)),
  verbs: [...verbs],
})

function reconciledAggregation(
  { aggregationRule: existing }: RoleObject,
  { aggregationRule: expected }: RoleObject,
  removesExtra: boolean,
): RoleObject["aggregationRule"] {
  // The role is not expected to be made of others at all.
  if (expected === undefined) return undefined
  const [have, want] = [existing?.clusterRoleSelectors ?? [], expected.clusterRoleSelectors ?? []]
  const without = (some: readonly object[], others: readonly object[]) =>
    some.filter((each) => !others.some((other) => deepEqual(each, other)))
  const missing = without(want, have)
  const isDifferent = missing.length > 0 || without(have, want).length > 0
  if (removesExtra) return isDifferent ? expected : existing
  return missing.length > 0 ? { ...existing, clusterRoleSelectors: [...have, ...missing] } : existing
}

/** Source: component-helpers auth/rbac/reconciliation/reconcile_rolebindings.go. */
export function reconciledBinding<T extends BindingObject>(
  existing: T,
  expected: T,
  removesExtra: boolean,
): Reconciliation<T> {
  // What a binding refers to cannot be changed.
  if (!sameFields(existing.roleRef ?? {}, expected.roleRef ?? {}))
    return { ...NOTHING, operation: "recreate", object: expected, isProtected: isProtected(existing) }
  const [have, want] = [existing.subjects ?? [], expected.subjects ?? []]
  const missingSubjects = withoutSubjects(want, have)
  const extraSubjects = withoutSubjects(have, want)
  const object = withMetadata(existing, expected)
  if (!removesExtra && missingSubjects.length > 0) object.subjects = [...have, ...missingSubjects]
  if (removesExtra && missingSubjects.length + extraSubjects.length > 0) object.subjects = want
  return {
    ...NOTHING,
    ...changed(existing, object),
    isProtected: isProtected(existing),
    missingSubjects,
    extraSubjects,
  }
}

const withoutSubjects = (some: readonly SubjectObject[], others: readonly SubjectObject[]): readonly SubjectObject[] =>
  some.filter(
    (each, at) =>
      !others.some((other) => sameFields(each, other)) && some.findIndex((one) => sameFields(one, each)) === at,
  )

/** Whether two objects have the same texts; one that is missing is empty. */
function sameFields(a: object, b: object): boolean {
  const [one, other] = [a as Record<string, string>, b as Record<string, string>]
  return [...Object.keys(one), ...Object.keys(other)].every((key) => (one[key] ?? "") === (other[key] ?? ""))
}

/** Returns the existing object with labels and annotations of the expected one; its own go before. */
function withMetadata<T extends Unstructured>(existing: T, { metadata: expected = {} }: T): T {
  const { metadata = {} } = existing
  const joined = (name: "labels" | "annotations") =>
    metadata[name] === undefined && expected[name] === undefined
      ? {}
      : { [name]: { ...expected[name], ...metadata[name] } }
  return { ...existing, metadata: { ...metadata, ...joined("labels"), ...joined("annotations") } }
}

const changed = <T extends Unstructured>(existing: T, object: T): Pick<Reconciliation<T>, "operation" | "object"> => ({
  operation: deepEqual(existing, object) ? "none" : "update",
  object,
})
