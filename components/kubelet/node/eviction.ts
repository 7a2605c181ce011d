import { formatQuantity, fromUnits } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { removeUnusedImages } from "../images/image-garbage.ts"
import type { ImageManager } from "../images/image-manager.ts"
import { tuningOf } from "../model/tuning.ts"
import { isBelow, type Observations } from "../model/pressure.ts"
import { limitOf, SIGNALS, type Amount, type Signal } from "../model/thresholds.ts"
import { isCritical } from "../model/qos.ts"
import { enforceStorageLimits, type StorageLimitsParts } from "./storage-limits.ts"
import { podUsages, type ScarceResource, type Usage } from "./pod-usages.ts"
import { EVICTED } from "../model/rejection.ts"
import type { Verdict } from "../status/pod-status.ts"

/**
 * Returns the pods that are not critical in the order of their eviction: pods above their request first, then by
 * priority, then by how far they are above. Pure. Source: pkg/kubelet/eviction/helpers.go rankMemoryPressure,
 * rankDiskPressureFunc.
 */
export const evictionOrder = (usages: readonly Usage[]): readonly Usage[] =>
  usages
    .filter(({ pod }) => !isCritical(pod))
    .toSorted(
      (a, b) =>
        Number(b.used > b.requested) - Number(a.used > a.requested) ||
        (a.pod.spec.priority ?? 0) - (b.pod.spec.priority ?? 0) ||
        b.used - b.requested - (a.used - a.requested),
    )

export interface EvictionParts extends StorageLimitsParts {
  readonly images: Pick<ImageManager, "lastUsed" | "removed">
}

/** A threshold that evicts pods now. */
interface Due {
  readonly signal: Signal
  readonly amount: Amount
  readonly graceSeconds: number
}

/**
 * How much more than its threshold is freed of the disk by removing images, unless it is configured, so that the
 * pressure does not return at once.
 */
const MARGIN = 0.05

/** How long the next eviction waits for an evicted pod to give back what it had. Source: podCleanupTimeout there. */
const CLEANUP_MS = 30_000

/** How long containerd may take to free the disk of what was removed, which it does later, by itself. */
const FREEING_MS = 5000

/** The same while the disk has not become emptier since the eviction: the machine is busy, or its disk slow. */
const SLOW_FREEING_MS = 30_000

/**
 * How long an eviction waits for measurements that were made since the pressure began. containerd measures the writable
 * layers of containers every ten seconds, and says of one that it has not measured yet that it is empty.
 */
const MEASURING_MS = 15_000

/** Frees what is scarce on the node. Source: pkg/kubelet/eviction/eviction_manager.go synchronize. */
export class EvictionManager {
  readonly #parts: EvictionParts
  /** Since when soft thresholds are crossed, on the monotonic clock. */
  readonly #crossedSince = new Map<Signal, number>()
  /** When the pods that have not yet given back what they had were evicted, on the monotonic clock, by their uids. */
  readonly #evicted = new Map<string, number>()
  /** When the last evicted pod had given back what it had. */
  #cleanedUpAt = -Infinity
  /** What was available when the last pod was evicted. */
  #atEviction: Observations = {}
  #isRelieving = false
  /** When the present need to evict began: of the system's and the monotonic clock. */
  #dueSince: { readonly at: number; readonly monotonic: number } | undefined
  /** Signals of which less was available than the threshold, and not yet so much more as is to be freed. */
  readonly #reclaiming = new Set<Signal>()

  constructor(parts: EvictionParts) {
    this.#parts = parts
  }

  /**
   * Evicts the pods that are beyond their own limits. Then frees the scarce resource: when the disk is short, removes
   * unused images; if that frees nothing, or another resource is short, evicts one pod, and the next one when those
   * before have given back what they had. Called after each measurement; does nothing while an earlier call is under
   * way. Never rejects.
   */
  async relieve(observations: Observations): Promise<void> {
    if (this.#isRelieving) return
    this.#isRelieving = true
    try {
      // Before anything else takes time, in which a pod could give back what was measured.
      const isCleaningUp = this.#isCleaningUp()
      const due = this.#due(observations)
      this.#noteDue(due)
      const evicted = await enforceStorageLimits(this.#parts)
      for (const uid of evicted) this.#noteEviction(uid, observations)
      if (isCleaningUp || evicted.length > 0) return
      if (due !== undefined && isOfDisk(due.signal) && this.#isBeingFreed(due.signal, observations)) return
      if (due !== undefined) await this.#evictFor(due, observations)
      else await this.#collectImages(observations)
    } catch (err) {
      this.#parts.context.log.warn("Failed to free a resource that is under pressure", { err })
    } finally {
      this.#isRelieving = false
    }
  }

  /** A volume in memory, for one, is there until it is unmounted: the measurement still counts it. */
  #isCleaningUp(): boolean {
    const { context, workers } = this.#parts
    const now = context.clock.monotonic()
    for (const [uid, at] of this.#evicted) {
      const isCleanedUp = workers.get(uid)?.isCleanedUp !== false
      if (isCleanedUp) this.#cleanedUpAt = now
      if (isCleanedUp || now - at >= CLEANUP_MS) this.#evicted.delete(uid)
    }
    return this.#evicted.size > 0
  }

  #noteDue(due: Due | undefined): void {
    const { clock } = this.#parts.context
    this.#dueSince =
      due === undefined ? undefined : (this.#dueSince ?? { at: clock.now(), monotonic: clock.monotonic() })
  }

  /** Whether a pod may be the one that takes so much, of which the runtime does not know it yet. */
  #isMeasuring(usages: readonly Usage[]): boolean {
    const since = this.#dueSince
    if (since === undefined || this.#parts.context.clock.monotonic() - since.monotonic >= MEASURING_MS) return false
    return usages.some(({ measuredAt = Infinity }) => measuredAt < since.at)
  }

  #noteEviction(uid: string, observations: Observations): void {
    this.#evicted.set(uid, this.#parts.context.clock.monotonic())
    this.#atEviction = observations
  }

  /** Whether what the last evicted pod had on the disk may still be there. */
  #isBeingFreed(signal: Signal, observations: Observations): boolean {
    const waited = this.#parts.context.clock.monotonic() - this.#cleanedUpAt
    if (waited < FREEING_MS) return true
    if (waited >= SLOW_FREEING_MS) return false
    const [before, now] = [this.#atEviction[signal], observations[signal]]
    return before !== undefined && now !== undefined && now.available < before.available + MARGIN * now.capacity
  }

  #due(observations: Observations): Due | undefined {
    const { clock, config } = this.#parts.context
    const { hard, soft, mostGraceSeconds } = tuningOf(config).eviction
    const now = clock.monotonic()
    for (const signal of SIGNALS)
      if (!isBelow(observations, signal, soft[signal]?.amount)) this.#crossedSince.delete(signal)
      else if (!this.#crossedSince.has(signal)) this.#crossedSince.set(signal, now)
    for (const signal of SIGNALS) {
      const [amount, gentle] = [hard[signal], soft[signal]]
      if (amount !== undefined && this.#isReclaiming(observations, signal, amount))
        return { signal, amount, graceSeconds: 0 }
      if (amount !== undefined && isBelow(observations, signal, amount)) return { signal, amount, graceSeconds: 0 }
      const since = this.#crossedSince.get(signal)
      if (gentle !== undefined && since !== undefined && now - since >= gentle.graceMs)
        return { signal, amount: gentle.amount, graceSeconds: mostGraceSeconds }
    }
    return undefined
  }

  /**
   * Whether a hard threshold was crossed, and there is less than it and what is to be freed beside. Without a setting
   * of the latter only the threshold counts, which is looked at elsewhere. Source: eviction/helpers.go thresholdsMet.
   */
  #isReclaiming(observations: Observations, signal: Signal, amount: Amount): boolean {
    const more = tuningOf(this.#parts.context.config).minimumReclaim[signal]
    const observed = observations[signal]
    if (more === undefined || observed === undefined) return false
    const { available, capacity } = observed
    if (isBelow(observations, signal, amount)) this.#reclaiming.add(signal)
    else if (available >= limitOf(amount, capacity) + limitOf(more, capacity)) this.#reclaiming.delete(signal)
    return this.#reclaiming.has(signal)
  }

  async #evictFor(due: Due, observations: Observations): Promise<void> {
    const { context, workers } = this.#parts
    const resource = resourceOf(due.signal)
    const { available, capacity } = observations[due.signal]!
    const threshold = limitOf(due.amount, capacity)
    const more = tuningOf(context.config).minimumReclaim[due.signal]
    const margin = more === undefined ? MARGIN * capacity : limitOf(more, capacity)
    if (due.signal.endsWith("fs.available")) if ((await this.#removeImages(threshold + margin - available)) > 0) return
    const running = workers
      .all()
      .filter(({ stage }) => stage === "running")
      .map(({ pod }) => pod)
    const usages = await podUsages(this.#parts, running, resource)
    if (this.#isMeasuring(usages)) return
    const [first] = evictionOrder(usages)
    if (first === undefined) {
      context.log.warn("A resource of the node is under pressure, and no pod can be evicted", { resource })
      return
    }
    const verdict = verdictFor(resource, threshold, available, first)
    const { metadata, spec } = first.pod
    context.log.info("Evicting a pod", { pod: `${metadata.namespace}/${metadata.name}`, resource })
    context.metrics.evicted(due.signal)
    context.events.event(first.pod, "Warning", EVICTED, verdict.message)
    const grace = Math.min(due.graceSeconds, spec.terminationGracePeriodSeconds ?? Infinity)
    workers.get(metadata.uid!)?.fail(verdict, grace)
    this.#noteEviction(metadata.uid!, observations)
  }

  /** Source: pkg/kubelet/images/image_gc_manager.go GarbageCollect. */
  async #collectImages(observations: Observations): Promise<void> {
    const { imageGc } = tuningOf(this.#parts.context.config)
    const disk = observations["imagefs.available"]
    if (imageGc === undefined || disk === undefined || disk.capacity === 0) return
    const { available, capacity } = disk
    const usedPercent = 100 - Math.floor((available * 100) / capacity)
    if (usedPercent >= imageGc.highPercent)
      await this.#removeImages((capacity * (100 - imageGc.lowPercent)) / 100 - available)
  }

  #removeImages(wanted: number): Promise<number> {
    const { context, cache, images } = this.#parts
    const used = new Set(
      cache.all().flatMap(({ containers }) => containers.flatMap(({ image, imageRef }) => [image, imageRef])),
    )
    return removeUnusedImages(context, wanted, used, images)
  }
}

const isOfDisk = (signal: Signal): boolean => signal.startsWith("nodefs.") || signal.startsWith("imagefs.")

/** Source: pkg/kubelet/eviction/helpers.go signalToResource. */
function resourceOf(signal: Signal): ScarceResource {
  if (signal === "memory.available") return "memory"
  if (signal === "pid.available") return "pids"
  return signal.endsWith(".inodesFree") ? "inodes" : "ephemeral-storage"
}

/** Source: pkg/kubelet/eviction/helpers.go evictionMessage. */
function verdictFor(
  resource: ScarceResource,
  threshold: number,
  available: number,
  { containers = [] }: Usage,
): Verdict {
  const text = (count: number) =>
    formatQuantity(fromUnits(Math.round(count), resource === "inodes" ? "DecimalSI" : "BinarySI"))
  const details = containers
    .filter(({ used, requested }) => used > requested)
    .map(
      ({ name, used, requested }) =>
        `Container ${name} was using ${text(used)}, request is ${requested === 0 ? "0" : text(requested)}, ` +
        `has larger consumption of ${resource}. `,
    )
  const message =
    `The node was low on resource: ${resource}. ` +
    `Threshold quantity: ${text(threshold)}, available: ${text(available)}. ${details.join("")}`
  return {
    phase: "Failed",
    reason: EVICTED,
    message,
    condition: { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message },
  }
}
