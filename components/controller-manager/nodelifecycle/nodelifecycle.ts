import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { type NodeCondition } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { defineController, type Controller, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { podsByNode } from "../../../pkg/pods/pods-by-node.ts"
import { wantedTaints } from "./taints.ts"

/** A node without a heartbeat for this time counts as lost. Source: --node-monitor-grace-period (50 s since 1.32). */
const GRACE_PERIOD_MS = 50_000
/** The grace period of a node that has never reported. Source: --node-startup-grace-period. */
const STARTUP_GRACE_MS = 60_000
const LEASE_NAMESPACE = "kube-node-lease"
const REPORTED = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]

/**
 * Detects nodes that stop reporting, records that in their conditions and those of their pods, and sets the taints that
 * follow from conditions. Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go. Differs from upstream: it
 * checks a node when a heartbeat comes and when the grace period of the last one ends, instead of every five seconds;
 * evictions are not slowed down by zone (one VM is one zone).
 */
export const nodeLifecycleController = (): Controller<Node> => {
  /** When the controller started: an old heartbeat at that time says nothing about the node. */
  let listeningSince = 0
  return defineController<Node>({
    name: "node-lifecycle-controller",
    eventSource: "node-controller",
    reconciles: Node,
    workers: 8, // Source: UpdateWorkerSize
    start({ clock }) {
      listeningSince = clock.now()
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
      const { informers, client, clock } = context
      const node = informers.of(Node).get(key)
      if (node === undefined) return
      const silentFor =
        clock.now() - Math.max(listeningSince, lastSign(node, informers.of(Lease).get(`${LEASE_NAMESPACE}/${key}`)))
      const left = (ready(node) === undefined ? STARTUP_GRACE_MS : GRACE_PERIOD_MS) - silentFor
      const seen = left > 0 ? node : await markLost(node, context)
      const taints = wantedTaints(seen, timestamp(clock))
      if (taints !== undefined) {
        await client.patch(Node, seen.metadata, {
          type: "merge",
          body: { metadata: { resourceVersion: seen.metadata.resourceVersion }, spec: { taints } },
        })
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
