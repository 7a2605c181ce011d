import { scaledValue } from "../../../pkg/apimachinery/scalars/intstr.ts"
import type { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import { isPodAvailable } from "../../../pkg/pods/pod-state.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { REVISION_LABEL } from "../revisions.ts"
import type { Daemons, Plan } from "./plan.ts"
import { placementOn } from "./placement.ts"

/** Source: pkg/controller/daemon/update.go rollingUpdate. */

export const hashOf = ({ metadata }: Pod): string => metadata.labels?.[REVISION_LABEL] ?? ""

function limits({ spec }: DaemonSet, desired: number): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const { maxSurge = 0, maxUnavailable = 0 } = spec.updateStrategy.rollingUpdate ?? {}
  const [surge, unavailable] = [scaledValue(maxSurge, desired, "up"), scaledValue(maxUnavailable, desired, "up")]
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

export const surges = ({
  spec: {
    updateStrategy: { type, rollingUpdate },
  },
}: DaemonSet): boolean => {
  const surge = rollingUpdate?.maxSurge ?? 0
  return type === "RollingUpdate" && (typeof surge === "number" ? surge > 0 : scaledValue(surge, 100, "up") > 0)
}

/** The new and the old pod of a node. */
interface Pair {
  readonly node: string
  readonly fresh: Pod | undefined
  readonly old: Pod | undefined
}

/**
 * Plans which old pods to delete, or which nodes get a new pod beside the old one, within maxUnavailable and maxSurge.
 */
export function planUpdate(daemons: Daemons, now: number): Plan {
  const { set, hash, nodes, podsOn } = daemons
  const desired = nodes.filter((node) => placementOn(node, set).run)
  const { maxSurge, maxUnavailable } = limits(set, desired.length)
  const names = new Set([...desired.map(({ metadata }) => metadata.name ?? ""), ...podsOn.keys()])
  const pairs: Pair[] = []
  /** The number of nodes with several new or several old pods, which the next reconcile cleans up. */
  let disordered = 0
  for (const node of names) {
    const pods = (podsOn.get(node) ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    const fresh = pods.filter((pod) => hashOf(pod) === hash)
    const old = pods.filter((pod) => hashOf(pod) !== hash)
    if (fresh.length > 1 || old.length > 1) disordered++
    else pairs.push({ node, fresh: fresh[0], old: old[0] })
  }
  const isAvailable = (pod: Pod): boolean => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)
  if (maxSurge > 0) return planSurge(daemons, pairs, maxSurge - disordered, desired.length, isAvailable)
  let room = maxUnavailable - disordered
  const broken: Pod[] = []
  const candidates: Pod[] = []
  for (const { fresh, old } of pairs) {
    if (old !== undefined && fresh === undefined) {
      if (isAvailable(old)) candidates.push(old)
      else broken.push(old) // is unavailable already, so its replacement costs no availability
      room -= isAvailable(old) ? 0 : 1
    } else if (fresh === undefined || old !== undefined || !isAvailable(fresh)) room--
  }
  return { remove: [...broken, ...candidates.slice(0, Math.max(0, room))], create: [] }
}

function planSurge(
  { set, nodes }: Daemons,
  pairs: readonly Pair[],
  mayStart: number,
  desired: number,
  isAvailable: (pod: Pod) => boolean,
): Plan {
  const runsOn = new Set(nodes.filter((node) => placementOn(node, set).run).map(({ metadata }) => metadata.name))
  const remove: Pod[] = []
  const misplaced: Pod[] = []
  const broken: string[] = []
  const candidates: string[] = []
  let room = mayStart
  let available = 0
  for (const { node, fresh, old } of pairs) {
    const shown = old ?? fresh
    if (shown !== undefined && isAvailable(shown)) available++
    if (old === undefined) continue
    if (fresh !== undefined) {
      if (isAvailable(fresh)) remove.push(old)
      else room--
    } else if (!runsOn.has(node)) (isAvailable(old) ? misplaced : remove).push(old)
    else (isAvailable(old) ? candidates : broken).push(node)
  }
  // Pods on nodes that should have none stay until enough pods are available elsewhere.
  return {
    remove: [...remove, ...misplaced.slice(0, Math.max(0, available - desired))],
    create: [...broken, ...candidates.slice(0, Math.max(0, room))],
  }
}
