import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import type {
  Event,
  HistoryEntry,
  Job,
  Node,
  Pod,
  ResourceQuota,
  Service,
} from "../../components/cluster/testing/testing.ts"
import { allocatable, requestOf } from "./room.ts"
import { nameOf } from "./world.ts"

/** The fields of a history entry that the record needs. */
export type Written = Pick<HistoryEntry, "type" | "time" | "author" | "object" | "previous">

/** Replays all writes, and returns what should never have happened, whatever faults there were. */
export function neverHappened(entries: Iterable<Written>): readonly string[] {
  const problems: string[] = []
  const nodes = new Map<string, Node>()
  const pods = new Map<string, Pod>()
  const quotas = new Map<string, ResourceQuota>()
  const services = new Map<string, Service>()
  /** The succeeded pods of each Job, by the UID of the Job, for Jobs whose creation is still in the history. */
  const succeeded = new Map<string, Set<string>>()
  for (const entry of entries) {
    const { object, previous, type, author } = entry
    const uid = object.metadata.uid ?? ""
    const when = `at ${entry.time} by ${author}`
    switch (object.kind) {
      case "Node":
        if (type === "delete") nodes.delete(object.metadata.name ?? "")
        else nodes.set(object.metadata.name ?? "", object as Node)
        break
      case "ResourceQuota":
        if (type === "delete") quotas.delete(uid)
        else quotas.set(uid, object as ResourceQuota)
        break
      case "Job":
        problems.push(...jobProblems(object as Job, previous as Job | undefined, when))
        if (type === "create") succeeded.set(uid, new Set())
        problems.push(...overCounted(object as Job, succeeded.get(uid), when))
        break
      case "Service":
        if (type === "delete") services.delete(uid)
        else services.set(uid, object as Service)
        if (type === "create") problems.push(...overQuota("services", object, services.values(), quotas, when))
        break
      case "Pod": {
        const pod = object as Pod
        const before = previous as Pod | undefined
        if (type === "delete") pods.delete(uid)
        else pods.set(uid, pod)
        problems.push(...podProblems(pod, before, type, when))
        if (pod.spec.nodeName && !before?.spec.nodeName && type === "update")
          problems.push(...overCapacity(pod.spec.nodeName, nodes, pods, when))
        if (type === "create")
          problems.push(...overQuota("pods", pod, inQuotas(pods, Date.parse(entry.time)), quotas, when))
        if (pod.status.phase === "Succeeded")
          for (const owner of pod.metadata.ownerReferences ?? []) succeeded.get(owner.uid)?.add(uid)
      }
    }
    if (problems.length > 10) break
  }
  return problems
}

function podProblems(pod: Pod, before: Pod | undefined, type: HistoryEntry["type"], when: string): readonly string[] {
  if (before === undefined || type === "create") return []
  const [was, is] = [before.spec.nodeName ?? "", pod.spec.nodeName ?? ""]
  return [
    ...(was !== "" && was !== is ? [`${nameOf(pod)} was bound to ${was} and then to ${is} ${when}`] : []),
    ...(isPodTerminal(before) && before.status.phase !== pod.status.phase
      ? [`${nameOf(pod)} went from ${before.status.phase} to ${pod.status.phase} ${when}`]
      : []),
  ]
}

function overCapacity(
  name: string,
  nodes: ReadonlyMap<string, Node>,
  pods: ReadonlyMap<string, Pod>,
  when: string,
): readonly string[] {
  const node = nodes.get(name)
  if (node === undefined) return []
  const there = [...pods.values()].filter((pod) => pod.spec.nodeName === name && !isPodTerminal(pod))
  return (["cpu", "memory"] as const).flatMap((resource) => {
    const used = there.reduce((sum, pod) => sum + requestOf(pod, resource), 0)
    return used <= allocatable(node, resource) ? [] : [`node ${name} got pods for ${used} ${resource} ${when}`]
  })
}

/** Returns the pods that quotas count: neither those that have ended, nor those whose grace period is over. */
const inQuotas = (pods: ReadonlyMap<string, Pod>, now: number): readonly Pod[] =>
  [...pods.values()].filter((pod) => !isPodTerminal(pod) && now <= endOfGrace(pod))

function endOfGrace({ metadata: { deletionTimestamp, deletionGracePeriodSeconds = 0 } }: Pod): number {
  return deletionTimestamp === undefined ? Infinity : Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}

function overQuota(
  what: "pods" | "services",
  made: KubeObject,
  there: Iterable<KubeObject>,
  quotas: ReadonlyMap<string, ResourceQuota>,
  when: string,
): readonly string[] {
  const { namespace } = made.metadata
  const count = [...there].filter(({ metadata }) => metadata.namespace === namespace).length
  return [...quotas.values()]
    .filter(({ metadata }) => metadata.namespace === namespace)
    .filter(({ spec, status }) => spec.hard?.[what] !== undefined && spec.hard[what] === status.hard?.[what])
    .filter(({ spec }) => count > Number(spec.hard![what]))
    .map((quota) => `${nameOf(quota)} allows ${quota.spec.hard![what]} ${what}, the ${count}th was made ${when}`)
}

/** A Job counts no pod twice, and only pods that have succeeded. */
function overCounted(job: Job, succeeded: ReadonlySet<string> | undefined, when: string): readonly string[] {
  const { uncountedTerminatedPods: uncounted, succeeded: counted = 0 } = job.status
  const told = counted + (uncounted?.succeeded ?? []).length
  return succeeded !== undefined && told > succeeded.size
    ? [`${nameOf(job)} counts ${told} successes of ${succeeded.size} ${when}`]
    : []
}

function jobProblems(job: Job, before: Job | undefined, when: string): readonly string[] {
  if (before === undefined || before.metadata.uid !== job.metadata.uid) return []
  const ended = (of: Job) =>
    of.status.conditions?.find(({ type, status }) => (type === "Complete" || type === "Failed") && status === "True")
      ?.type
  const [was, is] = [ended(before), ended(job)]
  return [
    ...(was !== undefined && was !== is ? [`${nameOf(job)} was ${was} and then ${is} ${when}`] : []),
    ...((job.status.succeeded ?? 0) < (before.status.succeeded ?? 0)
      ? [`${nameOf(job)} counted ${before.status.succeeded} successes and then ${job.status.succeeded} ${when}`]
      : []),
  ]
}

/**
 * What is written though nothing happens: leases, heartbeats, Events that end, and word of pods that still find no
 * room, that a quota still refuses, or whose name another controller's pod has.
 */
function isUpkeep({ object, previous, type, author }: HistoryEntry): boolean {
  if (object.kind === "Lease") return true
  if (object.kind === "Node")
    return type === "update" && previous !== undefined && withoutTimes(object) === withoutTimes(previous)
  if (object.kind !== "Event") return false
  const { message } = object as Event
  return (
    type === "delete" ||
    author === "system:kube-scheduler" ||
    /exceeded quota|failed quota|already exists$/.test(message ?? "")
  )
}

/** Returns a Node without the times of its heartbeats. */
const withoutTimes = ({ metadata, ...rest }: KubeObject): string => {
  const { managedFields: _fields, resourceVersion: _revision, ...kept } = metadata
  return JSON.stringify([kept, rest], (key, value: unknown) => (key === "lastHeartbeatTime" ? undefined : value))
}

/** Returns the writes that were made although the cluster was at rest. */
export function restless(entries: readonly HistoryEntry[]): readonly string[] {
  const writes = entries.filter((entry) => !isUpkeep(entry))
  const counted = Map.groupBy(writes, ({ author, type, object }) => `${author} ${type}s ${nameOf(object)}`)
  return [...counted].slice(0, 5).map(([what, { length }]) => `${what}: ${length} times in an hour of rest`)
}
