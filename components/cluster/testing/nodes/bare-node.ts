import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Lease } from "../../../../pkg/api/coordination/v1/lease.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import { microTimestamp, timestamp, type Clock, type Timer } from "../../../../pkg/clock/clock.ts"
import type { NodeSpec } from "../options/node-spec.ts"

export interface BareNodeOptions {
  readonly spec: NodeSpec
  /** The client of the administrator. */
  readonly client: Client
  readonly clock: Clock
}

/** A quarter of the lease: kubelet's nodeLeaseRenewIntervalFraction. */
const HEARTBEAT_MS = 10_000
const LEASE_SECONDS = 40

/**
 * A node without a kubelet: it exists and is ready, and sends heartbeats, but nothing happens to its pods except what a
 * test writes.
 */
export class BareNode {
  readonly #options: BareNodeOptions
  #timer: Timer | undefined
  #stopped = false

  constructor(options: BareNodeOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const {
      client,
      clock,
      spec: { name, cpus, memoryBytes, diskBytes, maxPods, labels, taints },
    } = this.#options
    const now = timestamp(clock)
    const capacity = {
      cpu: String(cpus),
      memory: String(memoryBytes),
      "ephemeral-storage": String(diskBytes),
      pods: String(maxPods),
    }
    await client.create(Node, {
      metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
      spec: { taints },
    })
    await client.create(Lease, {
      metadata: { namespace: "kube-node-lease", name },
      spec: { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime: microTimestamp(clock) },
    })
    const ready = {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      message: "there is no kubelet: the test says what happens to its pods",
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    }
    await client.patch(
      Node,
      { name },
      { type: "merge", body: { status: { capacity, allocatable: capacity, conditions: [ready] } } },
      { subresource: "status" },
    )
    this.#beat()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  #beat(): void {
    if (this.#stopped) return
    const {
      clock,
      client,
      spec: { name },
    } = this.#options
    const renew = () =>
      client.patch(
        Lease,
        { namespace: "kube-node-lease", name },
        { type: "merge", body: { spec: { renewTime: microTimestamp(clock) } } },
      )
    // A heartbeat that fails, as while the API server is down, is not repeated.
    this.#timer = clock.setTimeout(
      () =>
        void renew()
          .catch(() => undefined)
          .then(() => this.#beat()),
      HEARTBEAT_MS,
      "upkeep",
    )
  }
}
