import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { AllocationResult } from "../../../pkg/api/resource/v1/allocation.ts"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { uuid, type Random } from "../../../pkg/clock/random.ts"
import { canBeReserved, isClaimOf, isReservedFor, resourceClaimName } from "../../../pkg/pods/resource-claims.ts"
import type { DynamicResourcesArgs } from "../config/plugin-args.ts"
import { AllocationError, Allocator, NodeAllocationError } from "../dynamicresources/allocator.ts"
import { hasClaims, type DeviceObjects } from "../dynamicresources/device-objects.ts"
import { DeviceSelectors } from "../../../pkg/api/resource/v1/device-selectors.ts"
import {
  extendedClaim,
  extendedRequests,
  extendedResourcesOf,
  type ClassOfResource,
  type ExtendedRequests,
} from "../dynamicresources/extended-resources.ts"
import { freeDevices } from "../dynamicresources/free-devices.ts"
import { matchesNode } from "../dynamicresources/pools.ts"
import { alternativesOf } from "../dynamicresources/requests.ts"
import { reserveDevices, type Reserved } from "../dynamicresources/reserve-devices.ts"
import { hasFailedToBind } from "../dynamicresources/binding-conditions.ts"
import { failed, normalized, SKIP, SUCCESS, unresolvable, type Plugin, type Status } from "../framework.ts"
import type { NodeInfo } from "../node-info.ts"

const NAME = "DynamicResources"

/** What a pod's claims mean for its nodes. */
interface Claims {
  readonly all: readonly ResourceClaim[]
  /** Resources that are had by a claim where the node has none of them; a class stands for each. */
  readonly extended: readonly string[]
  /** The claim of an earlier attempt, which must go before the next one. */
  readonly stale: ResourceClaim | undefined
  /** What is to be allocated on a node, by the extended resources that it lacks. */
  readonly wanted: Map<string, Wanted>
  /** What claims without devices get, by node. */
  readonly allocations: Map<string, readonly AllocationResult[]>
}

/** The claims without devices. That for extended resources comes last, and is not written yet. */
interface Wanted {
  readonly claims: readonly ResourceClaim[]
  readonly mappings: ExtendedRequests["mappings"]
  /** Undefined where each claim has its devices. */
  readonly allocator: Allocator | undefined
}

/** What a share would be called does not matter while nodes are compared. */
const noShare = (): string => ""

/**
 * A pod waits until its claims for devices are there, and then goes where their devices are, or where devices can be
 * had for them. These are given once the pod has its node (reserve-devices.ts). So are devices that a pod asks for as
 * extended resources, where a class stands for these and the node has none of them: by one claim that is then made for
 * the pod. Source: plugins/dynamicresources.
 */
export function dynamicResources(
  objects: DeviceObjects,
  { clock, random }: { readonly clock: Pick<Clock, "now">; readonly random: Random },
  { bindingTimeout }: DynamicResourcesArgs,
): Plugin {
  const bindingTimeoutMs = parseDuration(bindingTimeout)!
  const selectors = new DeviceSelectors()
  const className: ClassOfResource = (resource) => objects.classOf(resource)?.metadata.name

  function wantedBy(
    pod: Pod,
    claims: readonly ResourceClaim[],
    resources: readonly string[],
    shareId: () => string,
  ): Wanted {
    const waiting = claims.filter(({ status }) => status.allocation === undefined)
    const { requests, mappings } = extendedRequests(pod, resources, className)
    const all = requests.length === 0 ? waiting : [...waiting, extendedClaim(pod, requests, uuid(random))]
    const allocator =
      all.length === 0
        ? undefined
        : new Allocator({
            claims: all,
            slices: objects.slices(),
            allocated: objects.allocated(),
            deviceClass: (name) => objects.deviceClass(name),
            selectors,
            shareId,
          })
    return { claims: all, mappings, allocator }
  }

  const extendedOf = (pod: Pod): readonly string[] =>
    extendedResourcesOf(pod).filter((resource) => className(resource) !== undefined)

  /** The claims that the pod names. @throws Error where one of them cannot be used */
  function claimsOf(pod: Pod): readonly ResourceClaim[] {
    const claims = claimsOrStatus(pod, objects)
    if ("code" in claims) throw new Error(claims.reasons.join(", "))
    return claims
  }

  /**
   * The pod's claims that are not reserved for it yet, with what those without devices get on the node.
   * @throws AllocationError, Error where they cannot have them any more
   */
  function reservedOn(pod: Pod, node: NodeInfo, extended: readonly string[]): readonly Reserved[] {
    const all = claimsOf(pod)
    const { claims, mappings, allocator } = wantedBy(pod, all, lackedBy(node, extended), () => uuid(random))
    const allocations = allocator?.allocate(node.node)
    if (claims.length > 0 && allocations === undefined)
      throw new Error(`claims of the pod cannot be allocated on node ${node.name} any more`)
    const given = claims.map((claim, i) =>
      all.includes(claim) ? { claim, allocation: allocations![i]! } : { claim, allocation: allocations![i]!, mappings },
    )
    const had = all.filter((claim) => !claims.includes(claim)).map((claim) => ({ claim }))
    return [...had, ...given].filter(({ claim }) => !isReservedFor(claim, pod))
  }

  return {
    name: NAME,
    eventsToRegister: ["Device/Change", "Node/Add", "Node/UpdateLabel", "Node/UpdateAllocatable", "Pod/Update"],
    preEnqueue(pod) {
      const claims = hasClaims(pod) ? claimsOrStatus(pod, objects) : []
      return "code" in claims ? claims : SUCCESS
    },
    preFilter(state, pod) {
      const extended = extendedOf(pod)
      if (!hasClaims(pod) && extended.length === 0) return SKIP
      const claims = claimsOrStatus(pod, objects)
      if ("code" in claims) return claims
      if (claims.length === 0 && extended.length === 0) return SKIP
      for (const claim of claims) {
        const refusal = refusalOf(claim, pod, objects)
        if (refusal !== undefined) return refusal
      }
      state.set(NAME, {
        all: claims,
        extended,
        stale: extended.length === 0 ? undefined : objects.extendedClaimOf(pod),
        wanted: new Map(),
        allocations: new Map(),
      } satisfies Claims)
      return SUCCESS
    },
    filter(state, pod, node) {
      const { all, extended, stale, wanted, allocations } = state.get(NAME) as Claims
      if (stale !== undefined) return unresolvable("cannot schedule extended resource claim")
      const isUsable = (claim: ResourceClaim) =>
        isAvailableOn(node.node, claim.status.allocation) && !hasFailedToBind(claim, clock.now(), bindingTimeoutMs)
      if (!all.every(isUsable)) return unresolvable("resourceclaim not available on the node")
      const lacking = lackedBy(node, extended)
      const key = lacking.join()
      let here = wanted.get(key)
      if (here === undefined) wanted.set(key, (here = wantedBy(pod, all, lacking, noShare)))
      if (here.allocator === undefined) return SUCCESS
      try {
        const found = here.allocator.allocate(node.node)
        if (found === undefined) return unresolvable("cannot allocate all claims")
        allocations.set(node.name, found)
        return SUCCESS
      } catch (err) {
        if (err instanceof NodeAllocationError) return unresolvable(err.message)
        if (err instanceof AllocationError) return failed(err.message)
        throw err
      }
    },
    preScore(state) {
      const claims = state.get(NAME) as Claims | undefined
      const hasAlternatives = claims?.all.some(({ spec }) =>
        spec.devices.requests?.some(({ firstAvailable = [] }) => firstAvailable.length > 0),
      )
      return hasAlternatives === true ? SUCCESS : SKIP
    },
    score(state, _pod, { name }) {
      const { all, allocations } = state.get(NAME) as Claims
      const given = allocations.get(name) ?? []
      const waiting = all.filter(({ status }) => status.allocation === undefined)
      return all
        .map((claim) => scoreOf(claim, claim.status.allocation ?? given[waiting.indexOf(claim)]))
        .reduce((sum, score) => sum + score, 0)
    },
    normalize: normalized(false),
    reserve(pod, node, context) {
      const extended = extendedOf(pod)
      if (!hasClaims(pod) && extended.length === 0) return undefined
      const reserved = reservedOn(pod, node, extended)
      return reserveDevices(pod, node.node, reserved, () => claimsOf(pod), objects, { ...context, bindingTimeoutMs })
    },
    postFilter: (pod, nodes, context) => freeDevices(pod, nodes, objects, { ...context, bindingTimeoutMs }),
  }
}

/** Which of the resources the node has none of: these are had by a claim. Source: filterExtendedResources. */
const lackedBy = ({ allocatable }: NodeInfo, resources: readonly string[]): readonly string[] =>
  resources.filter((resource) => (allocatable.scalar.get(resource) ?? 0) === 0)

/** Alternatives that a request can have. Source: resource/v1 FirstAvailableDeviceRequestMaxSize. */
const MOST_ALTERNATIVES = 8

/** The sooner an alternative stands in its list, the more it counts. Source: computeScore. */
function scoreOf({ spec }: ResourceClaim, allocation: AllocationResult | undefined): number {
  const given = new Set(allocation?.devices.results?.map(({ request }) => request))
  let score = 0
  for (const { name, firstAvailable = [] } of spec.devices.requests ?? [])
    firstAvailable.forEach((alternative, i) => {
      if (given.has(`${name}/${alternative.name}`)) score += MOST_ALTERNATIVES - i
    })
  return score
}

const isAvailableOn = (node: Node, allocation: AllocationResult | undefined): boolean =>
  allocation?.nodeSelector === undefined || matchesNode(allocation.nodeSelector, node)

/** Why the pod fits nowhere because of the claim. Source: PreFilter. */
function refusalOf(claim: ResourceClaim, pod: Pod, objects: DeviceObjects): Status | undefined {
  if (claim.status.allocation !== undefined)
    return canBeReserved(claim) || isReservedFor(claim, pod) ? undefined : unresolvable("resourceclaim in use")
  if (objects.isPending(claim))
    return unresolvable(
      `resource claim ${claim.metadata.namespace}/${claim.metadata.name} is in the process of being allocated`,
    )
  for (const { name, deviceClassName } of (claim.spec.devices.requests ?? []).flatMap(alternativesOf))
    if (objects.deviceClass(deviceClassName) === undefined)
      return unresolvable(`request ${name}: device class ${deviceClassName} does not exist`)
  return undefined
}

/** The pod's claims, or which one of them it waits for. Source: foreachPodResourceClaim. */
function claimsOrStatus(pod: Pod, objects: DeviceObjects): readonly ResourceClaim[] | Status {
  const { namespace = "", name: podName = "" } = pod.metadata
  const claims: ResourceClaim[] = []
  for (const asked of pod.spec.resourceClaims ?? []) {
    const name = resourceClaimName(pod, asked)
    if (name === undefined) return unresolvable(`pod "${namespace}/${podName}": ResourceClaim not created yet`)
    if (name === null) continue
    const claim = objects.claim(namespace, name)
    if (claim === undefined)
      return unresolvable(`could not find ResourceClaim ${JSON.stringify(`${namespace}/${name}`)}`)
    if (claim.metadata.deletionTimestamp !== undefined)
      return unresolvable(`resourceclaim ${JSON.stringify(name)} is being deleted`)
    if (asked.resourceClaimName === undefined && !isClaimOf(pod, claim))
      return unresolvable(
        `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName} (Pod is not owner)`,
      )
    claims.push(claim)
  }
  return claims
}
