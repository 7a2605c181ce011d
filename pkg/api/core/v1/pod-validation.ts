import { deepEqual } from "../../../apimachinery/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  eachWithin,
  forbiddenField,
  invalidValue,
  NO_CAUSES,
  within,
} from "../../../apimachinery/field-errors.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { inRange, isDNS1123Subdomain, isIPAddress } from "../../../apimachinery/names.ts"
import type { Container } from "./container.ts"
import { trimmedImage } from "./container-validation.ts"
import { MIRROR_ANNOTATION, validatePodAnnotations } from "./pod-annotations-validation.ts"
import { isSidecar } from "./pod-columns.ts"
import { qosClassOf } from "./pod-qos.ts"
import { checked } from "./path-validation.ts"
import type { PodSpec } from "./podspec.ts"
import { validatePodSpec } from "./podspec-validation.ts"
import type { ContainerStatus, PodStatus } from "./podstatus.ts"
import type { Toleration } from "./tolerations.ts"
import { validateToleration } from "./scheduling-validation.ts"

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
export function validateNewPod({ spec }: PodView): readonly Cause[] {
  const causes: Cause[] = []
  if ((spec.ephemeralContainers ?? []).length > 0)
    causes.push(forbiddenField("spec.ephemeralContainers", "cannot be set on create"))
  if ((spec.nodeName ?? "") !== "" && (spec.schedulingGates ?? []).length > 0)
    causes.push(forbiddenField("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
  return causes
}

const UPDATABLE = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",")

/** Nearly nothing of a pod can be changed: images, a shorter deadline, more tolerations, fewer gates. */
export function validatePodChange({ spec }: PodView, { spec: old }: PodView): readonly Cause[] {
  const causes: Cause[] = []
  for (const list of ["containers", "initContainers"] as const)
    if ((spec[list] ?? []).length !== (old[list] ?? []).length)
      return [forbiddenField(at("spec", list), "pod updates may not add or remove containers")]
  const [deadline, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds]
  if (deadline !== undefined) {
    const outside = inRange(deadline, 0, 2 ** 31 - 1)
    if (outside !== undefined) return [invalidValue("spec.activeDeadlineSeconds", deadline, outside)]
    if (before !== undefined && before < deadline)
      return [invalidValue("spec.activeDeadlineSeconds", deadline, "must be less than or equal to previous value")]
  } else if (before !== undefined)
    causes.push(
      invalidValue("spec.activeDeadlineSeconds", undefined, "must not update from a positive integer to nil value"),
    )
  causes.push(...onlyAddedTolerations(spec.tolerations ?? [], old.tolerations ?? []), ...onlyRemovedGates(spec, old))

  const gated = (old.schedulingGates ?? []).length > 0
  if (gated && !containsAll(spec.nodeSelector ?? {}, old.nodeSelector ?? {}))
    causes.push(
      invalidValue(
        "spec.nodeSelector",
        spec.nodeSelector ?? {},
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
      ),
    )
  const withOldImages = (list: readonly Container[] | undefined, from: readonly Container[] | undefined) =>
    list?.map((container, i) => ({ ...container, image: from![i]!.image }))
  const rest: PodSpec = {
    ...spec,
    containers: withOldImages(spec.containers, old.containers)!,
    initContainers: withOldImages(spec.initContainers, old.initContainers),
    activeDeadlineSeconds: before,
    schedulingGates: old.schedulingGates,
    tolerations: old.tolerations,
    ...(old.terminationGracePeriodSeconds < 0 && spec.terminationGracePeriodSeconds === 1
      ? { terminationGracePeriodSeconds: old.terminationGracePeriodSeconds }
      : {}),
    // a pod that waits at a gate may still be narrowed to fewer nodes
    ...(gated ? { nodeSelector: old.nodeSelector, affinity: withOldNodeAffinity(spec, old) } : {}),
  }
  const changed = (Object.keys({ ...rest, ...old }) as (keyof PodSpec)[]).filter(
    (field) => !deepEqual(rest[field], old[field]),
  )
  if (changed.length > 0)
    causes.push(
      forbiddenField(
        "spec",
        `pod updates may not change fields other than ${UPDATABLE}\nchanged: ${changed.map((field) => `spec.${field}`).join(", ")}`,
      ),
    )
  return causes
}

function withOldNodeAffinity(spec: PodSpec, old: PodSpec): PodSpec["affinity"] {
  const { nodeAffinity: _ours, ...others } = spec.affinity ?? {}
  const nodeAffinity = old.affinity?.nodeAffinity
  if (nodeAffinity === undefined) return Object.keys(others).length === 0 ? old.affinity : others
  return { ...others, nodeAffinity }
}

const containsAll = (map: Readonly<Record<string, string>>, part: Readonly<Record<string, string>>): boolean =>
  Object.entries(part).every(([key, value]) => map[key] === value)

function onlyAddedTolerations(tolerations: readonly Toleration[], old: readonly Toleration[]): readonly Cause[] {
  const kept = old.every((before) =>
    tolerations.some((now) =>
      deepEqual({ ...before, tolerationSeconds: undefined }, { ...now, tolerationSeconds: undefined }),
    ),
  )
  if (!kept)
    return [forbiddenField("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]
  const causes: Cause[] = []
  eachWithin(causes, tolerations, "spec.tolerations", validateToleration)
  return causes
}

function onlyRemovedGates({ schedulingGates = [] }: PodSpec, { schedulingGates: old = [] }: PodSpec): readonly Cause[] {
  return schedulingGates.flatMap(({ name }, i) =>
    old.some((gate) => gate.name === name)
      ? []
      : [
          forbiddenField(
            at("spec.schedulingGates", i, "name"),
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  )
}

/** A status may not bring back what has ended for good, nor change what was decided at creation. */
export function validatePodStatusChange({ spec, status }: PodView, old: PodView): readonly Cause[] {
  const causes: Cause[] = []
  if (status.nominatedNodeName !== old.status.nominatedNodeName)
    causes.push(...checked("status.nominatedNodeName", status.nominatedNodeName || undefined, isDNS1123Subdomain))
  if (status.qosClass !== old.status.qosClass)
    causes.push(invalidValue("status.qosClass", status.qosClass, "field is immutable"))
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses, podIPs, hostIPs, hostIP = "" } = status
  within(
    causes,
    revived(containerStatuses, old.status.containerStatuses, spec.restartPolicy, NO_SIDECARS),
    "status.containerStatuses",
  )
  if (initContainerStatuses !== undefined)
    within(
      causes,
      revived(initContainerStatuses, old.status.initContainerStatuses, spec.restartPolicy, sidecarsOf(spec)),
      "status.initContainerStatuses",
    )
  within(
    causes,
    revived(ephemeralContainerStatuses, old.status.ephemeralContainerStatuses, "Never", NO_SIDECARS),
    "status.ephemeralContainerStatuses",
  )
  if (podIPs !== undefined) within(causes, validateIPs(podIPs), "status.podIPs")
  if (hostIPs !== undefined) within(causes, validateIPs(hostIPs, hostIP), "status.hostIPs")
  return causes
}
const NO_SIDECARS: ReadonlySet<string> = new Set()
const sidecarsOf = ({ initContainers = [] }: PodSpec): ReadonlySet<string> =>
  new Set(initContainers.filter(isSidecar).map(({ name }) => name))

function revived(
  statuses: readonly ContainerStatus[] | undefined,
  old: readonly ContainerStatus[] | undefined,
  policy: string,
  sidecars: ReadonlySet<string>,
): readonly Cause[] {
  if (policy === "Always" || statuses === undefined || old === undefined) return NO_CAUSES
  return old.flatMap(({ name, state: { terminated } }, i) => {
    if (terminated === undefined || (terminated.exitCode !== 0 && policy === "OnFailure") || sidecars.has(name))
      return []
    return statuses.some((status) => status.name === name && status.state.terminated === undefined)
      ? [forbiddenField(at("", i, "state"), "may not be transitioned to non-terminated state")]
      : []
  })
}

function validateIPs(ips: readonly { readonly ip: string }[], single?: string): readonly Cause[] {
  const causes: Cause[] = []
  if (single !== undefined && ips.length > 0 && ips[0]!.ip !== single)
    causes.push(invalidValue(at("", 0, "ip"), ips[0]!.ip, "must be equal to `hostIP`"))
  for (let i = 0; i < ips.length; i++) {
    const address = ips[i]!
    within(causes, checked("", address.ip, isIPAddress), i)
    for (let j = 0; j < i; j++) {
      if (ips[j]!.ip !== address.ip) continue
      causes.push(duplicate(at("", i), address))
      break
    }
  }
  // One is of one family, whichever.
  if (ips.length > 1 && ips.length > new Set(ips.map(({ ip }) => ip.includes(":"))).size)
    causes.push(invalidValue("", ips, "may specify no more than one IP for each IP family"))
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
