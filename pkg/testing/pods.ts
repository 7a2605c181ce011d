import { isConflict, isNotFound } from "../apimachinery/errors.ts"
import { Node } from "../api/core/v1/node.ts"
import { Pod } from "../api/core/v1/pod.ts"
import { isPodTerminal } from "../api/core/v1/pod-state.ts"
import { Lease } from "../api/coordination/v1/lease.ts"
import { microTimestamp, timestamp } from "../clock/clock.ts"
import type { ComponentContext } from "../component/component.ts"

/** A quarter of the lease: kubelet's nodeLeaseRenewIntervalFraction. */
const HEARTBEAT_MS = 10_000

/** A node without a kubelet. */
export interface FakeNode {
  /** No more heartbeats. */
  fallSilent(): void
}

/** Adds a ready node with plenty of everything, as a kubelet would register it, and keeps its lease. */
export async function addNode({ client, clock, signal }: Pick<ComponentContext, "client" | "clock"> & { readonly signal: AbortSignal }, name: string, node: { readonly labels?: Record<string, string>; readonly allocatable?: Record<string, string> } = {}): Promise<FakeNode> {
  let silent = false
  const allocatable = { cpu: "8", memory: "32Gi", pods: "110", "ephemeral-storage": "100Gi", ...node.allocatable }
  await client.create(Node, { metadata: { name, labels: { "kubernetes.io/hostname": name, ...node.labels } } })
  const now = timestamp(clock)
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status", lastHeartbeatTime: now, lastTransitionTime: now }
  const renew = async (): Promise<void> => {
    if (signal.aborted || silent) return
    clock.setTimeout(() => void renew(), HEARTBEAT_MS)
    await client.patch(Lease, { namespace: "kube-node-lease", name }, { type: "merge", body: { spec: { renewTime: microTimestamp(clock) } } })
  }
  await client.create(Lease, { metadata: { namespace: "kube-node-lease", name }, spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTimestamp(clock) } })
  await renew()
  await client.patch(Node, { name }, { type: "merge", body: { status: { capacity: allocatable, allocatable, conditions: [ready] } } }, { subresource: "status" })
  return { fallSilent: () => void (silent = true) }
}

/** Stands in for kubelets where a test is not about them: pods run and are ready at once, and end at once when they are deleted. */
export function runPods({ informers, client, clock }: Pick<ComponentContext, "informers" | "client" | "clock">): void {
  let address = 0
  const run = async (pod: Pod): Promise<void> => {
    try {
      if (pod.metadata.deletionTimestamp !== undefined) {
        await client.delete(Pod, pod.metadata, { gracePeriodSeconds: 0 })
        return
      }
      const now = timestamp(clock)
      const conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({ type, status: "True" as const, lastTransitionTime: now }))
      address++
      const podIP = `10.42.${address >> 8}.${address & 255}`
      await client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: "Running", conditions, podIP, podIPs: [{ ip: podIP }], startTime: now } })
    } catch (err) {
      if (!isNotFound(err) && !isConflict(err)) throw err
    }
  }
  const see = (pod: Pod): void => {
    const waits = pod.status.phase === "Pending" || pod.metadata.deletionTimestamp !== undefined
    if (pod.spec.nodeName && waits && !(isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined)) void run(pod)
  }
  informers.of(Pod).on({ added: see, updated: see })
}
