import { deepEqual } from "../../../apimachinery/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { at, eachWithin, forbiddenField, invalidValue, within } from "../../../apimachinery/field-errors.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import type { Container } from "./container.ts"
import { trimmedImage } from "./container-validation.ts"
import { MIRROR_ANNOTATION, validatePodAnnotations } from "./pod-annotations-validation.ts"
import { isSidecar } from "./pod-columns.ts"
import { qosClassOf } from "./pod-qos.ts"
import type { PodSpec } from "./podspec.ts"
import { validatePodSpec } from "./podspec-validation.ts"
import type { PodStatus } from "./podstatus.ts"
import { profileFaults } from "./profile-annotations.ts"

/** Rules of pods as such, and of their changes. Source: ValidatePodCreate, ValidatePodUpdate, ValidatePodStatusUpdate in pkg/apis/core/validation/validation.go. */
export interface PodView {
  readonly metadata: ObjectMeta
  readonly spec: PodSpec
  readonly status: PodStatus
}

/** Rules that hold at creation and at every change. */
export function validatePod(pod: PodView, old?: PodView): readonly Cause[] {
  const { metadata, spec } = pod
  const causes: Cause[] = []
  within(causes, validatePodAnnotations(pod, old), "")
  within(causes, validatePodSpec(spec, metadata.name ?? ""), "spec")
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

/** What is refused in new pods only. */
export function validateNewPod({ metadata, spec }: PodView): readonly Cause[] {
  const causes: Cause[] = []
  if ((spec.ephemeralContainers ?? []).length > 0)
    causes.push(forbiddenField("spec.ephemeralContainers", "cannot be set on create"))
  if ((spec.nodeName ?? "") !== "" && (spec.schedulingGates ?? []).length > 0)
    causes.push(forbiddenField("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
  within(causes, profileFaults(metadata.annotations, spec), "spec")
  return causes
}

/** A write to `ephemeralcontainers`: everything else is as it was, and none that is there may go or change. */
export function validateEphemeralContainersChange({ spec }: PodView, old: PodView): readonly Cause[] {
  if (old.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined)
    return [forbiddenField("", "static pods do not support ephemeral containers")]
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

/** A write to `resize`: only CPU and memory change, only of containers and sidecars, and the class of service stays. Source: ValidatePodResize. */
export function validateResize({ spec }: PodView, { metadata, spec: old }: PodView): readonly Cause[] {
  if (metadata.annotations?.[MIRROR_ANNOTATION] !== undefined)
    return [forbiddenField("", "static pods cannot be resized")]
  if (spec.resources !== undefined) return [forbiddenField("", "pods with pod-level resources cannot be resized")]
  const causes: Cause[] = []
  if (qosClassOf(spec) !== qosClassOf(old))
    causes.push(invalidValue("spec", qosClassOf(spec), "Pod QOS Class may not change as a result of resizing"))
  for (const list of ["initContainers", "containers"] as const) {
    for (const [i, before] of (old[list] ?? []).entries()) {
      const now = spec[list]![i]!
      if (list === "initContainers" && !isSidecar(before)) {
        if (!deepEqual(now, before))
          causes.push(forbiddenField("spec", "resources for non-sidecar init containers are immutable"))
        continue
      }
      const here = at("spec", list, i, "resources")
      for (const kind of ["requests", "limits"] as const) {
        const gone = Object.keys(before.resources[kind] ?? {}).filter(
          (name) => now.resources[kind]?.[name] === undefined,
        )
        if (gone.length > 0) causes.push(forbiddenField(at(here, kind), `resource ${kind} cannot be removed`))
      }
      if (!deepEqual(others(now.resources), others(before.resources)))
        causes.push(
          forbiddenField(
            "spec",
            list === "containers"
              ? "only cpu and memory resources are mutable"
              : "only cpu and memory resources for sidecar containers are mutable",
          ),
        )
    }
  }
  return causes
}

function others({ requests, limits, claims }: Container["resources"]): object {
  const without = (amounts: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(amounts).filter(([name]) => name !== "cpu" && name !== "memory"))
  return { requests: without(requests), limits: without(limits), claims }
}
