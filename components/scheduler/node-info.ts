import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { OWN_PORTS } from "../../pkg/component/own-ports.ts"
import { controllerOf } from "../../pkg/controller/owned.ts"
import { add, amounts, noAmounts, takenBy, type Amounts } from "../../pkg/api/core/v1/pod/resources/pod-requests.ts"

/**
 * A node with the sums over its pods. Source: pkg/scheduler/framework/types.go NodeInfo. Invariant: everything that a
 * filter or a score reads of the node changes only together with `generation`.
 */
export class NodeInfo {
  node: Node
  allocatable: Amounts
  maxPods: number
  /** Index in `Cache.list`. */
  index = 0
  /** Rises with every change, so that results about the node can be cached until then. */
  generation = 0
  /** Rises when a pod was replaced that counts as before, such as after a change of its labels. */
  replacements = 0
  readonly pods = new Map<string, Pod>()
  readonly requested: Amounts = noAmounts()
  /** Requests as scoring counts them, with small amounts for containers without requests: milli-cores and bytes. */
  readonly scored = { cpu: 0, memory: 0 }
  /** Image name → its size in bytes. */
  readonly images = new Map<string, number>()
  /** The node's pods that have affinity or anti-affinity to other pods. Most nodes have none and are skipped. */
  readonly affinityPods = new Set<Pod>()
  /** The node's pods with required anti-affinity. */
  readonly antiAffinityPods = new Set<Pod>()
  /** UID of a controller → number of its pods on the node. */
  readonly siblings = new Map<string, number>()

  constructor(node: Node) {
    this.node = node
    this.allocatable = amounts(node.status.allocatable, false)
    this.maxPods = this.allocatable.scalar.get("pods") ?? 0
    this.#noteImages()
  }

  get name(): string {
    return this.node.metadata.name ?? ""
  }

  /** Takes over a new state of the node. A heartbeat changes only conditions and keeps the generation. */
  setNode(node: Node): void {
    const old = this.node
    this.node = node
    const changesImages = node.status.images !== old.status.images
    const changesAmounts = node.status.allocatable !== old.status.allocatable
    if (changesImages) this.#noteImages()
    if (changesAmounts) {
      this.allocatable = amounts(node.status.allocatable, false)
      this.maxPods = this.allocatable.scalar.get("pods") ?? 0
    }
    if (
      changesImages ||
      changesAmounts ||
      node.spec !== old.spec ||
      node.metadata.labels !== old.metadata.labels ||
      node.metadata.annotations?.[OWN_PORTS] !== old.metadata.annotations?.[OWN_PORTS]
    )
      this.generation++
  }

  add(pod: Pod): void {
    this.#count(pod, 1)
  }
  remove(pod: Pod): void {
    this.#count(pod, -1)
  }

  /** Takes over a new state of a pod that counts as before. */
  replace(pod: Pod): void {
    const uid = pod.metadata.uid ?? ""
    const old = this.pods.get(uid)
    this.pods.set(uid, pod)
    this.replacements++
    if (old === undefined) return
    for (const pods of [this.affinityPods, this.antiAffinityPods]) if (pods.delete(old)) pods.add(pod)
  }

  /** Returns a copy on which preemption removes pods. */
  clone(): NodeInfo {
    const copy = new NodeInfo(this.node)
    copy.index = this.index
    for (const pod of this.pods.values()) copy.add(pod)
    return copy
  }

  #noteImages(): void {
    this.images.clear()
    for (const { names, sizeBytes } of this.node.status.images ?? [])
      for (const name of names ?? []) this.images.set(name, sizeBytes ?? 0)
  }

  #count(pod: Pod, sign: 1 | -1): void {
    const uid = pod.metadata.uid ?? ""
    if (sign === 1) this.pods.set(uid, pod)
    else this.pods.delete(uid)
    this.#noteAffinity(pod, sign)
    this.#noteOwner(pod, sign)
    const { exact, scored } = takenBy(pod)
    add(this.requested, exact, sign)
    this.scored.cpu += sign * scored.cpu
    this.scored.memory += sign * scored.memory
    this.generation++
  }

  #noteAffinity(pod: Pod, sign: 1 | -1): void {
    const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {}
    for (const [pods, belongs] of [
      [this.affinityPods, podAffinity ?? podAntiAffinity],
      [this.antiAffinityPods, podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution],
    ] as const) {
      if (belongs === undefined) continue
      if (sign === 1) pods.add(pod)
      else pods.delete(pod)
    }
  }

  #noteOwner(pod: Pod, sign: 1 | -1): void {
    const owner = controllerUid(pod)
    if (owner === undefined) return
    const count = (this.siblings.get(owner) ?? 0) + sign
    if (count > 0) this.siblings.set(owner, count)
    else this.siblings.delete(owner)
  }
}

export const controllerUid = (pod: Pod): string | undefined => controllerOf(pod)?.uid
