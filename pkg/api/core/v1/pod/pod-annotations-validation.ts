import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  atKey,
  forbiddenField,
  invalidValue,
  NO_CAUSES,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import type { PodSpec } from "./podspec.ts"
import type { PodView } from "./pod-view.ts"
import { APPARMOR_PREFIX, apparmorFaults, SECCOMP_POD, SECCOMP_PREFIX, seccompFaults } from "./profile-annotations.ts"
import { pushAll } from "../../../../lists/push-all.ts"

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
/** The annotation of a mirror pod: the object in the API that shows a static pod. */
export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
/** A whole number without a plus sign and without leading zeros. */
const COST = /^(0|-\d+|[1-9]\d*)$/

type Annotations = Readonly<Record<string, string>>

/**
 * Returns the faults of the annotations of a pod that Kubernetes gives a meaning. Source:
 * ValidatePodSpecificAnnotationUpdates in pkg/apis/core/validation/validation.go.
 */
export function validatePodAnnotations({ metadata: { annotations }, spec }: PodView, old?: PodView): readonly Cause[] {
  const before = old?.metadata.annotations
  if (annotations === undefined && before === undefined) return NO_CAUSES
  const causes: Cause[] = []
  if (old !== undefined) pushAll(causes, changeFaults(annotations ?? {}, before ?? {}))
  if (annotations !== undefined) within(causes, annotationFaults(annotations, spec), "metadata.annotations")
  return causes
}

function changeFaults(annotations: Annotations, old: Annotations): readonly Cause[] {
  const kind = (key: string) =>
    key === MIRROR_ANNOTATION ? "mirror pod annotation" : key.startsWith(APPARMOR_PREFIX) ? "AppArmor annotations" : ""
  const refused = (key: string, verb: string) =>
    kind(key) === "" ? [] : [forbiddenField(atKey("metadata.annotations", key), `may not ${verb} ${kind(key)}`)]
  return [
    ...Object.keys(old).flatMap((key) => (annotations[key] === old[key] ? [] : refused(key, "remove or update"))),
    ...Object.keys(annotations).flatMap((key) => (old[key] === undefined ? refused(key, "add") : [])),
  ]
}

/** Returns the faults of the annotations of a pod or a pod template. Source: ValidatePodSpecificAnnotations. */
export function annotationFaults(annotations: Annotations, spec: PodSpec): readonly Cause[] {
  let causes: Cause[] | undefined
  for (const key in annotations) {
    const found = annotationFault(key, annotations[key]!, spec)
    if (found.length > 0) causes = [...(causes ?? []), ...found]
  }
  return causes ?? NO_CAUSES
}

function annotationFault(key: string, value: string, spec: PodSpec): readonly Cause[] {
  if (key === MIRROR_ANNOTATION)
    return (spec.nodeName ?? "") === ""
      ? [invalidValue(atKey("", key), value, "must set spec.nodeName if mirror pod annotation is set")]
      : NO_CAUSES
  if (key === DELETION_COST)
    return COST.test(value) && Number(value) === (Number(value) | 0)
      ? NO_CAUSES
      : [invalidValue(atKey("", key), value, "must be a 32bit integer")]
  if (key.startsWith(SECCOMP_PREFIX) || key === SECCOMP_POD) return seccompFaults(key, value)
  return key.startsWith(APPARMOR_PREFIX) ? apparmorFaults(key, value, spec) : NO_CAUSES
}
