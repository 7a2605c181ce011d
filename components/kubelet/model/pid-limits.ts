import type { Logger } from "../../../pkg/log/log.ts"
import type { ContainerRuntime } from "../runtime/runtime.ts"
import { tuningOf, type KubeletTuning } from "./tuning.ts"

/** How many processes and threads pods may have. */
export interface PidLimits {
  /** Each pod. */
  readonly pod: number | undefined
  /** All pods of the node together. */
  readonly node: number
}

/** The part of the node's process ids that pods cannot take, but at least LEAST_RESERVED, and at most half. */
const RESERVED = 0.1
const LEAST_RESERVED = 1000
/** A pod has at most this part of what all have, and at most MOST_FOR_POD, unless the node has very few. */
const FOR_POD = 1 / 8
const MOST_FOR_POD = 16_384
const LEAST_FOR_POD = 1024

/**
 * Returns the limits of a node with so many process ids. Differs from upstream, where there are none by default: a pod
 * that starts processes without end would stop all others, and the kubelet.
 * @param given the limit of each pod (`pod-max-pids`); negative for none
 */
export function pidLimits(max: number, given: number | undefined): PidLimits {
  const node = Math.floor(max - Math.min(max / 2, Math.max(max * RESERVED, LEAST_RESERVED)))
  const usual = Math.max(LEAST_FOR_POD, Math.min(MOST_FOR_POD, Math.floor(node * FOR_POD)))
  return { node, pod: given === undefined ? usual : given < 0 ? undefined : given }
}

interface PidLimitsParts {
  readonly runtime: Pick<ContainerRuntime, "machine" | "cgroups">
  readonly config: { readonly tuning?: Partial<KubeletTuning> | undefined }
  readonly log: Logger
}

/** Keeps process ids for the node's own programs: all pods together get no more than the rest. */
export async function reservePids({ runtime, config, log }: PidLimitsParts): Promise<PidLimits> {
  const { max } = await runtime.machine.processes()
  const limits = pidLimits(max, tuningOf(config).podMaxPids)
  await runtime.cgroups
    .ensure(["kubepods"], { mostPids: limits.node })
    .catch((err: unknown) => log.warn("Failed to limit the processes of all pods", { most: limits.node, err }))
  return limits
}
