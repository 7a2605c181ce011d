import { isDeepStrictEqual } from "node:util"
import type { KubeObject } from "../../../components/cluster/testing/testing.ts"
import { nameOf } from "../world.ts"
import type { WriteInvariant } from "./write.ts"

/** Kinds whose generation counts the changes of their spec. Source: the strategies below kubernetes pkg/registry. */
const COUNTED: ReadonlySet<string> = new Set([
  "CronJob",
  "DaemonSet",
  "Deployment",
  "Job",
  "Pod",
  "PodDisruptionBudget",
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
])

interface Observed {
  readonly observedGeneration?: number
  readonly conditions?: readonly { readonly type: string; readonly observedGeneration?: number }[]
}

/**
 * The generation rises by one with each change of the spec and with the deletion, and with nothing else but the
 * annotations of a Deployment; and nobody has observed a generation that is not there yet, or an earlier one than
 * before.
 */
export const countsGenerations: WriteInvariant = ({ type, object, previous }) => {
  const { generation } = object.metadata
  if (!COUNTED.has(object.kind ?? "")) return []
  const problems: string[] = []
  if (generation === undefined || generation < 1) problems.push(`has the generation ${generation}`)
  else {
    const { observedGeneration, conditions = [] } = observedOf(object)
    for (const { observed, by } of [
      { observed: observedGeneration, by: "status" },
      ...conditions.map((condition) => ({ observed: condition.observedGeneration, by: condition.type })),
    ])
      if (observed !== undefined && observed > generation)
        problems.push(`has the generation ${generation}, and its ${by} has observed ${observed}`)
  }
  if (previous === undefined || type !== "update") return problems.map((problem) => `${nameOf(object)} ${problem}`)
  const before = previous.metadata.generation ?? 0
  const isDeleted = previous.metadata.deletionTimestamp === undefined && object.metadata.deletionTimestamp !== undefined
  const isChanged = !isDeepStrictEqual(specOf(previous), specOf(object))
  const rise = (generation ?? 0) - before
  const isTouched =
    object.kind === "Deployment" && !isDeepStrictEqual(previous.metadata.annotations, object.metadata.annotations)
  // An earlier deletion with a longer grace period is shortened without a new generation, or with one.
  const isShortened = previous.metadata.deletionTimestamp !== object.metadata.deletionTimestamp
  const least = isChanged || isDeleted ? 1 : 0
  const most = Math.max(least, isTouched || isShortened ? 1 : 0)
  if (rise < least || rise > most)
    problems.push(`went from generation ${before} to ${generation}, its spec ${isChanged ? "changed" : "is the same"}`)
  const [was, is] = [observedOf(previous).observedGeneration, observedOf(object).observedGeneration]
  if (was !== undefined && (is ?? 0) < was) problems.push(`was observed at generation ${was} and then at ${is}`)
  return problems.map((problem) => `${nameOf(object)} ${problem}`)
}

const observedOf = ({ status }: KubeObject & { readonly status?: unknown }): Observed => (status ?? {}) as Observed

/** Returns the spec. A binding writes a pod's node without counting it. */
function specOf({ kind, spec }: KubeObject & { readonly spec?: unknown }): unknown {
  if (kind !== "Pod") return spec
  const { nodeName: _node, ...rest } = spec as Record<string, unknown>
  return rest
}
