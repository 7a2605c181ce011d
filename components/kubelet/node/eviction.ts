import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodSandboxStats, ContainerStats } from "../../../pkg/cri/stats.ts"
import type { KubeletContext } from "../context.ts"
import { POD_UID } from "../pod/labels.ts"
import { removeUnusedImages } from "../images/image-garbage.ts"
import { THRESHOLDS, type Pressure } from "./pressure.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import { isCritical, podSums } from "../pod/resources/qos.ts"
import type { RuntimeCache } from "../pod/runtime-cache.ts"
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

type Signal = "memory" | "ephemeral-storage" | "pids"

export interface EvictionParts {
  readonly context: KubeletContext
  readonly cache: RuntimeCache
  readonly workers: PodWorkers
  readonly lastUsedImages: ReadonlyMap<string, number>
}

/**
 * Frees the scarce resource: under disk pressure removes unused images; if that frees nothing, or under other pressure,
 * evicts one pod. Called while the pressure lasts. Source: pkg/kubelet/eviction/eviction_manager.go synchronize.
 */
export async function relieve(parts: EvictionParts, pressure: Pressure): Promise<void> {
  try {
    await tryRelieve(parts, pressure)
  } catch (err) {
    parts.context.log.warn("Failed to free a resource that is under pressure", { err })
  }
}

async function tryRelieve(parts: EvictionParts, pressure: Pressure): Promise<void> {
  const { context, cache, workers, lastUsedImages } = parts
  const signal: Signal = pressure.memory ? "memory" : pressure.disk ? "ephemeral-storage" : "pids"
  if (signal === "ephemeral-storage") {
    const used = new Set(
      cache.all().flatMap(({ containers }) => containers.flatMap(({ image, imageRef }) => [image, imageRef])),
    )
    const space = await context.runtime.machine.space(context.config.root)
    if ((await removeUnusedImages(context, space, THRESHOLDS.diskFraction, used, lastUsedImages)) > 0) return
  }
  const running = workers
    .all()
    .filter(({ stage }) => stage === "running")
    .map(({ pod }) => pod)
  const [first] = evictionOrder(await usages(context, running, signal))
  if (first === undefined) {
    context.log.warn("A resource of the node is under pressure, and no pod can be evicted", { resource: signal })
    return
  }
  const verdict = verdictFor(signal, first)
  context.log.info("Evicting a pod", {
    pod: `${first.pod.metadata.namespace}/${first.pod.metadata.name}`,
    resource: signal,
  })
  context.metrics.evicted(SIGNAL_NAME[signal])
  context.events.event(first.pod, "Warning", "Evicted", verdict.message)
  workers.get(first.pod.metadata.uid!)?.fail(verdict, 0)
}

/** Source: pkg/kubelet/eviction/api/types.go. */
const SIGNAL_NAME: Readonly<Record<Signal, string>> = {
  memory: "memory.available",
  "ephemeral-storage": "nodefs.available",
  pids: "pid.available",
}

const THRESHOLD_TEXT: Readonly<Record<Signal, string>> = { memory: "100Mi", "ephemeral-storage": "5%", pids: "10%" }

function verdictFor(signal: Signal, { used, requested }: Usage): Verdict {
  const detail =
    used > requested ? ` Container(s) used ${used}, request is ${requested}, has larger consumption of ${signal}.` : ""
  const message = `The node was low on resource: ${signal}. Threshold quantity: ${THRESHOLD_TEXT[signal]}.${detail} `
  return {
    phase: "Failed",
    reason: "Evicted",
    message,
    condition: { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message },
  }
}

async function usages({ runtime }: KubeletContext, pods: readonly Pod[], signal: Signal): Promise<readonly Usage[]> {
  const [containers, sandboxes] = await Promise.all([
    runtime.containers.listContainerStats(),
    signal === "pids" ? processStats(runtime.containers.listPodSandboxStats()) : [],
  ])
  return pods.map((pod) => {
    const uid = pod.metadata.uid!
    if (signal === "pids")
      return {
        pod,
        requested: 0,
        used:
          sandboxes.find(({ attributes }) => attributes?.labels[POD_UID] === uid)?.linux?.process?.processCount
            ?.value ?? 0,
      }
    const own = containers.filter(({ attributes }) => attributes?.labels[POD_UID] === uid)
    const of = ({ memory, writableLayer }: ContainerStats) =>
      (signal === "memory" ? memory?.workingSetBytes?.value : writableLayer?.usedBytes?.value) ?? 0
    return {
      pod,
      used: own.reduce((sum, stats) => sum + of(stats), 0),
      requested: signal === "memory" ? podSums(pod).memoryRequest : 0,
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
