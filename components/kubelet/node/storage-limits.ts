import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  fromUnits,
  quantity,
  unitsOf,
  type Quantity,
} from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { Container } from "../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeletContext } from "../context.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import { isCritical } from "../model/qos.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import { podStorage, statsById, type LocalUsage } from "../stats/local-storage.ts"
import { FOR_LIMITS, type VolumeUsages } from "../stats/volume-usage.ts"
import { EVICTED } from "../model/rejection.ts"

const RESOURCE = "ephemeral-storage"

const limitOf = ({ resources }: Pick<Container, "resources">): string | undefined => resources.limits?.[RESOURCE]

/** Whether a container or an emptyDir of the pod has a limit of local storage. */
export const hasStorageLimit = ({ spec }: Pod): boolean =>
  [...spec.containers, ...(spec.initContainers ?? [])].some((container) => limitOf(container) !== undefined) ||
  (spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined)

/**
 * Returns why a pod that uses so much is evicted, or undefined if it keeps to its limits. Pure. Source:
 * pkg/kubelet/eviction/eviction_manager.go localStorageEviction, and helpers.go for the messages.
 */
export function exceededLimit(
  pod: Pod,
  { total, containers, volumes }: Omit<LocalUsage, "inodes" | "layersMeasuredAt">,
): string | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit
    if (limit !== undefined && unitsOf(limit) > 0 && (volumes.get(name) ?? 0) > unitsOf(limit))
      return `Usage of EmptyDir volume "${name}" exceeds the limit "${canonicalQuantity(limit)}". `
  }
  const all = podLimit(pod)
  if (all !== undefined && compareQuantities(fromUnits(total), all) > 0)
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(all)}. `
  for (const container of pod.spec.containers) {
    const limit = limitOf(container)
    if (limit !== undefined && unitsOf(limit) > 0 && (containers.get(container.name) ?? 0) > unitsOf(limit))
      return `Container ${container.name} exceeded its local ephemeral storage limit "${canonicalQuantity(limit)}". `
  }
  return undefined
}

/**
 * The limit of a pod as a whole; containers without a limit add nothing. Source:
 * staging/src/k8s.io/component-helpers/resource/helpers.go PodLimits.
 */
function podLimit({ spec }: Pod): Quantity | undefined {
  const own = (container: Pick<Container, "resources">) => {
    const text = limitOf(container)
    return text === undefined ? undefined : quantity(text)
  }
  let sidecars: Quantity | undefined
  let starting: Quantity | undefined
  for (const container of spec.initContainers ?? []) {
    const together = sum(sidecars, own(container))
    if (container.restartPolicy === "Always") sidecars = together
    starting = larger(starting, together)
  }
  const limit = larger(spec.containers.map(own).reduce(sum, sidecars), starting)
  const overhead = spec.overhead?.[RESOURCE]
  return limit === undefined || overhead === undefined ? limit : addQuantities(limit, quantity(overhead))
}

const sum = (a: Quantity | undefined, b: Quantity | undefined): Quantity | undefined =>
  a === undefined ? b : b === undefined ? a : addQuantities(a, b)

const larger = (a: Quantity | undefined, b: Quantity | undefined): Quantity | undefined =>
  a === undefined || (b !== undefined && compareQuantities(b, a) > 0) ? b : a

export interface StorageLimitsParts {
  readonly context: KubeletContext
  readonly cache: RuntimeCache
  readonly workers: PodWorkers
  readonly volumeUsages: Pick<VolumeUsages, "measure">
}

/**
 * Evicts the pods that use more local storage than their limits allow; critical pods stay. Measures nothing if no
 * running pod has such a limit. Returns the uids of the evicted pods; never rejects.
 */
export async function enforceStorageLimits(parts: StorageLimitsParts): Promise<readonly string[]> {
  try {
    return await tryEnforce(parts)
  } catch (err) {
    parts.context.log.warn("Failed to check the pods' limits of local storage; will retry", { err })
    return []
  }
}

async function tryEnforce({ context, cache, workers, volumeUsages }: StorageLimitsParts): Promise<readonly string[]> {
  const limited = workers
    .all()
    .flatMap(({ stage, pod }) => (stage === "running" && hasStorageLimit(pod) && !isCritical(pod) ? [pod] : []))
  if (limited.length === 0) return []
  const evicted: string[] = []
  const [stats, volumes] = await Promise.all([statsById(context), volumeUsages.measure(limited, FOR_LIMITS)])
  for (const pod of limited) {
    const uid = pod.metadata.uid!
    const message = exceededLimit(pod, await podStorage(context, cache, pod, stats, volumes.get(uid) ?? []))
    if (message === undefined) continue
    context.log.info("Evicting a pod", { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, resource: RESOURCE })
    context.events.event(pod, "Warning", EVICTED, message)
    workers.get(uid)?.fail({ phase: "Failed", reason: EVICTED, message }, 0)
    evicted.push(uid)
  }
  return evicted
}
