import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { type NodeCondition } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { defineController, type Controller, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { podsByNode } from "../../../pkg/pods/pods-by-node.ts"
import { NODE_LIFECYCLE_DEFAULTS } from "./settings.ts"
import { wantedTaints } from "./taints.ts"
import type { ZoneMetrics } from "./zone-metrics.ts"
import { isEvicting, Zones } from "./zones.ts"

/** The grace period of a node that has never reported. Source: --node-startup-grace-period. */
const STARTUP_GRACE_MS = 60_000
/** How often the zones are judged, if anything has changed. Source: --node-monitor-period. */
const MONITOR_PERIOD_MS = 5000
/** How long after the period's end: upstream sets taints in a loop of its own. Source: NodeEvictionPeriod. */
const TAINT_PERIOD_MS = 100
const LEASE_NAMESPACE = "kube-node-lease"
const REPORTED = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]
/** The key under which the zones are judged; no Node can have such a name. */
const ZONES = "/zones"

/**
 * Detects nodes that stop reporting, records that in their conditions and those of their pods, and sets the taints that
 * follow from conditions: NoSchedule at once, NoExecute as `Zones` decides. Source:
 * pkg/controller/nodelifecycle/node_lifecycle_controller.go. Differs from upstream: it checks a node when a heartbeat
 * comes and when the grace period of the last one ends, instead of every five seconds; only the zones are judged in
 * upstream's rhythm, in which it matters how many nodes were lost together.
 */
export const nodeLifecycleController = (
  { graceMs, eviction } = NODE_LIFECYCLE_DEFAULTS,
  metrics?: ZoneMetrics,
): Controller<Node> => {
  /** When the controller started: an old heartbeat at that time says nothing about the node. */
  let listeningSince = 0
  const zones = new Zones(eviction, metrics)
  /** The nodes that this controller has seen, as they were then. */
  const registered = new Map<string, Node>()
  /** When the first pass was, and when the next one is due; on the monotonic clock. */
  let began = 0
  let passDue: number | undefined
  let enqueue: (key: string, afterMs?: number) => void = () => {}

  /** Has the zones judged at the next time of upstream's rhythm. */
  function judgeSoon(now: number): void {
    if (passDue !== undefined) return
    const first = began + TAINT_PERIOD_MS
    passDue = first + (Math.floor((now - first) / MONITOR_PERIOD_MS) + 1) * MONITOR_PERIOD_MS
    enqueue(ZONES, passDue - now)
  }

  function judge({ informers, log }: ReconcileContext, now: number): void {
    passDue = undefined
    const spared = zones.pass(informers.of(Node).list(), now)
    if (spared.length > 0) log.warn("No node is ready: no pods are evicted", { nodes: spared.length })
    for (const node of spared) enqueue(node)
  }

  /** Tells of a node that comes or goes. After a start all are new, as upstream. */
  function register(name: string, node: Node | undefined, { events }: ReconcileContext): void {
    const known = registered.get(name)
    const tell = (about: Node, reason: string, what: string) =>
      events.event(about, "Normal", reason, `Node ${name} event: ${what}`)
    if (known !== undefined && known.metadata.uid !== node?.metadata.uid) {
      registered.delete(name)
      tell(known, "RemovingNode", `Removing Node ${name} from Controller`)
    }
    if (node === undefined || registered.has(name)) return
    registered.set(name, node)
    tell(node, "RegisteredNode", `Registered Node ${name} in Controller`)
  }

  /** Judges the zones if that is due, and has the nodes tainted whose turn it is. */
  function taintNext(context: ReconcileContext): { readonly requeueAfter: number } | undefined {
    const now = context.clock.monotonic()
    if (passDue !== undefined && now >= passDue) judge(context, now)
    for (const node of zones.take(now)) enqueue(node)
    const next = Math.min(passDue ?? Infinity, zones.due ?? Infinity)
    return next === Infinity ? undefined : { requeueAfter: next - now }
  }

  return defineController<Node>({
    name: "node-lifecycle-controller",
    eventSource: "node-controller",
    reconciles: Node,
    workers: 8, // Source: UpdateWorkerSize
    start(context, add) {
      listeningSince = context.clock.now()
      registered.clear()
      began = context.clock.monotonic()
      enqueue = add
      judge(context, began)
    },
    watches: [
      {
        resource: Lease,
        // A renewed lease only matters for a node that counts as lost; otherwise the timer of the last reconcile is
        // right.
        keys: ({ metadata }, { informers }) => {
          if (metadata.namespace !== LEASE_NAMESPACE) return []
          const node = informers.of(Node).get(metadata.name ?? "")
          return node !== undefined && ready(node)?.status === "Unknown" ? [metadata.name ?? ""] : []
        },
      },
    ],
    async reconcile(key, context) {
      if (key === ZONES) return taintNext(context)
      const { informers, client, clock } = context
      const node = informers.of(Node).get(key)
      register(key, node, context)
      const changed = node === undefined ? zones.knows(key) : zones.notes(node)
      if (changed) judgeSoon(clock.monotonic())
      else if (zones.due !== undefined) enqueue(ZONES, zones.due - clock.monotonic())
      if (node === undefined) return
      const silentFor =
        clock.now() - Math.max(listeningSince, lastSign(node, informers.of(Lease).get(`${LEASE_NAMESPACE}/${key}`)))
      const left = (ready(node) === undefined ? STARTUP_GRACE_MS : graceMs) - silentFor
      const seen = left > 0 ? node : await markLost(node, context)
      const taints = wantedTaints(seen, timestamp(clock), () => zones.evicts(seen))
      if (taints !== undefined) {
        await client.patch(Node, seen.metadata, {
          type: "strategic",
          body: { metadata: { resourceVersion: seen.metadata.resourceVersion }, spec: { taints } },
        })
        if (taints.some(isEvicting)) zones.evicted(seen)
      }
      if (ready(seen)?.status !== "True") await markPodsNotReady(seen, context)
      if (left > 0) return { requeueAfter: left, kind: "watchdog" }
    },
  })
}

const ready = (node: Node): NodeCondition | undefined => node.status.conditions?.find(({ type }) => type === "Ready")

/** Returns when the node last reported, in milliseconds: by its lease or by the heartbeat in its status. */
function lastSign(node: Node, lease: Lease | undefined): number {
  const reported = ready(node)
  return Math.max(
    at(lease?.spec.renewTime),
    reported?.status === "Unknown" ? -Infinity : at(reported?.lastHeartbeatTime ?? undefined),
    at(node.metadata.creationTimestamp),
  )
}

function at(time: string | undefined): number {
  if (time === undefined) return -Infinity
  let ms = times.get(time)
  if (ms !== undefined) return ms
  ms = Date.parse(time)
  if (times.size >= MOST_TIMES) times.clear()
  times.set(time, ms)
  return ms
}

/** Many nodes have the same times: those of a test cluster start in one second, and report at the same instants. */
const times = new Map<string, number>()
const MOST_TIMES = 64

async function markLost(node: Node, { client, clock, events, log }: ReconcileContext): Promise<Node> {
  if (ready(node)?.status === "Unknown") return node
  const now = timestamp(clock)
  const neverReported = ready(node) === undefined
  const lost = (type: string): NodeCondition => {
    const before = node.status.conditions?.find((condition) => condition.type === type)
    return {
      type,
      status: "Unknown",
      lastHeartbeatTime: before?.lastHeartbeatTime ?? node.metadata.creationTimestamp,
      lastTransitionTime: now,
      reason: neverReported ? "NodeStatusNeverUpdated" : "NodeStatusUnknown",
      message: neverReported ? "Kubelet never posted node status." : "Kubelet stopped posting node status.",
    }
  }
  const conditions = [
    ...(node.status.conditions ?? []).filter(({ type }) => !REPORTED.includes(type)),
    ...REPORTED.map(lost),
  ]
  log.warn("Node was lost", { node: node.metadata.name })
  events.event(node, "Normal", "NodeNotReady", `Node ${node.metadata.name} status is now: NodeNotReady`)
  return client.updateStatus(Node, { ...node, status: { ...node.status, conditions } })
}

/**
 * Marks the pods of a node that is lost or not ready as not ready, so that Services do not send traffic to them.
 * Source: MarkPodsNotReady.
 */
async function markPodsNotReady(node: Node, { informers, client, clock, events }: ReconcileContext): Promise<void> {
  for (const pod of informers.of(Pod).by(podsByNode, node.metadata.name ?? "")) {
    if (!isPodReady(pod)) continue
    events.event(pod, "Warning", "NodeNotReady", "Node is not ready")
    const conditions = (pod.status.conditions ?? []).map((condition) =>
      condition.type === "Ready"
        ? { ...condition, status: "False" as const, lastTransitionTime: timestamp(clock) }
        : condition,
    )
    await client.updateStatus(Pod, { ...pod, status: { ...pod.status, conditions } }).catch((err: unknown) => {
      if (!isNotFound(err)) throw err
    })
  }
}
