import { Service } from "../../../../pkg/api/core/v1/service/service.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ReplicaSet } from "../../../../pkg/api/apps/v1/replicaset.ts"
import { EndpointSlice } from "../../../../pkg/api/discovery/v1/endpointslice.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Cluster } from "../cluster.ts"
import type { HistoryEntry } from "../history/history.ts"
import { cordonedNodes, stuckBudgets, type StuckBudget } from "./budgets.ts"
import { serviceForecasts, type ServiceForecast } from "./services.ts"

/** What happened to the pods of one workload. */
export interface WorkloadForecast {
  /** `Deployment default/web`; a pod without a controller is its own. */
  readonly workload: string
  /** How many pods ended, by node, and how many began, by node; "" is no node. */
  readonly ended: Readonly<Record<string, number>>
  readonly began: Readonly<Record<string, number>>
}

/** A pod that is not well at the end, and was not unwell in this way before. */
export interface UnwellPod {
  readonly pod: string
  readonly workload: string
  readonly why: string
  /** Whether no node was found for it. */
  readonly unscheduled: boolean
}

/** What happened in a cluster in a span of time. */
export interface Observed {
  readonly workloads: readonly WorkloadForecast[]
  readonly unwell: readonly UnwellPod[]
  /** Restarts of containers of pods that were well before: what crashes again and again does so without the change. */
  readonly restarts: number
  readonly services: readonly ServiceForecast[]
  /** Budgets that keep pods on nodes that the change is to empty. */
  readonly budgets: readonly StuckBudget[]
  /** Warnings of Events, each once, with how many there were. */
  readonly warnings: readonly { readonly reason: string; readonly message: string; readonly count: number }[]
  /** When the last pod changed its state, in milliseconds after the beginning; 0 when none did. */
  readonly settledMs: number
}

/** The state of a cluster with which a later one is compared. */
export interface Baseline {
  readonly revision: number
  /** Milliseconds since the epoch, of the cluster's clock. */
  readonly time: number
  readonly pods: readonly Pod[]
  readonly owners: ReadonlyMap<string, string>
  readonly services: readonly Service[]
  readonly slices: readonly EndpointSlice[]
  readonly cordoned: ReadonlySet<string>
}

/** Takes the state of a cluster as it is now. */
export async function baselineOf(cluster: Cluster): Promise<Baseline> {
  const [pods, sets, services, slices] = [
    await cluster.list(Pod),
    await cluster.list(ReplicaSet),
    await cluster.list(Service),
    await cluster.list(EndpointSlice),
  ]
  return {
    revision: cluster.history().at(-1)?.revision ?? 0,
    time: cluster.contextFor().clock.now(),
    pods,
    owners: ownersOf(sets),
    services,
    slices,
    cordoned: await cordonedNodes(cluster),
  }
}

/** Returns what has happened since. */
export async function observedSince(cluster: Cluster, begin: Baseline): Promise<Observed> {
  const entries = cluster.history({ after: begin.revision })
  const end = cluster.contextFor().clock.now()
  const pods = await cluster.list(Pod)
  const owners = new Map([
    ...begin.owners,
    ...ownersOf(entries.flatMap(({ object }) => (object.kind === "ReplicaSet" ? [object as ReplicaSet] : []))),
  ])
  return {
    workloads: workloadsOf(begin.pods, pods, owners),
    unwell: unwellOf(begin.pods, pods, owners),
    restarts: restartsOf(begin.pods, pods),
    services: serviceForecasts(begin.services, begin.slices, entries, begin.time, end),
    budgets: await stuckBudgets(cluster, begin.cordoned, pods),
    warnings: warningsOf(entries, begin.time),
    settledMs: settledOf(entries, begin.time, owners),
  }
}

const nameOf = ({ kind, metadata }: KubeObject): string =>
  `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name ?? ""}`

/** The owners of ReplicaSets by the names of these. */
const ownersOf = (sets: readonly ReplicaSet[]): Map<string, string> =>
  new Map(sets.map((set) => [nameOf(set), controllerOf(set) ?? nameOf(set)]))

function controllerOf({ metadata }: KubeObject): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  return owner === undefined ? undefined : `${owner.kind} ${metadata.namespace ?? ""}/${owner.name}`
}

function workloadOf(pod: Pod, owners: ReadonlyMap<string, string>): string {
  const controller = controllerOf(pod)
  return controller === undefined ? nameOf(pod) : (owners.get(controller) ?? controller)
}

function workloadsOf(
  before: readonly Pod[],
  after: readonly Pod[],
  owners: ReadonlyMap<string, string>,
): readonly WorkloadForecast[] {
  const [old, now] = [before, after].map((pods) => new Set(pods.filter(isThere).map(({ metadata }) => metadata.uid)))
  const found = new Map<string, { ended: Record<string, number>; began: Record<string, number> }>()
  const count = (pod: Pod, which: "ended" | "began") => {
    const workload = workloadOf(pod, owners)
    const counts = found.get(workload) ?? { ended: {}, began: {} }
    found.set(workload, counts)
    const node = pod.spec.nodeName ?? ""
    counts[which][node] = (counts[which][node] ?? 0) + 1
  }
  for (const pod of before) if (isThere(pod) && !now!.has(pod.metadata.uid)) count(pod, "ended")
  for (const pod of after) if (isThere(pod) && !old!.has(pod.metadata.uid)) count(pod, "began")
  return [...found]
    .filter(([workload]) => !workload.startsWith("Job "))
    .map(([workload, counts]) => ({ workload, ...counts }))
    .sort((a, b) => (a.workload < b.workload ? -1 : 1))
}

/** Whether a pod is to stay: one on a lost node never ends, but its place is free. */
const isThere = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined

/** Returns why a pod is not well; undefined when it is. */
function whyUnwell({ metadata, status }: Pod): Omit<UnwellPod, "pod" | "workload"> | undefined {
  const condition = (type: string) => status.conditions?.find((each) => each.type === type)
  if (status.phase === "Succeeded" || metadata.deletionTimestamp !== undefined) return undefined
  if (condition("Ready")?.status === "True") return undefined
  const scheduled = condition("PodScheduled")
  if (scheduled?.status === "False")
    return { why: scheduled.message ?? scheduled.reason ?? "no node was found", unscheduled: true }
  const states = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  const waiting = states.flatMap(({ name, state }) =>
    state?.waiting === undefined ? [] : [`container ${name}: ${state.waiting.reason ?? "waits"}`],
  )
  const ended = states.flatMap(({ name, state }) =>
    state?.terminated === undefined ? [] : [`container ${name} ended with exit code ${state.terminated.exitCode ?? 0}`],
  )
  return { why: [...waiting, ...ended][0] ?? `it is ${status.phase ?? "Pending"}, and not ready`, unscheduled: false }
}

function unwellOf(
  before: readonly Pod[],
  after: readonly Pod[],
  owners: ReadonlyMap<string, string>,
): readonly UnwellPod[] {
  const known = new Set(before.filter((pod) => whyUnwell(pod) !== undefined).map(({ metadata }) => metadata.uid))
  return after.flatMap((pod) => {
    const why = known.has(pod.metadata.uid) ? undefined : whyUnwell(pod)
    return why === undefined ? [] : [{ pod: nameOf(pod), workload: workloadOf(pod, owners), ...why }]
  })
}

function restartsOf(before: readonly Pod[], after: readonly Pod[]): number {
  const restarts = ({ status }: Pod) =>
    (status.containerStatuses ?? []).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0)
  const well = before.filter((pod) => whyUnwell(pod) === undefined)
  const old = new Map(well.map((pod) => [pod.metadata.uid, restarts(pod)]))
  return after.reduce((sum, pod) => sum + Math.max(0, restarts(pod) - (old.get(pod.metadata.uid) ?? restarts(pod))), 0)
}

/** Reasons that the other figures tell better. */
const TOLD: ReadonlySet<string> = new Set(["FailedScheduling", "Unhealthy", "NodeNotReady"])

interface Warning extends KubeObject {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
}

function warningsOf(entries: readonly HistoryEntry[], begin: number): Observed["warnings"] {
  const counts = new Map<string, { reason: string; message: string; count: number }>()
  for (const { object, type, time } of entries) {
    const { type: severity, reason = "", message = "" } = object as Warning
    if (object.kind !== "Event" || type === "delete" || severity !== "Warning" || TOLD.has(reason)) continue
    if (Date.parse(time) < begin) continue
    const key = `${reason} ${message.replaceAll(/(?<![a-z0-9])[a-z0-9]+-[a-z0-9]{5}\b/g, "…")}`
    const known = counts.get(key)
    if (known === undefined) counts.set(key, { reason, message, count: 1 })
    else known.count++
  }
  return [...counts.values()].sort((a, b) => b.count - a.count)
}

function settledOf(entries: readonly HistoryEntry[], begin: number, owners: ReadonlyMap<string, string>): number {
  const state = ({ metadata, spec, status }: Pod) =>
    JSON.stringify([
      spec.nodeName,
      status.phase,
      metadata.deletionTimestamp,
      status.conditions?.find(({ type }) => type === "Ready")?.status,
    ])
  const last = entries.findLast(({ object, previous, type }) => {
    if (object.kind !== "Pod" || workloadOf(object as Pod, owners).startsWith("Job ")) return false
    return type !== "update" || state(object as Pod) !== state(previous as Pod)
  })
  return last === undefined ? 0 : Date.parse(last.time) - begin
}
