import type { Cause } from "../../../apimachinery/errors.ts"
import { atKey, forbiddenField, invalidValue, NO_CAUSES } from "../../../apimachinery/field-errors.ts"
import type { PodView } from "./pod-validation.ts"

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
/** Marks a static pod's image in the API. */
export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
/** Neither a plus sign nor leading zeros. */
const COST = /^(0|-\d+|[1-9]\d*)$/

/** Rules of annotations that mean something. Source: ValidatePodSpecificAnnotations and ValidatePodSpecificAnnotationUpdates in pkg/apis/core/validation/validation.go. */
export function validatePodAnnotations({ metadata: { annotations }, spec }: PodView, old?: PodView): readonly Cause[] {
  const [cost, mirror, before] = [
    annotations?.[DELETION_COST],
    annotations?.[MIRROR_ANNOTATION],
    old?.metadata.annotations?.[MIRROR_ANNOTATION],
  ]
  if (cost === undefined && mirror === undefined && before === undefined) return NO_CAUSES
  const causes: Cause[] = []
  const field = atKey("metadata.annotations", MIRROR_ANNOTATION)
  if (old !== undefined && mirror !== before)
    causes.push(
      forbiddenField(
        field,
        before === undefined ? "may not add mirror pod annotation" : "may not remove or update mirror pod annotation",
      ),
    )
  if (mirror !== undefined && (spec.nodeName ?? "") === "")
    causes.push(invalidValue(field, mirror, "must set spec.nodeName if mirror pod annotation is set"))
  if (cost !== undefined && !(COST.test(cost) && Number(cost) === (Number(cost) | 0)))
    causes.push(invalidValue(atKey("metadata.annotations", DELETION_COST), cost, "must be a 32bit integer"))
  return causes
}
