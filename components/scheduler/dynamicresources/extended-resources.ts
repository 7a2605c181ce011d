import type { Container } from "../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerExtendedResourceRequest } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { requestsOf } from "../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import type { DeviceRequest } from "../../../pkg/api/resource/v1/deviceclaim.ts"
import { EXTENDED_RESOURCE_CLAIM, mayBeClaimed } from "../../../pkg/api/resource/v1/extended-resources.ts"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { podOwner } from "../../../pkg/pods/resource-claims.ts"

/**
 * Pods that ask for devices by the names of extended resources, for which a DeviceClass stands. Source:
 * plugins/dynamicresources/extendeddynamicresources.go.
 */

/** Returns the name of the class that stands for a resource; undefined where none does. */
export type ClassOfResource = (resource: string) => string | undefined

/** What a claim asks for in the place of extended resources, and which container gets the devices of which request. */
export interface ExtendedRequests {
  readonly requests: readonly DeviceRequest[]
  readonly mappings: readonly ContainerExtendedResourceRequest[]
}

/** Resources of which the pod wants some, and which could be had by a claim, sorted. */
export const extendedResourcesOf = (pod: Pod): readonly string[] => {
  const { scalar } = requestsOf(pod).exact
  // Most pods ask for no such resource.
  if (scalar.size === 0) return []
  return [...scalar].flatMap(([name, wanted]) => (wanted > 0 && mayBeClaimed(name) ? [name] : [])).sort()
}

/** The name of a claim that is not written yet; no claim can have it. */
const UNWRITTEN = "<extended-resources>"

/** Returns the claim that is made for the pod when it gets its node. `uid` stands for it until then. */
export const extendedClaim = (pod: Pod, requests: readonly DeviceRequest[], uid: string): ResourceClaim => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: {
    namespace: pod.metadata.namespace,
    name: UNWRITTEN,
    uid,
    generateName: `${pod.metadata.name}-extended-resources-`,
    annotations: { [EXTENDED_RESOURCE_CLAIM]: "true" },
    ownerReferences: [podOwner(pod)],
  },
  spec: { devices: { requests } },
  status: {},
})

/**
 * Returns requests for the devices of the pod's containers. Containers and sidecars run together, so each has requests
 * of its own. An init container that ends before others start uses the devices of those first; what the largest of
 * these needs beyond them is one more request. Source: createRequestsAndMappings.
 */
export function extendedRequests(
  { spec }: Pod,
  resources: readonly string[],
  classOf: ClassOfResource,
): ExtendedRequests {
  const { initContainers = [], containers } = spec
  const all = [...initContainers, ...containers].map((container, index) => ({
    container,
    index,
    isPassing: index < initContainers.length && container.restartPolicy !== "Always",
  }))
  const requests: DeviceRequest[] = []
  const mappings: ContainerExtendedResourceRequest[] = []
  for (const resource of resources) {
    const deviceClassName = classOf(resource)
    if (deviceClassName === undefined) continue
    const asked = (isPassing: boolean, lasting: readonly Asked[]) =>
      all
        .filter((one) => one.isPassing === isPassing)
        .flatMap(({ container, index }) => askedBy(container, index, resource, lasting))
    const lasting = asked(false, [])
    const passing = asked(true, lasting)
    const largest = passing.reduce<Asked | undefined>(
      (most, one) => (one.count > (most?.count ?? 0) ? one : most),
      undefined,
    )
    for (const { name, count } of [...(largest === undefined ? [] : [largest]), ...lasting])
      requests.push({ name, exactly: { deviceClassName, allocationMode: "ExactCount", count } })
    for (const { container, used, name, count } of [
      ...lasting,
      ...passing.map((one) => ({ ...one, name: largest?.name ?? "" })),
    ])
      for (const requestName of count > 0 ? [...used, name] : used)
        mappings.push({ containerName: container.name, resourceName: resource, requestName })
  }
  return { requests: requests.sort((a, b) => (a.name < b.name ? -1 : 1)), mappings }
}

/** What one container asks for of one resource. */
interface Asked {
  readonly container: Container
  readonly index: number
  readonly name: string
  /** Devices beyond those of `used`. */
  readonly count: number
  /** Names of requests whose devices it uses, since their containers start after its end. */
  readonly used: readonly string[]
}

function askedBy(container: Container, index: number, resource: string, lasting: readonly Asked[]): readonly Asked[] {
  const asked = container.resources.requests ?? {}
  const wanted = asked[resource] === undefined ? 0 : unitsOf(asked[resource])
  if (wanted === 0) return []
  const used: string[] = []
  let had = 0
  for (const other of lasting)
    if (other.index >= index && had < wanted) {
      used.push(other.name)
      had += other.count
    }
  const name = `container-${index}-request-${Object.keys(asked).sort().indexOf(resource)}`
  return [{ container, index, name, count: Math.max(0, wanted - had), used }]
}
