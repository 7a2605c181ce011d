import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f } from "../../../apimachinery/fields.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { autoscalerColumns } from "../v2/horizontalpodautoscaler-columns.ts"
import { autoscalerFaults, autoscalerStatusFaults } from "../v2/horizontalpodautoscaler-validation.ts"
import {
  BEHAVIOR_ANNOTATION,
  CONDITIONS_ANNOTATION,
  CURRENT_METRICS_ANNOTATION,
  type HorizontalPodAutoscaler as StoredAutoscaler,
  METRICS_ANNOTATION,
} from "../v2/horizontalpodautoscaler.ts"
import { HorizontalPodAutoscalerSpec as StoredSpec } from "../v2/horizontalpodautoscalerspec.ts"
import { decodeMessage } from "../../../apimachinery/decoding/decode.ts"
import { fromV2, toV2 } from "./conversion.ts"
import { HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus } from "./horizontalpodautoscalerspec.ts"

/** The older version of autoscalers, stored as those of v2. Source: k8s.io/api autoscaling/v1/types.go. */

const fields = {
  spec: f.message(2, HorizontalPodAutoscalerSpec, "The workload to scale, and the target.").required().ownRule(),
  status: f.message(3, HorizontalPodAutoscalerStatus, "Last observed metrics and number of replicas.").always(),
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
    // The annotations are decoded, and encoded again in the server's form.
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
