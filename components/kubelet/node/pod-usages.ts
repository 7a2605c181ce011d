import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { ContainerStats, PodSandboxStats } from "../../../pkg/cri/stats.ts"
import { containersOf } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import { POD_UID } from "../model/labels.ts"
import { podSums } from "../model/qos.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import { podStorage } from "../stats/local-storage.ts"
import { FOR_EVICTION, type VolumeUsages } from "../stats/volume-usage.ts"

/** A name of what is scarce, as messages and ranks have it. Source: pkg/kubelet/eviction/helpers.go. */
export type ScarceResource = "memory" | "ephemeral-storage" | "inodes" | "pids"

/** A pod with what its rank for eviction depends on. */
export interface Usage {
  readonly pod: Pod
  /** The usage of the scarce resource: bytes, inodes or processes. */
  readonly used: number
  readonly requested: number
  /** When the oldest part of it was measured, in milliseconds since the epoch; Infinity if that was just now. */
  readonly measuredAt?: number
  /** The same for each running container, without volumes. */
  readonly containers?: readonly ContainerUsage[]
}

interface ContainerUsage {
  readonly name: string
  readonly used: number
  readonly requested: number
}

export interface UsageParts {
  readonly context: KubeletContext
  readonly cache: Pick<RuntimeCache, "get">
  readonly volumeUsages: Pick<VolumeUsages, "measure">
}

/** Measures how much the pods take of a scarce resource. */
export function podUsages(
  parts: UsageParts,
  pods: readonly Pod[],
  resource: ScarceResource,
): Promise<readonly Usage[]> {
  if (resource === "pids") return processes(parts, pods)
  return resource === "memory" ? memory(parts, pods) : storage(parts, pods, resource)
}

async function memory({ context }: UsageParts, pods: readonly Pod[]): Promise<readonly Usage[]> {
  const stats = Map.groupBy(await context.runtime.containers.listContainerStats(), uidOf)
  return pods.map((pod) => {
    const requests = requestsOf(pod, "memory")
    const containers = (stats.get(pod.metadata.uid) ?? []).map(({ attributes, memory }) => {
      const name = attributes?.metadata?.name ?? ""
      return { name, used: memory?.workingSetBytes?.value ?? 0, requested: requests.get(name) ?? 0 }
    })
    const used = containers.reduce((all, container) => all + container.used, 0)
    return { pod, used, requested: podSums(pod).memoryRequest, containers }
  })
}

/** Source: pkg/kubelet/eviction/helpers.go podDiskUsage: writable layers, logs and volumes. */
async function storage(
  { context, cache, volumeUsages }: UsageParts,
  pods: readonly Pod[],
  resource: "ephemeral-storage" | "inodes",
): Promise<readonly Usage[]> {
  const [stats, volumes] = await Promise.all([
    context.runtime.containers.listContainerStats(),
    volumeUsages.measure(pods, FOR_EVICTION),
  ])
  const byId = new Map(stats.map((one) => [one.attributes?.id, one]))
  return Promise.all(
    pods.map(async (pod) => {
      const { total, inodes, containers, layersMeasuredAt } = await podStorage(
        context,
        cache,
        pod,
        byId,
        volumes.get(pod.metadata.uid!) ?? [],
      )
      if (resource === "inodes") return { pod, used: inodes, requested: 0, measuredAt: layersMeasuredAt }
      const requests = requestsOf(pod, resource)
      const each = [...containers].map(([name, used]) => ({ name, used, requested: requests.get(name) ?? 0 }))
      const requested = each.reduce((all, one) => all + one.requested, 0)
      return { pod, used: total, requested, measuredAt: layersMeasuredAt, containers: each }
    }),
  )
}

async function processes({ context }: UsageParts, pods: readonly Pod[]): Promise<readonly Usage[]> {
  const sandboxes = Map.groupBy(await orNone(context.runtime.containers.listPodSandboxStats()), uidOf)
  return pods.map((pod) => {
    const [own] = sandboxes.get(pod.metadata.uid) ?? []
    return { pod, used: own?.linux?.process?.processCount?.value ?? 0, requested: 0 }
  })
}

/** containerd 1.6 does not report counts of processes. */
async function orNone(stats: Promise<readonly PodSandboxStats[]>): Promise<readonly PodSandboxStats[]> {
  try {
    return await stats
  } catch {
    return []
  }
}

const uidOf = ({ attributes }: ContainerStats | PodSandboxStats): string | undefined => attributes?.labels[POD_UID]

/** The requests of a pod's containers by their names. */
const requestsOf = (pod: Pod, resource: "memory" | "ephemeral-storage"): ReadonlyMap<string, number> =>
  new Map(
    containersOf(pod).map(({ container: { name, resources } }) => {
      const text = resources.requests?.[resource] ?? resources.limits?.[resource]
      return [name, text === undefined ? 0 : unitsOf(text)]
    }),
  )
