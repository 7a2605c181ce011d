import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, eachWithin, forbiddenField, within } from "../../../../apimachinery/validation/field-errors.ts"
import type { Container } from "../container/container.ts"
import { trimmedImage } from "../container/container-validation.ts"
import { MIRROR_ANNOTATION } from "./pod-annotations-validation.ts"
import { validatePodSpec } from "./podspec-validation.ts"
import { profileFaults } from "./profile-annotations.ts"
import type { PodView } from "./pod-view.ts"

/**
 * Validates pods and their changes. Source: ValidatePodCreate, ValidatePodUpdate, ValidatePodStatusUpdate in
 * pkg/apis/core/validation/validation.go.
 */

/** Returns the faults of a pod's spec, at its creation and at every change. */
export function validatePod(pod: PodView, old?: PodView): readonly Cause[] {
  const { metadata, spec } = pod
  const causes: Cause[] = []
  within(causes, validatePodSpec(spec, metadata.name ?? "", old?.spec), "spec")
  if ((spec.serviceAccountName ?? "") === "") {
    for (const [i, { projected }] of (spec.volumes ?? []).entries())
      for (const [j, { serviceAccountToken }] of (projected?.sources ?? []).entries())
        if (serviceAccountToken !== undefined)
          causes.push(
            forbiddenField(
              at("spec.volumes", i, "projected", "sources", j, "serviceAccountToken"),
              "must not be specified when serviceAccountName is not set",
            ),
          )
  }
  eachWithin(causes, spec.containers, "spec.containers", validateImage)
  eachWithin(causes, spec.initContainers, "spec.initContainers", validateImage)
  return causes
}
const validateImage = ({ image }: Container): readonly Cause[] => trimmedImage(image)

/** Returns the faults for which only new pods are refused. */
export function validateNewPod({ metadata, spec }: PodView): readonly Cause[] {
  const causes: Cause[] = []
  if ((spec.ephemeralContainers ?? []).length > 0)
    causes.push(forbiddenField("spec.ephemeralContainers", "cannot be set on create"))
  if ((spec.nodeName ?? "") !== "" && (spec.schedulingGates ?? []).length > 0)
    causes.push(forbiddenField("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
  within(causes, profileFaults(metadata.annotations, spec), "spec")
  return causes
}

/**
 * Returns the faults of a write to `ephemeralcontainers`: existing ephemeral containers can be neither changed nor
 * removed, and all other fields stay.
 */
export function validateEphemeralContainersChange({ spec }: PodView, old: PodView): readonly Cause[] {
  if (old.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined)
    return [forbiddenField("[]", "static pods do not support ephemeral containers")]
  return (old.spec.ephemeralContainers ?? []).flatMap((before) => {
    const now = spec.ephemeralContainers?.find(({ name }) => name === before.name)
    if (now === undefined)
      return [
        forbiddenField(
          "spec.ephemeralContainers",
          `existing ephemeral containers ${JSON.stringify(before.name)} may not be removed\n`,
        ),
      ]
    return deepEqual(now, before)
      ? []
      : [
          forbiddenField(
            "spec.ephemeralContainers",
            `existing ephemeral containers ${JSON.stringify(before.name)} may not be changed\n`,
          ),
        ]
  })
}
