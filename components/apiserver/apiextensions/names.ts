import type { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { CustomResourceDefinitionNames } from "../../../pkg/api/apiextensions/v1/customresourcedefinitionspec.ts"
import { approvalOf, isProtectedGroup } from "../../../pkg/api/apiextensions/v1/validation/approval.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { conditionOf, saysTheSame, withCondition, type Condition } from "./conditions.ts"

/**
 * Returns a definition with its accepted names, those that no other definition of the group has, and with the
 * conditions NamesAccepted and Established; the same object when nothing changes. Source: apiextensions-apiserver
 * pkg/controller/status naming_controller.go, pkg/controller/establish, pkg/controller/apiapproval. Differs from
 * upstream: Established is set at once and not seconds later, since there is one server and it serves the names
 * already.
 */
export function named(
  definition: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  now: string,
): CustomResourceDefinition {
  let next = definition
  const approval = approvalCondition(definition)
  if (approval !== undefined && !saysTheSame(conditionOf(definition, approval.type), approval))
    next = withCondition(next, approval, now)
  const { names, conflict } = acceptedNames(definition, others)
  const accepted: Condition =
    conflict === undefined
      ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : { type: "NamesAccepted", status: "False", ...conflict }
  const known = conditionOf(definition, "NamesAccepted")
  if (!deepEqual(names, definition.status.acceptedNames) || !saysTheSame(known, accepted)) {
    next = withCondition({ ...next, status: { ...next.status, acceptedNames: names } }, accepted, now)
  }
  const established = conditionOf(definition, "Established")
  if (established?.status === "True") return next
  const wanted: Condition =
    conflict === undefined
      ? {
          type: "Established",
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
        }
      : { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" }
  return saysTheSame(established, wanted) ? next : withCondition(next, wanted, now)
}

interface Conflict {
  readonly reason: string
  readonly message: string
}

function acceptedNames(
  { spec, status }: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): { readonly names: CustomResourceDefinitionNames; readonly conflict: Conflict | undefined } {
  const resources = new Set<string>()
  const kinds = new Set<string>()
  for (const { acceptedNames: taken } of others.map((other) => other.status)) {
    for (const name of [taken.plural, taken.singular, ...(taken.shortNames ?? [])]) if (name) resources.add(name)
    for (const name of [taken.kind, taken.listKind]) if (name) kinds.add(name)
  }
  const { names: wanted } = spec
  const { acceptedNames: before } = status
  let names: CustomResourceDefinitionNames = before
  let conflict: Conflict | undefined
  const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`
  const take = (
    field: "plural" | "singular" | "kind" | "listKind",
    reason: string,
    taken: ReadonlySet<string>,
  ): void => {
    const name = wanted[field] ?? ""
    if (name !== (before[field] ?? "") && taken.has(name)) conflict = { reason, message: inUse(name) }
    else names = { ...names, [field]: name }
  }
  take("plural", "PluralConflict", resources)
  take("singular", "SingularConflict", resources)
  if (!deepEqual(wanted.shortNames, before.shortNames)) {
    const taken = (wanted.shortNames ?? []).filter(
      (name) => before.shortNames?.includes(name) !== true && resources.has(name),
    )
    if (taken.length === 0) names = withList(names, "shortNames", wanted.shortNames)
    else
      conflict = {
        reason: "ShortNamesConflict",
        message: taken.length === 1 ? inUse(taken[0]!) : `[${taken.map(inUse).join(", ")}]`,
      }
  }
  take("kind", "KindConflict", kinds)
  take("listKind", "ListKindConflict", kinds)
  return { names: withList(names, "categories", wanted.categories), conflict }
}

function withList(
  names: CustomResourceDefinitionNames,
  field: "shortNames" | "categories",
  list: readonly string[] | undefined,
): CustomResourceDefinitionNames {
  if (list !== undefined) return { ...names, [field]: list }
  const { [field]: _before, ...others } = names
  return others
}

function approvalCondition(definition: CustomResourceDefinition): Condition | undefined {
  if (!isProtectedGroup(definition.spec.group)) return undefined
  const type = "KubernetesAPIApprovalPolicyConformant"
  const annotation = "api-approved.kubernetes.io"
  const value = definition.metadata.annotations?.[annotation] ?? ""
  const needed = `protected groups must have approval annotation "${annotation}"`
  const see = "see https://github.com/kubernetes/enhancements/pull/1111"
  switch (approvalOf(definition)) {
    case "approved":
      return { type, status: "True", reason: "ApprovedAnnotation", message: `approved in ${value}` }
    case "bypassed":
      return {
        type,
        status: "False",
        reason: "UnapprovedAnnotation",
        message: `not approved: ${JSON.stringify(value)}`,
      }
    case "missing":
      return { type, status: "False", reason: "MissingAnnotation", message: `${needed}, ${see}` }
    case "invalid":
      return {
        type,
        status: "False",
        reason: "InvalidAnnotation",
        message: `${needed} with either a URL or a reason starting with "unapproved", ${see}`,
      }
  }
}
