import type { Cause } from "../../../apimachinery/errors.ts"
import { at, invalidValue, notSupported, required } from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"

/**
 * The requests for which a webhook is called. Source: k8s.io/api admissionregistration/v1/types.go,
 * validateRuleWithOperations in pkg/apis/admissionregistration/validation.
 */

const operations = f.list(1, e.string, "CREATE, UPDATE, DELETE, CONNECT, or * for all.").atomic()

/** The fields of a rule about resources; in protobuf they are in messages with these numbers. */
const resourceFields = (...embeddedIn: [number, ...number[]]) => ({
  apiGroups: f
    .list(1, e.string, "Groups of the resources; * means every group.")
    .atomic()
    .embeddedIn(...embeddedIn),
  apiVersions: f
    .list(2, e.string, "Versions of the resources; * means every version.")
    .atomic()
    .embeddedIn(...embeddedIn),
  resources: f
    .list(3, e.string, "Resources, or resource/subresource; * stands for any part.")
    .atomic()
    .embeddedIn(...embeddedIn),
  scope: f
    .string(4, "Cluster for cluster-wide resources, Namespaced for the others, * for both.")
    .default("*")
    .pointer()
    .embeddedIn(...embeddedIn),
})

export const RuleWithOperations = message(
  "admissionregistration.v1.RuleWithOperations",
  "Requests by what they do, and to which resources.",
  { operations, ...resourceFields(2) },
)
export interface RuleWithOperations extends ObjectOf<typeof RuleWithOperations> {}

export const NamedRuleWithOperations = message(
  "admissionregistration.v1.NamedRuleWithOperations",
  "Requests by what they do, to which resources, and to which objects.",
  {
    resourceNames: f.list(1, e.string, "Names of the objects; all unless given.").atomic(),
    operations: operations.embeddedIn(2),
    ...resourceFields(2, 2),
  },
  { mapType: "atomic" },
)
export interface NamedRuleWithOperations extends ObjectOf<typeof NamedRuleWithOperations> {}

const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
const SCOPES = ["*", "Cluster", "Namespaced"]

/** Returns the faults of a rule at a path. */
export function ruleFaults(path: string, rule: RuleWithOperations): readonly Cause[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule
  return [
    ...(operations.length === 0 ? [required(at(path, "operations"))] : []),
    ...aloneFaults(at(path, "operations"), operations, "operations"),
    ...operations.flatMap((operation, i) =>
      OPERATIONS.includes(operation) ? [] : [notSupported(at(path, "operations", i), operation, OPERATIONS)],
    ),
    ...(apiGroups.length === 0 ? [required(at(path, "apiGroups"))] : []),
    ...aloneFaults(at(path, "apiGroups"), apiGroups, "API groups"),
    ...(apiVersions.length === 0 ? [required(at(path, "apiVersions"))] : []),
    ...aloneFaults(at(path, "apiVersions"), apiVersions, "API versions"),
    ...apiVersions.flatMap((version, i) => (version === "" ? [required(at(path, "apiVersions", i))] : [])),
    ...resourceFaults(at(path, "resources"), resources),
    ...(SCOPES.includes(scope) ? [] : [notSupported(at(path, "scope"), scope, SCOPES)]),
  ]
}

const aloneFaults = (path: string, values: readonly string[], others: string): readonly Cause[] =>
  values.length > 1 && values.includes("*")
    ? [invalidValue(path, values, `if '*' is present, must not specify other ${others}`)]
    : []

/** Refuses a list with a pattern that another pattern of it includes. */
function resourceFaults(path: string, resources: readonly string[]): readonly Cause[] {
  if (resources.length === 0) return [required(path)]
  const causes: Cause[] = []
  const withAnySubresource = new Set<string>()
  const ofAnyResource = new Set<string>()
  let endsWithWhole = false
  for (const [i, pattern] of resources.entries()) {
    if (pattern === "") {
      causes.push(required(at(path, i)))
      continue
    }
    const slash = pattern.indexOf("/")
    if (slash < 0) {
      // As upstream: only the last pattern without a subresource counts.
      endsWithWhole = pattern !== "*"
      continue
    }
    const resource = pattern.slice(0, slash)
    const subresource = pattern.slice(slash + 1)
    if (withAnySubresource.has(resource))
      causes.push(invalidValue(at(path, i), pattern, `if '${resource}/*' is present, must not specify ${pattern}`))
    if (ofAnyResource.has(subresource))
      causes.push(invalidValue(at(path, i), pattern, `if '*/${subresource}' is present, must not specify ${pattern}`))
    if (subresource === "*") withAnySubresource.add(resource)
    if (resource === "*") ofAnyResource.add(subresource)
  }
  if (resources.length > 1 && resources.includes("*/*"))
    causes.push(invalidValue(path, resources, "if '*/*' is present, must not specify other resources"))
  if (resources.includes("*") && endsWithWhole)
    causes.push(
      invalidValue(path, resources, "if '*' is present, must not specify other resources without subresources"),
    )
  return causes
}
