import type { StrategyContext } from "../../../../apimachinery/resource.ts"
import type { LabelSelector, ObjectMeta } from "../../../../apimachinery/meta.ts"
import type { Labels } from "../../../../apimachinery/selectors/labels.ts"
import type { PodAffinityTerm } from "./scheduling/affinity.ts"
import { withProfiles } from "./profile-annotations.ts"
import { qosClassOf } from "./resources/pod-qos.ts"
import type { PodSpec } from "./podspec.ts"
import type { PodCondition, PodStatus } from "./podstatus.ts"

/** The parts of a pod that its strategy reads. Source: pkg/registry/core/pod/strategy.go. */
interface PodView {
  readonly metadata: ObjectMeta
  readonly spec: PodSpec
  readonly status: PodStatus
}

/**
 * Sets the status of a new pod: phase Pending, the quality of service class (the one that was sent, if any), and a
 * condition when scheduling gates hold the pod back.
 */
export function prepareNewPod<P extends PodView>(pod: P, { now, warn }: Pick<StrategyContext, "now" | "warn">): P {
  const {
    metadata: { labels = {}, annotations },
    spec,
  } = pod
  const qosClass = pod.status.qosClass || qosClassOf(spec)
  const gated = spec.schedulingGates !== undefined && spec.schedulingGates.length > 0
  return {
    ...pod,
    spec: withProfiles(withLabelKeys(spec, labels), annotations, warn),
    status: gated
      ? { phase: "Pending", conditions: [{ ...GATED, lastProbeTime: null, lastTransitionTime: now }], qosClass }
      : { phase: "Pending", qosClass },
  }
}
const GATED: PodCondition = {
  type: "PodScheduled",
  status: "False",
  reason: "SchedulingGated",
  message: "Scheduling is blocked due to non-empty scheduling gates",
}

/**
 * Writes the pod's values of matchLabelKeys and mismatchLabelKeys into the selectors, so that the scheduler only has to
 * evaluate selectors.
 */
function withLabelKeys(spec: PodSpec, labels: Labels): PodSpec {
  const { affinity, topologySpreadConstraints } = spec
  if (affinity === undefined && topologySpreadConstraints === undefined) return spec
  const term = (given: PodAffinityTerm): PodAffinityTerm => {
    const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = given
    if (labelSelector === undefined || matchLabelKeys.length + mismatchLabelKeys.length === 0) return given
    return {
      ...given,
      labelSelector: narrowed(
        narrowed(labelSelector, matchLabelKeys, "In", labels),
        mismatchLabelKeys,
        "NotIn",
        labels,
      ),
    }
  }
  const group = <A extends NonNullable<NonNullable<PodSpec["affinity"]>["podAffinity"]>>(
    given: A | undefined,
  ): A | undefined =>
    given && {
      ...given,
      ...(given.requiredDuringSchedulingIgnoredDuringExecution === undefined
        ? {}
        : {
            requiredDuringSchedulingIgnoredDuringExecution:
              given.requiredDuringSchedulingIgnoredDuringExecution.map(term),
          }),
      ...(given.preferredDuringSchedulingIgnoredDuringExecution === undefined
        ? {}
        : {
            preferredDuringSchedulingIgnoredDuringExecution: given.preferredDuringSchedulingIgnoredDuringExecution.map(
              (preferred) => ({ ...preferred, podAffinityTerm: term(preferred.podAffinityTerm) }),
            ),
          }),
    }
  const spread = topologySpreadConstraints?.map((constraint) =>
    constraint.labelSelector === undefined || (constraint.matchLabelKeys ?? []).length === 0
      ? constraint
      : { ...constraint, labelSelector: narrowed(constraint.labelSelector, constraint.matchLabelKeys!, "In", labels) },
  )
  const { podAffinity, podAntiAffinity } = affinity ?? {}
  return {
    ...spec,
    ...(spread === undefined ? {} : { topologySpreadConstraints: spread }),
    ...(podAffinity === undefined && podAntiAffinity === undefined
      ? {}
      : {
          affinity: {
            ...affinity,
            ...(podAffinity === undefined ? {} : { podAffinity: group(podAffinity) }),
            ...(podAntiAffinity === undefined ? {} : { podAntiAffinity: group(podAntiAffinity) }),
          },
        }),
  }
}

function narrowed(
  selector: LabelSelector,
  keys: readonly string[],
  operator: "In" | "NotIn",
  labels: Labels,
): LabelSelector {
  const more = keys.flatMap((key) => (labels[key] === undefined ? [] : [{ key, operator, values: [labels[key]] }]))
  return more.length === 0
    ? selector
    : { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...more] }
}

/**
 * Prepares a status update: the owners of the pod stay, and fields of the status that the server has computed or
 * observed are not removed.
 */
export function preparePodStatus<P extends PodView>(pod: P, old: PodView): P {
  const { status } = pod
  const left = new Map<string, (number | undefined)[]>()
  for (const { type, observedGeneration } of old.status.conditions ?? [])
    left.set(type, [...(left.get(type) ?? []), observedGeneration])
  const conditions = status.conditions?.map((condition) => {
    const before = left.get(condition.type)?.shift()
    return (condition.observedGeneration ?? 0) === 0 && before !== undefined
      ? { ...condition, observedGeneration: before }
      : condition
  })
  const { deletionTimestamp, ownerReferences } = old.metadata
  return {
    ...pod,
    metadata: { ...pod.metadata, deletionTimestamp, ownerReferences },
    status: {
      ...status,
      qosClass: status.qosClass ?? old.status.qosClass,
      observedGeneration:
        (status.observedGeneration ?? 0) === 0 ? old.status.observedGeneration : status.observedGeneration,
      ...(conditions === undefined ? {} : { conditions }),
    },
  }
}

/**
 * Returns the grace period of a deletion, in seconds: 0 when the pod has no node or has ended, 1 for a negative period.
 */
export function podGracePeriod({ spec, status }: PodView, requested: number | undefined): number {
  if ((spec.nodeName ?? "") === "" || status.phase === "Failed" || status.phase === "Succeeded") return 0
  const wanted = requested ?? spec.terminationGracePeriodSeconds
  return wanted < 0 ? 1 : wanted
}

/** Returns the stored pod with the ephemeral containers of the pod that was sent to `ephemeralcontainers`. */
export const prepareEphemeralContainers = <P extends PodView>(pod: P, old: P): P => ({
  ...old,
  metadata: {
    ...old.metadata,
    resourceVersion: pod.metadata.resourceVersion,
    managedFields: pod.metadata.managedFields,
  },
  spec: { ...old.spec, ephemeralContainers: pod.spec.ephemeralContainers },
})
