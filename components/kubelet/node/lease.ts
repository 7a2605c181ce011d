import { isAlreadyExists, isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { microTimestamp, type Timer } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"

const NAMESPACE = "kube-node-lease"
export const DURATION_SECONDS = 40
const RENEW_MS = 10_000
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 7_000

/** Renews the Lease of the node every ten seconds. Source: component-helpers apimachinery/lease/controller.go. */
export class NodeLease {
  readonly #context: KubeletContext
  readonly #node: () => Node | undefined
  readonly #onGone: () => void
  #timer: Timer | undefined
  #retryMs = FIRST_RETRY_MS
  #lease: Lease | undefined
  #stopped = false

  /** `onGone` is called when the lease was deleted, which happens when its node is deleted. */
  constructor(context: KubeletContext, node: () => Node | undefined, onGone: () => void) {
    this.#context = context
    this.#node = node
    this.#onGone = onGone
  }

  start(): void {
    this.#context.spawn("node lease", () => this.#renew())
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  async #renew(): Promise<void> {
    const { clock, log } = this.#context
    let next = RENEW_MS
    try {
      this.#lease = await this.#write()
      this.#retryMs = FIRST_RETRY_MS
    } catch (err) {
      // The control plane creates the namespace, and may still be starting.
      if (!isNotFound(err)) log.warn("Failed to renew the lease of the node", { err })
      else if (this.#lease !== undefined) this.#onGone()
      this.#lease = undefined
      next = this.#retryMs
      this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS)
    } finally {
      if (!this.#stopped)
        this.#timer = clock.setTimeout(() => this.#context.spawn("node lease", () => this.#renew()), next, "upkeep")
    }
  }

  async #write(): Promise<Lease> {
    const { client, config, clock } = this.#context
    const name = config.nodeName
    const uid = this.#node()?.metadata.uid
    const spec = { holderIdentity: name, leaseDurationSeconds: DURATION_SECONDS, renewTime: microTimestamp(clock) }
    const ownerReferences = uid === undefined ? [] : [{ apiVersion: "v1", kind: "Node", name, uid }]
    const known = this.#lease
    if (known === undefined) {
      try {
        return await client.create(Lease, { metadata: { name, namespace: NAMESPACE, ownerReferences }, spec })
      } catch (err) {
        if (!isAlreadyExists(err)) throw err
      }
    }
    const current = known ?? (await client.get(Lease, { name, namespace: NAMESPACE }))
    const isOwned = uid === undefined || current.metadata.ownerReferences?.[0]?.uid === uid
    try {
      return await client.update(Lease, {
        ...current,
        metadata: isOwned ? current.metadata : { ...current.metadata, ownerReferences },
        spec: { ...current.spec, ...spec },
      })
    } catch (err) {
      if (!isConflict(err)) throw err
      return client.update(Lease, { ...(await client.get(Lease, { name, namespace: NAMESPACE })), spec })
    }
  }
}
