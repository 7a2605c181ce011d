import { byName } from "../../../../cache/by-name.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
  tooLong,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isQualifiedName,
  isUserOrGroupID,
} from "../../../../apimachinery/validation/names.ts"
import { addressesFaults } from "../dual-stack.ts"
import { couldRestartAll, restarts } from "../container/container-restart.ts"
import type { Container } from "../container/container.ts"
import { checked } from "../path-validation.ts"
import type { PodSpec } from "./podspec.ts"
import {
  HostIP,
  PodIP,
  type ContainerStatus,
  type PodCondition,
  type PodExtendedResourceClaimStatus,
  type PodResourceClaimStatus,
  type PodStatus,
  type ResourceHealth,
  type ResourceStatus,
} from "./podstatus.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * The parts of a pod that the rules of its status read. Source: ValidatePodStatusUpdate in
 * pkg/apis/core/validation/validation.go.
 */
interface PodView {
  readonly spec: PodSpec
  readonly status: PodStatus
}

/**
 * A status update can neither restart containers that have ended for good, nor change fields that are set at creation.
 */
export function validatePodStatusChange({ spec, status }: PodView, old: PodView): readonly Cause[] {
  const causes: Cause[] = []
  const { conditions = [], nominatedNodeName: nominated = "", observedGeneration = 0 } = status
  within(causes, conditionFaults(conditions), "conditions")
  if (nominated !== "" && nominated !== old.status.nominatedNodeName) {
    pushAll(causes, checked("nominatedNodeName", nominated, isDNS1123Subdomain))
    if ((old.spec.nodeName ?? "") !== "")
      causes.push(forbiddenField("nominatedNodeName", "may not be set on pods that are already bound to a node"))
  }
  if (observedGeneration < 0)
    causes.push(invalidValue("observedGeneration", observedGeneration, "must be a non-negative integer"))
  if (status.qosClass !== old.status.qosClass)
    causes.push(invalidValue("qosClass", status.qosClass, "field is immutable"))
  for (const list of STATUS_LISTS) within(causes, revived(list, status[list], old), list)
  if (status.resourceClaimStatuses !== undefined)
    within(causes, claimFaults(status.resourceClaimStatuses, spec), "resourceClaimStatuses")
  if (status.extendedResourceClaimStatus !== undefined)
    within(causes, extendedClaimFaults(status.extendedResourceClaimStatus, spec), "extendedResourceClaimStatus")
  if (status.podIPs !== undefined) within(causes, addressFaults(status.podIPs, PodIP), "podIPs")
  const { hostIP = "", hostIPs = [] } = status
  if (hostIPs.length > 0 && hostIPs[0]!.ip !== hostIP)
    causes.push(invalidValue("hostIPs[0].ip", hostIPs[0]!.ip, "must be equal to `hostIP`"))
  within(causes, addressFaults(hostIPs, HostIP), "hostIPs")
  for (const list of STATUS_LISTS)
    for (const [i, container] of (status[list] ?? []).entries())
      within(causes, containerFaults(container, list, spec), list, i)
  const found: Cause[] = []
  within(found, causes, "status")
  return found
}

const STATUS_LISTS = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const
type StatusList = (typeof STATUS_LISTS)[number]

/** Condition types of Kubernetes are plain words; others have the form of label names. */
const OWN_CONDITIONS: readonly string[] = ["PodScheduled", "Ready", "Initialized"]

const conditionFaults = (conditions: readonly PodCondition[]): readonly Cause[] =>
  conditions.flatMap(({ type, observedGeneration = 0 }, i) => [
    ...(observedGeneration < 0
      ? [invalidValue(at("", i, "observedGeneration"), observedGeneration, "must be a non-negative integer")]
      : []),
    // Upstream writes this field with a capital letter.
    ...(OWN_CONDITIONS.includes(type) ? [] : checked(at("", i, "Type"), type, isQualifiedName)),
  ])

/** Returns the faults of containers that have ended for good and are reported as waiting or running. */
function revived(list: StatusList, statuses: readonly ContainerStatus[] | undefined, old: PodView): readonly Cause[] {
  const before = old.status[list]
  if (statuses === undefined || before === undefined) return NO_CAUSES
  const containers = containersOf(list, old.spec)
  if (list !== "ephemeralContainerStatuses" && couldRestartAll(old.spec)) return NO_CAUSES
  return before.flatMap(({ name, state: { terminated } }, i) => {
    if (terminated === undefined) return []
    const now = statuses.find((status) => status.name === name && status.state.terminated === undefined)
    const container = containers.find((other) => other.name === name)
    if (now === undefined || (container !== undefined && restarts(old, container, terminated.exitCode))) return []
    return [forbiddenField(at("", i, "state"), "may not be transitioned to non-terminated state")]
  })
}

/** Ephemeral containers are never started again. */
const containersOf = (list: StatusList, { containers, initContainers = [] }: PodSpec): readonly Container[] =>
  list === "containerStatuses" ? containers : list === "initContainerStatuses" ? initContainers : []

function claimFaults(statuses: readonly PodResourceClaimStatus[], { resourceClaims = [] }: PodSpec): readonly Cause[] {
  const seen = new Set<string>()
  return statuses.flatMap(({ name, resourceClaimName }, i) => {
    const here = at("", i, "name")
    const causes: Cause[] = []
    if (!resourceClaims.some((claim) => claim.name === name))
      causes.push(invalidValue(here, name, "must match the name of an entry in `spec.resourceClaims`"))
    if (seen.has(name)) causes.push(duplicate(here, name))
    seen.add(name)
    return [...causes, ...checked(at("", i, "resourceClaimName"), resourceClaimName, isDNS1123Subdomain)]
  })
}

function extendedClaimFaults(
  { requestMappings, resourceClaimName }: PodExtendedResourceClaimStatus,
  { containers, initContainers = [] }: PodSpec,
): readonly Cause[] {
  const causes: Cause[] = []
  const mappings = requestMappings ?? []
  if (mappings.length === 0) causes.push(required("requestMappings", "at least one request mapping is required"))
  const seen = new Set<string>()
  for (const [i, { containerName, resourceName, requestName }] of mappings.entries()) {
    const here = at("requestMappings", i)
    const container = [...initContainers, ...containers].findLast(({ name }) => name === containerName)
    if (container === undefined)
      causes.push(
        invalidValue(
          at(here, "containerName"),
          containerName,
          "must match the name of an entry in spec.initContainers.name or spec.containers.name",
        ),
      )
    else if (container.resources.requests?.[resourceName] === undefined)
      causes.push(
        invalidValue(
          at(here, "resourceName"),
          resourceName,
          "must match the extended resource name of an entry in spec.initContainers.resources.requests or " +
            "spec.containers.resources.requests",
        ),
      )
    // Upstream gives the path of the status instead of that of the mapping.
    pushAll(causes, checked("requestName", requestName, isDNS1123Label))
    const key = JSON.stringify([containerName, resourceName, requestName])
    if (seen.has(key))
      causes.push(
        duplicate(at(here, "containerName"), containerName),
        duplicate(at(here, "resourceName"), resourceName),
        duplicate(at(here, "requestName"), requestName),
      )
    seen.add(key)
  }
  if (resourceClaimName === "") causes.push(required("resourceClaimName"))
  else pushAll(causes, checked("resourceClaimName", resourceClaimName, isDNS1123Subdomain))
  return causes
}

/** Returns the faults of the addresses of a pod or its node. */
const addressFaults = (ips: readonly PodIP[], message: typeof PodIP | typeof HostIP): readonly Cause[] =>
  addressesFaults(
    ips.map(({ ip = "" }) => ip),
    () => ips.map((ip) => goForm(message, ip)),
  )

function containerFaults(status: ContainerStatus, list: StatusList, spec: PodSpec): readonly Cause[] {
  const causes: Cause[] = []
  const { user, allocatedResourcesStatus: devices = [] } = status
  if (user?.linux !== undefined) {
    const os: string = spec.os?.name ?? "linux"
    if (os === "windows") causes.push(forbiddenField("user.linux", "cannot be set for a windows pod"))
    else if (os === "linux") {
      const { uid, gid, supplementalGroups = [] } = user.linux
      for (const [field, id] of [
        ["uid", uid],
        ["gid", gid],
        ...supplementalGroups.map((group, i) => [at("supplementalGroups", i), group] as const),
      ] as const)
        pushAll(causes, invalidValues(at("user.linux", field), id, isUserOrGroupID(id)))
    }
  }
  if (list === "ephemeralContainerStatuses") {
    if (devices.length > 0)
      causes.push(forbiddenField("allocatedResourcesStatus", "must not be specified in container status"))
    return causes
  }
  if (devices.length === 0) return causes
  const container = byName(containersOf(list, spec), status.name)
  for (const [i, device] of devices.entries())
    within(causes, deviceFaults(device, container), "allocatedResourcesStatus", i)
  return causes
}

const HEALTHS: readonly string[] = ["Healthy", "Unhealthy", "Unknown"]
const LONGEST_HEALTH_MESSAGE = 1024

function deviceFaults({ name, resources = [] }: ResourceStatus, container: Container | undefined): readonly Cause[] {
  const causes: Cause[] = []
  if (container !== undefined) {
    const { claims = [], requests = {} } = container.resources
    const isClaim = name.startsWith("claim:")
    const isKnown = isClaim
      ? claims.some(({ name: claim, request = "" }) => name === `claim:${claim}${request === "" ? "" : `/${request}`}`)
      : Object.hasOwn(requests, name)
    if (!isKnown)
      causes.push(
        invalidValue(
          "name",
          name,
          isClaim
            ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or " +
                "'claim:<claimName>' if request is empty"
            : "must match one of the container's resource requests",
        ),
      )
  }
  const seen = new Set<string>()
  for (const [i, health] of resources.entries()) {
    within(causes, healthFaults(health), "resources", i)
    if (seen.has(health.resourceID)) causes.push(duplicate(at("resources", i, "resourceID"), health.resourceID))
    seen.add(health.resourceID)
  }
  return causes
}

function healthFaults({ health = "", message }: ResourceHealth): readonly Cause[] {
  const causes: Cause[] = HEALTHS.includes(health) ? [] : [notSupported("health", health, HEALTHS)]
  if (message === "") causes.push(required("message", "must be non-empty if specified"))
  else if (message !== undefined && Buffer.byteLength(message) > LONGEST_HEALTH_MESSAGE)
    causes.push(tooLong("message", LONGEST_HEALTH_MESSAGE))
  return causes
}
