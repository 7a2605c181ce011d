import { formatQuantity, fromUnits } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodSandboxStats, ContainerStats } from "../../../pkg/cri/stats.ts"
import type { KubeletContext } from "../context.ts"
import { POD_UID } from "../model/labels.ts"
import { removeUnusedImages } from "../images/image-garbage.ts"
import type { ImageManager } from "../images/image-manager.ts"
import { tuningOf } from "../model/tuning.ts"
import { isBelow, type Observations } from "../model/pressure.ts"
import { limitOf, SIGNALS, type Amount, type Signal } from "../model/thresholds.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import { isCritical, podSums } from "../model/qos.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import type { Verdict } from "../status/pod-status.ts"

/** A pod with what its rank for eviction depends on. */
export interface Usage {
  readonly pod: Pod
  /** The usage of the scarce resource: bytes, or processes. */
  readonly used: number
  readonly requested: number
}

/**
 * Returns the pods that are not critical in the order of their eviction: pods above their request first, then by
 * priority, then by how far they are above. Pure. Source: pkg/kubelet/eviction/helpers.go rankMemoryPressure.
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

/** A name of what is scarce, as messages and ranks have it. */
type Resource = "memory" | "ephemeral-storage" | "pids"

export interface EvictionParts {
  readonly context: KubeletContext
  readonly cache: RuntimeCache
  readonly workers: PodWorkers
  readonly images: Pick<ImageManager, "lastUsed" | "removed">
}

/** A threshold that evicts pods now. */
interface Due {
  readonly signal: Signal
  readonly amount: Amount
  readonly graceSeconds: number
}

/** How much more than its threshold is freed of the disk, so that the pressure does not return at once. */
const MARGIN = 0.05

/** How long the next eviction waits for an evicted pod to give back what it had. Source: podCleanupTimeout there. */
const CLEANUP_MS = 30_000

/** Frees what is scarce on the node. Source: pkg/kubelet/eviction/eviction_manager.go synchronize. */
export class EvictionManager {
  readonly #parts: EvictionParts
  /** Since when soft thresholds are crossed, on the monotonic clock. */
  readonly #crossedSince = new Map<Signal, number>()
  /** The pod that was evicted last. */
  #evicted: { readonly uid: string; readonly at: number } | undefined

  constructor(parts: EvictionParts) {
    this.#parts = parts
  }

  /**
   * Frees the scarce resource: when the disk is short, removes unused images; if that frees nothing, or another
   * resource is short, evicts one pod, and the next one when the first has given back what it had. Called after each
   * measurement. Never rejects.
   */
  async relieve(observations: Observations): Promise<void> {
    try {
      const due = this.#due(observations)
      if (this.#isCleaningUp()) return
      if (due !== undefined) await this.#evictFor(due, observations)
      else await this.#collectImages(observations)
    } catch (err) {
      this.#parts.context.log.warn("Failed to free a resource that is under pressure", { err })
    }
  }

  /** A volume in memory, for one, is there until it is unmounted: the measurement still counts it. */
  #isCleaningUp(): boolean {
    const { context, workers } = this.#parts
    const evicted = this.#evicted
    if (evicted === undefined) return false
    const isLate = context.clock.monotonic() - evicted.at >= CLEANUP_MS
    if (!isLate && workers.get(evicted.uid)?.isCleanedUp === false) return true
    this.#evicted = undefined
    return false
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
      if (amount !== undefined && isBelow(observations, signal, amount)) return { signal, amount, graceSeconds: 0 }
      const since = this.#crossedSince.get(signal)
      if (gentle !== undefined && since !== undefined && now - since >= gentle.graceMs)
        return { signal, amount: gentle.amount, graceSeconds: mostGraceSeconds }
    }
    return undefined
  }

  async #evictFor(due: Due, observations: Observations): Promise<void> {
    const { context, workers } = this.#parts
    const resource = resourceOf(due.signal)
    const { available, capacity } = observations[due.signal]!
    const threshold = limitOf(due.amount, capacity)
    if (due.signal === "nodefs.available" || due.signal === "imagefs.available")
      if ((await this.#removeImages(threshold + MARGIN * capacity - available)) > 0) return
    const running = workers
      .all()
      .filter(({ stage }) => stage === "running")
      .map(({ pod }) => pod)
    const [first] = evictionOrder(await usages(context, running, resource))
    if (first === undefined) {
      context.log.warn("A resource of the node is under pressure, and no pod can be evicted", { resource })
      return
    }
    const verdict = verdictFor(resource, threshold, available, first)
    const { metadata, spec } = first.pod
    context.log.info("Evicting a pod", { pod: `${metadata.namespace}/${metadata.name}`, resource })
    context.metrics.evicted(due.signal)
    context.events.event(first.pod, "Warning", "Evicted", verdict.message)
    const grace = Math.min(due.graceSeconds, spec.terminationGracePeriodSeconds ?? Infinity)
    workers.get(metadata.uid!)?.fail(verdict, grace)
    this.#evicted = { uid: metadata.uid!, at: context.clock.monotonic() }
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

/** Source: pkg/kubelet/eviction/helpers.go signalToResource. */
const resourceOf = (signal: Signal): Resource =>
  signal === "memory.available" ? "memory" : signal === "pid.available" ? "pids" : "ephemeral-storage"

function verdictFor(resource: Resource, threshold: number, available: number, { used, requested }: Usage): Verdict {
  const [limit, left] = [threshold, available].map((count) => formatQuantity(fromUnits(Math.round(count), "BinarySI")))
  const detail =
    used > requested
      ? ` Container(s) used ${used}, request is ${requested}, has larger consumption of ${resource}.`
      : ""
  const message =
    `The node was low on resource: ${resource}. ` + `Threshold quantity: ${limit}, available: ${left}.${detail} `
  return {
    phase: "Failed",
    reason: "Evicted",
    message,
    condition: { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message },
  }
}

async function usages(
  { runtime }: KubeletContext,
  pods: readonly Pod[],
  resource: Resource,
): Promise<readonly Usage[]> {
  const [containers, sandboxes] = await Promise.all([
    runtime.containers.listContainerStats(),
    resource === "pids" ? processStats(runtime.containers.listPodSandboxStats()) : [],
  ])
  return pods.map((pod) => {
    const uid = pod.metadata.uid!
    if (resource === "pids")
      return {
        pod,
        requested: 0,
        used:
          sandboxes.find(({ attributes }) => attributes?.labels[POD_UID] === uid)?.linux?.process?.processCount
            ?.value ?? 0,
      }
    const own = containers.filter(({ attributes }) => attributes?.labels[POD_UID] === uid)
    const of = ({ memory, writableLayer }: ContainerStats) =>
      (resource === "memory" ? memory?.workingSetBytes?.value : writableLayer?.usedBytes?.value) ?? 0
    return {
      pod,
      used: own.reduce((sum, stats) => sum + of(stats), 0),
      requested: resource === "memory" ? podSums(pod).memoryRequest : 0,
    }
  })
}

/** containerd 1.6 does not report counts of processes. */
async function processStats(stats: Promise<readonly PodSandboxStats[]>): Promise<readonly PodSandboxStats[]> {
  try {
    return await stats
  } catch {
    return []
  }
}
