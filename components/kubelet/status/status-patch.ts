import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { PodCondition, PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { OWN_CONDITIONS } from "./conditions.ts"

/**
 * Returns the strategic merge patch that turns one status into the other; undefined when they do not differ. Conditions
 * that the kubelet does not set are left alone.
 */
export function statusPatch(from: PodStatus, to: PodStatus): Record<string, unknown> | undefined {
  if (from === to) return undefined
  const patch: Record<string, unknown> = {}
  for (const key of OWNED) {
    const after = to[key]
    if (deepEqual(from[key], after)) continue
    if (after === undefined) patch[key] = null
    // These lists are merged by key, so an old address would remain.
    else
      patch[key] =
        (key === "podIPs" || key === "hostIPs") && Array.isArray(after) ? [{ $patch: "replace" }, ...after] : after
  }
  const conditions = conditionsPatch(from.conditions ?? [], to.conditions)
  if (conditions.length > 0) patch["conditions"] = conditions
  return Object.keys(patch).length === 0 ? undefined : patch
}

function conditionsPatch(from: readonly PodCondition[], to: readonly PodCondition[] | undefined): readonly object[] {
  const patch: object[] = []
  for (const condition of to ?? []) {
    if (!OWN_CONDITIONS.has(condition.type) && condition.type !== "DisruptionTarget") continue
    const old = from.find(({ type }) => type === condition.type)
    if (deepEqual(condition, old)) continue
    // Items are merged field by field, so an old reason would remain.
    const gone = (["reason", "message", "lastProbeTime"] as const).filter(
      (key) => old?.[key] !== undefined && condition[key] === undefined,
    )
    patch.push(gone.length === 0 ? condition : { ...condition, ...Object.fromEntries(gone.map((key) => [key, null])) })
  }
  for (const { type } of from)
    if (OWN_CONDITIONS.has(type) && to?.some((condition) => condition.type === type) === false)
      patch.push({ type, $patch: "delete" })
  return patch
}

/** The fields that the kubelet writes, apart from conditions; the others belong to the scheduler and to controllers. */
const OWNED = [
  "observedGeneration",
  "phase",
  "reason",
  "message",
  "hostIP",
  "hostIPs",
  "podIP",
  "podIPs",
  "startTime",
  "qosClass",
  "allocatedResources",
  "resources",
  "initContainerStatuses",
  "containerStatuses",
  "ephemeralContainerStatuses",
] as const
