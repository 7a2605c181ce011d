import { LimitRange } from "../../../../pkg/api/core/v1/limitrange/limitrange.ts"
import type { LimitRangeItem } from "../../../../pkg/api/core/v1/limitrange/limitrangespec.ts"
import { PersistentVolumeClaim } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { isOfPods } from "../../../../pkg/api/core/v1/pod/resources/pod-resources.ts"
import { containersResourceList, resourceList } from "../../../../pkg/api/core/v1/pod/resources/resource-list.ts"
import { compareQuantities, formatQuantity, quantity } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { on, type AdmissionAttributes, type AdmissionPlugin, type AttributesOf } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

type Amounts = Readonly<Record<string, string>>
type Container = Pod["spec"]["containers"][number]

const NAME = "LimitRanger"

/**
 * Applies the LimitRanges of a namespace to the requests and limits of its pods and claims: defaults and bounds.
 * Source: plugin/pkg/admission/limitranger.
 */
export function limitRanger({ objects }: AdmissionContext): readonly AdmissionPlugin[] {
  /** @throws ApiError that names every bound that the object exceeds */
  function check(
    { resource, namespace, name }: AdmissionAttributes,
    faultsOf: (item: LimitRangeItem) => readonly string[],
  ): void {
    const ranges = objects.list(LimitRange, namespace)
    if (ranges.length === 0) return
    const faults = ranges.flatMap(({ spec }) => (spec.limits ?? []).flatMap(faultsOf))
    if (faults.length > 0) throw forbidden(resource, name, faults.length === 1 ? faults[0]! : `[${faults.join(", ")}]`)
  }
  const checkPod = (attributes: AttributesOf<Pod>) => check(attributes, (item) => faultsOfPod(attributes.object, item))
  const newPods = on(Pod, {
    name: NAME,
    operations: ["CREATE"],
    admit({ object: pod, namespace }) {
      const ranges = objects.list(LimitRange, namespace)
      return ranges.length === 0 ? undefined : ranges.reduce(withDefaults, pod)
    },
    validate: checkPod,
  })
  // Only the resize subresource can change the requests and limits of an existing pod.
  const resizedPods = on(Pod, { name: NAME, operations: ["UPDATE"], subresources: ["resize"], validate: checkPod })
  const claims = on(PersistentVolumeClaim, {
    name: NAME,
    operations: ["CREATE", "UPDATE"],
    validate: (attributes) => check(attributes, (item) => faultsOfClaim(attributes.object, item)),
  })
  return [newPods, resizedPods, claims]
}

function withDefaults(pod: Pod, range: LimitRange): Pod {
  const item = range.spec.limits?.find(({ type }) => type === "Container")
  if (item === undefined) return pod
  const set: string[] = []
  const filled = (containers: readonly Container[], kind: string) =>
    containers.map((container) => {
      const { requests, limits } = container.resources
      const lacking = (defaults: Amounts | undefined, given: Amounts | undefined) =>
        Object.keys(defaults ?? {})
          .filter((name) => given?.[name] === undefined)
          .sort()
      // A limit without a request is also the request; decoding has set that already.
      const newRequests = lacking(item.defaultRequest, requests)
      const newLimits = lacking(item.default, limits)
      if (newRequests.length > 0) set.push(`${newRequests.join(", ")} request for ${kind} ${container.name}`)
      if (newLimits.length > 0) set.push(`${newLimits.join(", ")} limit for ${kind} ${container.name}`)
      if (newRequests.length + newLimits.length === 0) return container
      const both = { requests: { ...item.defaultRequest, ...requests }, limits: { ...item.default, ...limits } }
      return {
        ...container,
        resources: {
          ...container.resources,
          ...(Object.keys(both.requests).length === 0 ? {} : { requests: both.requests }),
          ...(Object.keys(both.limits).length === 0 ? {} : { limits: both.limits }),
        },
      }
    })
  const containers = filled(pod.spec.containers, "container")
  const initContainers =
    pod.spec.initContainers === undefined ? undefined : filled(pod.spec.initContainers, "init container")
  if (set.length === 0) return pod
  const annotations = {
    ...pod.metadata.annotations,
    "kubernetes.io/limit-ranger": `LimitRanger plugin set: ${set.join("; ")}`,
  }
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations },
    spec: { ...pod.spec, containers, ...(initContainers === undefined ? {} : { initContainers }) },
  }
}

const faultsOfClaim = ({ spec }: PersistentVolumeClaim, item: LimitRangeItem): readonly string[] =>
  item.type === "PersistentVolumeClaim"
    ? outside(item, "PersistentVolumeClaim", spec.resources?.requests ?? {}, undefined)
    : []

function faultsOfPod({ spec }: Pod, item: LimitRangeItem): readonly string[] {
  if (item.type === "Container")
    return [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ resources }) =>
      outside(item, "Container", resources.requests ?? {}, resources.limits ?? {}),
    )
  if (item.type !== "Pod") return []
  return outside(item, "Pod", totalOf(spec, "requests"), totalOf(spec, "limits"))
}

/**
 * Returns what a pod requests, or its limits: those of its containers with its sidecars, or of an init container where
 * that is more. What is given for the pod itself replaces it.
 */
function totalOf(spec: Pod["spec"], kind: "requests" | "limits"): Amounts {
  const ofContainers = containersResourceList(spec, ({ resources }) => resourceList(resources[kind]))
  const total = Object.create(null) as Record<string, string>
  for (const [name, amount] of Object.entries(ofContainers)) total[name] = formatQuantity(amount)
  for (const [name, amount] of Object.entries(spec.resources?.[kind] ?? {})) if (isOfPods(name)) total[name] = amount
  return total
}

/** Returns a message for each bound that is exceeded. `limits` is undefined for objects that have requests only. */
function outside(item: LimitRangeItem, type: string, requests: Amounts, limits: Amounts | undefined): string[] {
  const faults: string[] = []
  const compare = (a: string, b: string) => compareQuantities(quantity(a), quantity(b))
  for (const [name, min] of Object.entries(item.min ?? {})) {
    const request = requests[name]
    if (request === undefined) faults.push(`minimum ${name} usage per ${type} is ${min}.  No request is specified`)
    else if (compare(request, min) < 0)
      faults.push(`minimum ${name} usage per ${type} is ${min}, but request is ${request}`)
    else if (limits?.[name] !== undefined && compare(limits[name], min) < 0)
      faults.push(`minimum ${name} usage per ${type} is ${min}, but limit is ${limits[name]}`)
  }
  for (const [name, max] of Object.entries(item.max ?? {})) {
    const limit = limits === undefined ? requests[name] : limits[name]
    const word = limits === undefined ? "request" : "limit"
    if (limit === undefined) faults.push(`maximum ${name} usage per ${type} is ${max}.  No ${word} is specified`)
    else if (compare(limit, max) > 0)
      faults.push(`maximum ${name} usage per ${type} is ${max}, but ${word} is ${limit}`)
    else if (requests[name] !== undefined && compare(requests[name], max) > 0)
      faults.push(`maximum ${name} usage per ${type} is ${max}, but request is ${requests[name]}`)
  }
  for (const [name, ratio] of Object.entries(item.maxLimitRequestRatio ?? {})) {
    const [limit, request] = [limits?.[name], requests[name]]
    const isNothing = (amount: string | undefined) => amount === undefined || quantity(amount).nano === 0n
    const missing = isNothing(request) ? "request" : isNothing(limit) ? "limit" : undefined
    if (request === undefined || limit === undefined || missing !== undefined) {
      faults.push(
        `${name} max limit to request ratio per ${type} is ${ratio}, but no ${missing} is specified or ${missing} is 0`,
      )
      continue
    }
    const actual = Number(quantity(limit).nano) / Number(quantity(request).nano)
    if (actual > Number(quantity(ratio).nano) / 1e9)
      faults.push(
        `${name} max limit to request ratio per ${type} is ${ratio}, but provided ratio is ${actual.toFixed(6)}`,
      )
  }
  return faults
}
