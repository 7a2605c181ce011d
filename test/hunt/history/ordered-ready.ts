import type { Pod, StatefulSet } from "../../../components/cluster/testing/testing.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { isPodReady, isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { nameOf } from "../world.ts"
import { isBy, type WriteInvariant } from "./write.ts"

const ordinalOf = ({ metadata }: Pod): number => Number(/-(\d+)$/.exec(metadata.name ?? "")?.[1] ?? -1)

/**
 * A StatefulSet with OrderedReady creates a pod only when all before it are there and ready, takes them away from the
 * last one on, one after the other, and replaces one with a new revision only while all others are ready. Source:
 * stateful_set_control.go processReplica, processCondemned.
 */
export const keepsTheOrder: WriteInvariant = (write, seen) => {
  const { object, previous, type } = write
  const pod = object as Pod
  const before = previous as Pod | undefined
  const isDeleted =
    type === "update" &&
    pod.metadata.deletionTimestamp !== undefined &&
    before?.metadata.deletionTimestamp === undefined
  if (object.kind !== "Pod" || !isBy(write, "statefulset-controller") || !(type === "create" || isDeleted)) return []
  const uid = controllerOf(pod)?.uid
  const sets = seen.recent<StatefulSet>("StatefulSet", uid)
  if (sets.length === 0 || sets.some(({ spec }) => spec.podManagementPolicy === "Parallel")) return []
  const name = nameOf(sets.at(-1)!)
  const start = Math.max(...sets.map(({ spec }) => spec.ordinals?.start ?? 0))
  const ends = sets.map(({ spec }) => (spec.ordinals?.start ?? 0) + (spec.replicas ?? 1) - 1)
  // The controller may have seen any of the recent numbers of replicas.
  const [end, lastWanted] = [Math.min(...ends), Math.max(...ends)]
  const mine = seen
    .allRecent<Pod>("Pod")
    .map((states) => states.filter((one) => controllerOf(one)?.uid === uid))
    .filter(({ length }) => length > 0)
  const wasReady = (ordinal: number) =>
    mine.some(
      (states) => ordinalOf(states[0]!) === ordinal && states.some((one) => isPodReady(one) && !isPodTerminal(one)),
    )
  const ordinal = ordinalOf(pod)
  if (type === "create") {
    const early = between(start, Math.min(ordinal - 1, end)).filter((one) => !wasReady(one))
    return early.length > 0 ? [`${name} creates ${pod.metadata.name} before ${early.join()} is ready`] : []
  }
  // A pod that has ended is replaced at once.
  if (before !== undefined && isPodTerminal(before)) return []
  const isOld = sets.some(({ status }) => status?.updateRevision !== pod.metadata.labels?.["controller-revision-hash"])
  if (ordinal > (isOld ? lastWanted : end)) {
    const higher = seen.all<Pod>("Pod").filter((one) => controllerOf(one)?.uid === uid && ordinalOf(one) > ordinal)
    return higher.length > 0
      ? [`${name} takes ${pod.metadata.name} away while ${higher.map(({ metadata }) => metadata.name).join()} is there`]
      : []
  }
  const unready = between(start, end).filter((one) => one > ordinal && !wasReady(one))
  return ordinal >= start && unready.length > 0
    ? [`${name} replaces ${pod.metadata.name} while ${unready.join()} is not ready`]
    : []
}

const between = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
