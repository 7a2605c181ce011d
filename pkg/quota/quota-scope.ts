import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceQuota } from "../api/core/v1/resourcequota/resourcequota.ts"
import { isKind, type KubeObject } from "../apimachinery/resource.ts"
import { RecentValues } from "../cache/recent-values.ts"

/** What one scope wants of a name, empty for none. */
type NameRule = (name: string) => boolean

/** The scopes of a quota, each once: a quota may name them, and values of them, tens of thousands of times. */
interface Scopes {
  readonly count: number
  /** The names of scopes that are no conditions on a name. */
  readonly plain: ReadonlySet<string>
  /** The conditions on names, by the scope. */
  readonly rules: ReadonlyMap<string, readonly NameRule[]>
  /** Whether names that were asked for fulfil all conditions, by scope and names. */
  readonly known: Map<string, boolean>
}

type Spec = ResourceQuota["spec"]

const made = new RecentValues<Spec, Scopes>()
/** Objects of a namespace have few names of classes. */
const MOST_KNOWN = 1000

/** The scopes that are conditions on the name of a class. */
const OF_NAMES: ReadonlySet<string> = new Set(["PriorityClass", "VolumeAttributesClass"])

function scopesOf(spec: Spec): Scopes {
  let scopes = made.get(spec)
  if (scopes === undefined) made.set(spec, (scopes = makeScopes(spec)))
  return scopes
}

function makeScopes({ scopes = [], scopeSelector }: Spec): Scopes {
  const plain = new Set<string>()
  const rules = new Map<string, Map<string, NameRule>>()
  for (const { scopeName, operator, values = [] } of [
    ...scopes.map((name) => ({ scopeName: name as string, operator: "Exists", values: [] })),
    ...(scopeSelector?.matchExpressions ?? []),
  ]) {
    if (!OF_NAMES.has(scopeName)) {
      plain.add(scopeName)
      continue
    }
    const own = rules.get(scopeName) ?? new Map<string, NameRule>()
    rules.set(scopeName, own)
    const text = JSON.stringify([operator, ...values])
    if (!own.has(text)) own.set(text, nameRule(operator, new Set(values)))
  }
  return {
    count: plain.size + rules.size,
    plain,
    rules: new Map([...rules].map(([name, own]) => [name, [...own.values()]])),
    known: new Map(),
  }
}

function nameRule(operator: string, values: ReadonlySet<string>): NameRule {
  if (operator === "Exists") return (name) => name !== ""
  if (operator === "DoesNotExist") return (name) => name === ""
  return (name) => values.has(name) === (operator === "In")
}

/**
 * Returns whether a quota counts this object: all scopes of the quota must match. A quota with scopes counts pods and
 * PersistentVolumeClaims only. Source: podMatchesScopeFunc, pvcMatchesScopeFunc and MatchesNoScopeFunc of
 * pkg/quota/v1/evaluator/core.
 */
export function inScope({ spec }: ResourceQuota, object: KubeObject): boolean {
  const scopes = scopesOf(spec)
  if (scopes.count === 0) return true
  if (isKind(Pod, object))
    return (
      scopes.plain.values().every((scope) => podMatches(scope, object)) &&
      namesMatch(scopes, "PriorityClass", [object.spec.priorityClassName ?? ""])
    )
  if (isKind(PersistentVolumeClaim, object))
    return scopes.plain.size === 0 && namesMatch(scopes, "VolumeAttributesClass", classesOf(object))
  return false
}

/** Whether the conditions are all about this scope, and one of the names fulfils each. */
function namesMatch({ rules, known }: Scopes, scope: string, names: readonly string[]): boolean {
  if (rules.size === 0) return true
  const own = rules.get(scope)
  if (own === undefined || rules.size > 1) return false
  const key = JSON.stringify(names)
  let matches = known.get(key)
  if (matches === undefined) {
    if (known.size >= MOST_KNOWN) known.clear()
    matches = own.every((rule) => names.some(rule))
    known.set(key, matches)
  }
  return matches
}

function podMatches(scope: string, { spec, status }: Pod): boolean {
  switch (scope) {
    case "Terminating":
      return spec.activeDeadlineSeconds !== undefined
    case "NotTerminating":
      return spec.activeDeadlineSeconds === undefined
    case "BestEffort":
      return status.qosClass === "BestEffort"
    case "NotBestEffort":
      return status.qosClass !== "BestEffort"
    case "CrossNamespacePodAffinity":
      return usesOtherNamespaces(spec.affinity)
    default:
      return false
  }
}

/** A claim that changes its class counts in the quotas of both classes. */
function classesOf({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name) => name !== undefined && name !== "")
  return names.length === 0 ? [""] : (names as readonly string[])
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
