import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceQuota } from "../api/core/v1/resourcequota/resourcequota.ts"
import { isKind, type KubeObject } from "../apimachinery/resource.ts"

interface Requirement {
  readonly scopeName: string
  readonly operator: string
  readonly values?: readonly string[] | undefined
}

/**
 * Returns whether a quota counts this object: all scopes of the quota must match. A quota with scopes counts pods and
 * PersistentVolumeClaims only. Source: podMatchesScopeFunc, pvcMatchesScopeFunc and MatchesNoScopeFunc of
 * pkg/quota/v1/evaluator/core.
 */
export function inScope({ spec }: ResourceQuota, object: KubeObject): boolean {
  const requirements: readonly Requirement[] = [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ]
  if (requirements.length === 0) return true
  if (isKind(Pod, object)) return requirements.every((requirement) => podMatches(requirement, object))
  if (isKind(PersistentVolumeClaim, object))
    return requirements.every((requirement) => claimMatches(requirement, object))
  return false
}

function podMatches(requirement: Requirement, { spec, status }: Pod): boolean {
  switch (requirement.scopeName) {
    case "Terminating":
      return spec.activeDeadlineSeconds !== undefined
    case "NotTerminating":
      return spec.activeDeadlineSeconds === undefined
    case "BestEffort":
      return status.qosClass === "BestEffort"
    case "NotBestEffort":
      return status.qosClass !== "BestEffort"
    case "PriorityClass":
      return nameMatches(requirement, spec.priorityClassName ?? "")
    case "CrossNamespacePodAffinity":
      return usesOtherNamespaces(spec.affinity)
    default:
      return false
  }
}

/** A claim that changes its class counts in the quotas of both classes. */
function claimMatches(requirement: Requirement, { spec, status }: PersistentVolumeClaim): boolean {
  if (requirement.scopeName !== "VolumeAttributesClass") return false
  const names = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name) => name !== undefined && name !== "")
  return (names.length === 0 ? [""] : names).some((name) => nameMatches(requirement, name!))
}

/** Whether a name, empty for none, is one of those that a requirement wants. */
function nameMatches({ operator, values = [] }: Requirement, name: string): boolean {
  switch (operator) {
    case "Exists":
      return name !== ""
    case "DoesNotExist":
      return name === ""
    default:
      return values.includes(name) === (operator === "In")
  }
}

/** Whether a term of affinity or anti-affinity names other namespaces than the pod's own, or selects them. */
function usesOtherNamespaces(affinity: Pod["spec"]["affinity"]): boolean {
  const kinds = [affinity?.podAffinity, affinity?.podAntiAffinity]
  const terms = kinds.flatMap((kind) => [
    ...(kind?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(kind?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ])
  return terms.some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  )
}
