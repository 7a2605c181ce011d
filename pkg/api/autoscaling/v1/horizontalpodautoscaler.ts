import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { autoscalerColumns } from "../v2/horizontalpodautoscaler-columns.ts"
import { autoscalerFaults, autoscalerStatusFaults } from "../v2/horizontalpodautoscaler-validation.ts"
import {
  BEHAVIOR_ANNOTATION,
  CONDITIONS_ANNOTATION,
  CURRENT_METRICS_ANNOTATION,
  type HorizontalPodAutoscaler as StoredAutoscaler,
  HorizontalPodAutoscalerSpec as StoredSpec,
  METRICS_ANNOTATION,
} from "../v2/horizontalpodautoscaler.ts"
import { decodeMessage } from "../../../apimachinery/decoding/decode.ts"
import { fromV2, toV2 } from "./conversion.ts"

/** The older version of autoscalers, stored as those of v2. Source: k8s.io/api autoscaling/v1/types.go. */

export const CrossVersionObjectReference = message(
  "autoscaling.v1.CrossVersionObjectReference",
  "An object by its kind and name, in the namespace of the autoscaler.",
  {
    kind: f.string(1, "Kind of the object.").required().ownRule(),
    name: f.string(2, "Name of the object.").required().ownRule(),
    apiVersion: f.string(3, "Group and version of the kind."),
  },
  { mapType: "atomic" },
)
export interface CrossVersionObjectReference extends ObjectOf<typeof CrossVersionObjectReference> {}

export const HorizontalPodAutoscalerSpec = message(
  "autoscaling.v1.HorizontalPodAutoscalerSpec",
  "What is scaled, and within which bounds.",
  {
    scaleTargetRef: f
      .message(1, CrossVersionObjectReference, "The workload, which has a scale subresource.")
      .required(),
    minReplicas: f.int32(2, "Least number of replicas.").default(1).pointer(),
    maxReplicas: f.int32(3, "Greatest number of replicas.").required(),
    targetCPUUtilizationPercentage: f
      .int32(4, "The wanted use of the CPU as a percentage of what the pods request; 80 where no metric is given.")
      .pointer(),
  },
)
export interface HorizontalPodAutoscalerSpec extends ObjectOf<typeof HorizontalPodAutoscalerSpec> {}

export const HorizontalPodAutoscalerStatus = message(
  "autoscaling.v1.HorizontalPodAutoscalerStatus",
  "What the autoscaler saw and did last.",
  {
    observedGeneration: f.int64(1, "Generation that the controller has acted on.").pointer(),
    lastScaleTime: f.time(2, "When it last changed the number of replicas."),
    currentReplicas: f.int32(3, "Number of replicas that it saw last.").default(0).printZero(),
    desiredReplicas: f.int32(4, "Number of replicas that it wants.").default(0).printZero(),
    currentCPUUtilizationPercentage: f
      .int32(5, "The use of the CPU as a percentage of what the pods request.")
      .pointer(),
  },
  { unchecked: true },
)
export interface HorizontalPodAutoscalerStatus extends ObjectOf<typeof HorizontalPodAutoscalerStatus> {}

const fields = {
  spec: f.message(2, HorizontalPodAutoscalerSpec, "What is scaled, and how.").required().ownRule(),
  status: f.message(3, HorizontalPodAutoscalerStatus, "What the autoscaler saw and did last.").always(),
}
export interface HorizontalPodAutoscaler extends ObjectFor<typeof fields> {}

export const HorizontalPodAutoscaler = defineResource(
  {
    group: "autoscaling",
    version: "v1",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    shortNames: ["hpa"],
    categories: ["all"],
    scope: "Namespaced",
    doc: "Sets the number of a workload's replicas by how much of the CPU its pods use.",
    columns: autoscalerColumns<HorizontalPodAutoscaler>(toV2),
    subresources: {
      status: {
        resets: [["spec"]],
        prepareForUpdate: (object, old) => ({ ...object, metadata: keeping(object, old, OF_SPEC) }),
        validateUpdate: (autoscaler) => autoscalerStatusFaults(toV2(autoscaler).status),
      },
    },
    storedAs: {
      group: "autoscaling",
      version: "v2",
      kind: "HorizontalPodAutoscaler",
      toStored(autoscaler) {
        const stored = toV2(autoscaler)
        return { ...stored, spec: decodeMessage(StoredSpec, stored.spec).object as StoredSpec }
      },
      fromStored: (stored) => fromV2(stored as StoredAutoscaler),
    },
    // the annotations are decoded, and encoded again in the server's form
    defaults(object): HorizontalPodAutoscaler {
      const { metadata, spec, status } = fromV2(toV2(object))
      const whole = { ...object, metadata, spec, status }
      return deepEqual(whole, object) ? object : whole
    },
    prepareForCreate: (object) => ({ ...object, metadata: keeping(object, undefined, OF_STATUS) }),
    prepareForUpdate: (object, old) => ({ ...object, metadata: keeping(object, old, OF_STATUS) }),
    validate: (autoscaler, old) => autoscalerFaults(toV2(autoscaler).spec, old && toV2(old).spec),
  },
  fields,
)

/** These annotations are fields of v2, so the rules for changes of fields apply to them. */
const OF_SPEC = [METRICS_ANNOTATION, BEHAVIOR_ANNOTATION]
const OF_STATUS = [CURRENT_METRICS_ANNOTATION, CONDITIONS_ANNOTATION]

/**
 * Returns the metadata of `object` with these annotations as they were before; those that did not exist are removed.
 */
function keeping(
  { metadata }: HorizontalPodAutoscaler,
  old: HorizontalPodAutoscaler | undefined,
  names: readonly string[],
): ObjectMeta {
  const before = old?.metadata.annotations ?? {}
  const given = metadata.annotations ?? {}
  if (names.every((name) => given[name] === before[name])) return metadata
  const kept = (annotations: Readonly<Record<string, string>>, wanted: boolean) =>
    Object.entries(annotations).filter(([name]) => names.includes(name) === wanted)
  return { ...metadata, annotations: Object.fromEntries([...kept(given, false), ...kept(before, true)]) }
}
