import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { DeviceRequestAllocationResult } from "../../../pkg/api/resource/v1/allocation.ts"
import type { DeviceTaint } from "../../../pkg/api/resource/v1/device.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { toleratesDeviceTaint } from "../../../pkg/api/resource/v1/device-taints.ts"
import { keyFrom, type Index, type Informers, type Key } from "../../../pkg/client/informer.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"
import { isReservedFor, resourceClaimNames } from "../../../pkg/pods/resource-claims.ts"
import { evictDisrupted } from "../pod-control/evict-disrupted.ts"
import { podsByResourceClaim } from "./indexes.ts"

/**
 * Deletes pods whose devices have a taint with the effect NoExecute that their claims do not tolerate, or no longer
 * tolerate. The time that a claim tolerates a taint begins with the taint. Source: pkg/controller/devicetainteviction,
 * without DeviceTaintRules, whose gate is off by default.
 */
export function deviceTaintEvictionController(): Controller<Pod> {
  /** Pods that are to be deleted later. */
  const waiting = new Map<Key, Pod>()
  return defineController<Pod>({
    name: "device-taint-eviction-controller",
    eventSource: "device-taint-eviction-controller",
    reconciles: Pod,
    concerns: ({ spec }) => (spec.nodeName ?? "") !== "" && (spec.resourceClaims ?? []).length > 0,
    watches: [
      watching(ResourceClaim, ({ metadata }, { informers }) => usersOf([keyFrom(metadata)], informers)),
      watching(ResourceSlice, (slice, { informers }, old) => {
        if (!hasEvicting(slice) && (old === undefined || !hasEvicting(old))) return []
        const { driver, pool } = slice.spec
        const claims = informers.of(ResourceClaim).by(claimsByPool, `${driver}/${pool.name}`)
        return usersOf(
          claims.map(({ metadata }) => keyFrom(metadata)),
          informers,
        )
      }),
    ],
    async reconcile(key, context) {
      const { informers, clock, events } = context
      const pod = informers.of(Pod).get(key)
      const before = waiting.get(key)
      waiting.delete(key)
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return
      const due = evictionTime(pod, informers)
      if (due === undefined) {
        if (before?.metadata.uid === pod.metadata.uid) events.event(pod, "Normal", EVENT, "Cancelling deletion")
        return
      }
      const left = due - clock.now()
      if (left > 0) {
        waiting.set(key, pod)
        return { requeueAfter: left }
      }
      await evict(pod, context)
    },
  })
}

const EVENT = "DeviceTaintManagerEviction"

async function evict(pod: Pod, context: ReconcileContext): Promise<void> {
  context.events.event(pod, "Normal", EVENT, "Marking for deletion")
  await evictDisrupted(
    pod,
    {
      reason: "DeletionByDeviceTaintManager",
      message: "Device Taint manager: deleting due to NoExecute taint",
    },
    context,
  )
}

/** Returns the keys of the pods that use claims. */
const usersOf = (claims: readonly Key[], informers: Informers): readonly Key[] =>
  claims.flatMap((claim) => informers.of(Pod).by(podsByResourceClaim, claim)).map(({ metadata }) => keyFrom(metadata))

/** Allocated claims, by the pools of their devices: `<driver>/<pool>`. */
const claimsByPool: Index<ResourceClaim> = {
  name: "device-pools",
  of: ({ status }) => [
    ...new Set((status.allocation?.devices.results ?? []).map(({ driver, pool }) => `${driver}/${pool}`)),
  ],
}

/** Slices, by their pools. */
const slicesByPool: Index<ResourceSlice> = {
  name: "pools",
  of: ({ spec: { driver, pool } }) => [`${driver}/${pool.name}`],
}

const isEvicting = ({ effect }: DeviceTaint): boolean => effect === "NoExecute"

const hasEvicting = ({ spec }: ResourceSlice): boolean =>
  (spec.devices ?? []).some(({ taints = [] }) => taints.some(isEvicting))

/** Returns when the pod is to be deleted, in milliseconds since the epoch; undefined when it may stay. */
function evictionTime(pod: Pod, informers: Informers): number | undefined {
  if ((pod.spec.nodeName ?? "") === "") return undefined
  const claims = resourceClaimNames(pod).flatMap((name) => {
    const claim = informers.of(ResourceClaim).get(keyFrom({ namespace: pod.metadata.namespace, name }))
    return claim !== undefined && isReservedFor(claim, pod) ? [claim] : []
  })
  const devices = claims.flatMap(({ status }) => status.allocation?.devices.results ?? [])
  const times = devices.flatMap((device) =>
    taintsOf(device, informers).flatMap((taint) => evictionByTaint(device, taint) ?? []),
  )
  return times.length === 0 ? undefined : smallest(times)
}

/** Returns the evicting taints of an allocated device, as the newest generation of its pool has it. */
function taintsOf(
  { driver, pool, device }: DeviceRequestAllocationResult,
  informers: Informers,
): readonly DeviceTaint[] {
  const slices = informers.of(ResourceSlice).by(slicesByPool, `${driver}/${pool}`)
  const newest = slices.reduce((most, { spec }) => Math.max(most, spec.pool.generation), 0)
  return slices
    .filter(({ spec }) => spec.pool.generation === newest)
    .flatMap(({ spec }) => spec.devices ?? [])
    .filter(({ name }) => name === device)
    .flatMap(({ taints = [] }) => taints.filter(isEvicting))
}

/**
 * Returns when a taint evicts the users of a device; undefined when it is tolerated for ever. Only tolerations that
 * name the effect count, and of several the shortest. Source: claimEvictionTime.
 */
function evictionByTaint({ tolerations = [] }: DeviceRequestAllocationResult, taint: DeviceTaint): number | undefined {
  const seconds = tolerations
    .filter((toleration) => toleration.effect === "NoExecute" && toleratesDeviceTaint(toleration, taint))
    .map(({ tolerationSeconds }) => tolerationSeconds)
  if (seconds.includes(undefined)) return undefined
  const tolerated = smallest(seconds.map((some = 0) => Math.max(0, some)))
  return Date.parse(taint.timeAdded ?? "") + (seconds.length === 0 ? 0 : tolerated * 1000)
}
