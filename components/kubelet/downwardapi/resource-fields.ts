import type { ResourceFieldSelector } from "../../../pkg/api/core/v1/container/env.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { quantity } from "../../../pkg/apimachinery/scalars/quantity.ts"
import { containerNamed, type AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import { nodeResources } from "../model/capacity.ts"
import { tuningOf } from "../model/tuning.ts"

/** What a container without limits may use of the node, by the name of the resource. */
export type NodeAmounts = Readonly<Record<string, string>>

/** Returns what pods may use of this node: the allocatable resources of its Node. */
export async function nodeAmounts({
  runtime,
  config,
}: Pick<KubeletContext, "runtime" | "config">): Promise<NodeAmounts> {
  const disk = await runtime.machine.space(config.root)
  const { maxPods } = config
  return nodeResources({ machine: runtime.machine, disk, maxPods, tuning: tuningOf(config), before: {} }).allocatable
}

/**
 * Returns a request or limit as text, in units of the divisor, rounded up. For an absent limit it is the pod's limit,
 * or the amount of the node; for an absent request it is 0. `own` is the container of the variable; volumes have none
 * and must name a container. Source: pkg/api/v1/resource/helpers.go ExtractContainerResourceValue,
 * pkg/kubelet/kubelet_resources.go. @throws Error for an unknown container or resource
 */
export function resourceField(
  pod: Pod,
  { containerName = "", resource, divisor }: ResourceFieldSelector,
  node: NodeAmounts,
  own?: AnyContainer,
): string {
  const container = containerName === "" ? own : containerNamed(pod, containerName)?.container
  if (container === undefined) throw new Error(`container ${containerName} not found`)
  const [kind, name] = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(resource)?.slice(1) ?? []
  if (kind === undefined || name === undefined) throw new Error(`unsupported container resource : ${resource}`)
  const amount =
    kind === "requests"
      ? nanoOf(container.resources.requests?.[name])
      : nanoOf(container.resources.limits?.[name]) || nanoOf(pod.spec.resources?.limits?.[name]) || nanoOf(node[name])
  const unit = nanoOf(divisor) || NANO
  return String((amount + unit - 1n) / unit)
}

const NANO = 1_000_000_000n
const nanoOf = (text: string | undefined): bigint => (text === undefined ? 0n : quantity(text).nano)
