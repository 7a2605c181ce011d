import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { AllocationResult } from "../../../pkg/api/resource/v1/allocation.ts"
import type { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { uuid, type Random } from "../../../pkg/clock/random.ts"
import { canBeReserved, isClaimOf, isReservedFor, resourceClaimName } from "../../../pkg/pods/resource-claims.ts"
import { AllocationError, Allocator } from "../dynamicresources/allocator.ts"
import { hasClaims, type DeviceObjects } from "../dynamicresources/device-objects.ts"
import { DeviceSelectors } from "../dynamicresources/device-selectors.ts"
import { matchesNode } from "../dynamicresources/pools.ts"
import { alternativesOf } from "../dynamicresources/requests.ts"
import { hasFailedToBind } from "../dynamicresources/binding-conditions.ts"
import { normalized, SKIP, SUCCESS, unresolvable, type Plugin, type Status } from "../framework.ts"

const NAME = "DynamicResources"

/** What a pod's claims mean for its nodes. */
interface Claims {
  readonly all: readonly ResourceClaim[]
  /** Undefined where each claim has its devices. */
  readonly allocator: Allocator | undefined
  /** What claims without devices get, by node. */
  readonly allocations: Map<string, readonly AllocationResult[]>
}

/** What a share would be called does not matter while nodes are compared. */
const noShare = (): string => ""

/** The plugin, and what it says of the node that was chosen. */
export interface DynamicResources extends Plugin {
  /**
   * What those of the pod's claims that have no devices get on the node. @throws AllocationError, Error where they
   * cannot have them any more
   */
  allocationsFor(
    pod: Pod,
    node: Node,
  ): readonly { readonly claim: ResourceClaim; readonly allocation: AllocationResult }[]
  /** The pod's claims. @throws Error where one of them cannot be used */
  claimsOf(pod: Pod): readonly ResourceClaim[]
}

/**
 * A pod waits until its claims for devices are there, and then goes where their devices are, or where devices can be
 * had for them. These are given once the pod has its node (bind-devices.ts). Source: plugins/dynamicresources. Differs
 * from upstream: extended resources are not had by claims.
 */
export function dynamicResources(
  objects: DeviceObjects,
  { clock, random }: { readonly clock: Pick<Clock, "now">; readonly random: Random },
): DynamicResources {
  const selectors = new DeviceSelectors()

  function allocatorFor(claims: readonly ResourceClaim[], shareId: () => string): Allocator | undefined {
    const waiting = claims.filter(({ status }) => status.allocation === undefined)
    if (waiting.length === 0) return undefined
    return new Allocator({
      claims: waiting,
      slices: objects.slices(),
      allocated: objects.allocated(),
      deviceClass: (name) => objects.deviceClass(name),
      selectors,
      shareId,
    })
  }

  function claimsOf(pod: Pod): readonly ResourceClaim[] {
    const claims = claimsOrStatus(pod, objects)
    if ("code" in claims) throw new Error(claims.reasons.join(", "))
    return claims
  }

  return {
    name: NAME,
    eventsToRegister: ["Device/Change", "Node/Add", "Node/UpdateLabel", "Pod/Update"],
    preEnqueue(pod) {
      const claims = hasClaims(pod) ? claimsOrStatus(pod, objects) : []
      return "code" in claims ? claims : SUCCESS
    },
    preFilter(state, pod) {
      if (!hasClaims(pod)) return SKIP
      const claims = claimsOrStatus(pod, objects)
      if ("code" in claims) return claims
      if (claims.length === 0) return SKIP
      for (const claim of claims) {
        const refusal = refusalOf(claim, pod, objects)
        if (refusal !== undefined) return refusal
      }
      state.set(NAME, {
        all: claims,
        allocator: allocatorFor(claims, noShare),
        allocations: new Map(),
      } satisfies Claims)
      return SUCCESS
    },
    filter(state, _pod, { node }) {
      const { all, allocator, allocations } = state.get(NAME) as Claims
      const isUsable = (claim: ResourceClaim) =>
        isAvailableOn(node, claim.status.allocation) && !hasFailedToBind(claim, clock.now())
      if (!all.every(isUsable)) return unresolvable("resourceclaim not available on the node")
      if (allocator === undefined) return SUCCESS
      try {
        const found = allocator.allocate(node)
        if (found === undefined) return unresolvable("cannot allocate all claims")
        allocations.set(node.metadata.name ?? "", found)
        return SUCCESS
      } catch (err) {
        if (err instanceof AllocationError) return unresolvable(err.message)
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
    allocationsFor(pod, node) {
      const waiting = claimsOf(pod).filter(({ status }) => status.allocation === undefined)
      const allocations = allocatorFor(waiting, () => uuid(random))?.allocate(node)
      if (waiting.length > 0 && allocations === undefined)
        throw new Error(`claims of the pod cannot be allocated on node ${node.metadata.name} any more`)
      return waiting.map((claim, i) => ({ claim, allocation: allocations![i]! }))
    },
    claimsOf,
  }
}

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
