import type { Node } from "../../pkg/api/core/v1/node.ts"
import type { Pod } from "../../pkg/api/core/v1/pod.ts"
import { isPodTerminal } from "../../pkg/api/core/v1/pod-state.ts"
import { add, amounts, noAmounts, requestsOf, type Amounts } from "./resources.ts"

/** A port of the node that a pod takes. */
export interface HostPort {
  readonly ip: string
  readonly protocol: string
  readonly port: number
}

/** A node with what its pods take of it. */
export class NodeInfo {
  node: Node
  allocatable: Amounts
  maxPods: number
  readonly pods = new Map<string, Pod>()
  readonly requested: Amounts = noAmounts()
  /** Requests with the small amounts that scoring counts for pods without any. */
  readonly scored = { cpu: 0, memory: 0 }
  readonly images = new Map<string, number>()
  /** Those of its pods that have wishes or rules about other pods, and those that must be away from some: usually none, and then nobody has to look. */
  readonly affinityPods = new Set<Pod>()
  readonly antiAffinityPods = new Set<Pod>()
  /** UID of a controller → how many of its pods are here. */
  readonly siblings = new Map<string, number>()

  constructor(node: Node) {
    this.node = node
    this.allocatable = amounts(node.status.allocatable, false)
    this.maxPods = Number(node.status.allocatable?.["pods"] ?? 0)
    this.setNode(node)
  }

  get name(): string {
    return this.node.metadata.name ?? ""
  }

  setNode(node: Node): void {
    this.node = node
    this.allocatable = amounts(node.status.allocatable, false)
    this.maxPods = this.allocatable.scalar.get("pods") ?? 0
    this.images.clear()
    for (const { names, sizeBytes } of node.status.images ?? [])
      for (const name of names) this.images.set(name, sizeBytes ?? 0)
  }

  add(pod: Pod): void {
    this.count(pod, 1)
  }
  remove(pod: Pod): void {
    this.count(pod, -1)
  }

  private count(pod: Pod, sign: 1 | -1): void {
    const uid = pod.metadata.uid ?? ""
    if (sign === 1) this.pods.set(uid, pod)
    else this.pods.delete(uid)
    this.note(pod, sign)
    const { exact, scored } = requestsOf(pod)
    add(this.requested, exact, sign)
    this.scored.cpu += sign * scored.cpu
    this.scored.memory += sign * scored.memory
  }

  private note(pod: Pod, sign: 1 | -1): void {
    const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {}
    for (const [pods, belongs] of [
      [this.affinityPods, podAffinity ?? podAntiAffinity],
      [this.antiAffinityPods, podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution],
    ] as const) {
      if (belongs === undefined) continue
      if (sign === 1) pods.add(pod)
      else pods.delete(pod)
    }
    const owner = controllerUid(pod)
    if (owner === undefined) return
    const count = (this.siblings.get(owner) ?? 0) + sign
    if (count > 0) this.siblings.set(owner, count)
    else this.siblings.delete(owner)
  }

  /** A copy on which preemption tries things out. */
  clone(): NodeInfo {
    const copy = new NodeInfo(this.node)
    for (const pod of this.pods.values()) copy.add(pod)
    return copy
  }
}

export const controllerUid = (pod: Pod): string | undefined =>
  pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid

export const hostPortsOf = (pod: Pod): readonly HostPort[] =>
  [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always")]
    .flatMap(({ ports }) => ports ?? [])
    .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0)
    .map(({ hostIP, protocol, hostPort }) => ({ ip: hostIP || "0.0.0.0", protocol, port: hostPort! }))

/**
 * The scheduler's picture of nodes and bound pods, ahead of the API by its own decisions: a pod is assumed to be on its node from the moment of the
 * decision, so the next pod is placed with that in mind while the binding is still being written. Source: pkg/scheduler/backend/cache/cache.go.
 * Invariant: a pod counts on exactly one node, and only while it is not terminal. Nothing here awaits.
 */
export class Cache {
  readonly nodes = new Map<string, NodeInfo>()
  /** UID → the pod as counted, and where. Its node may not be known (yet). */
  private readonly placed = new Map<string, { pod: Pod; node: string; assumed: boolean }>()
  /** How many nodes have an image, for spreading. */
  readonly imageNodes = new Map<string, number>()

  setNode(node: Node): void {
    const known = this.nodes.get(node.metadata.name ?? "")
    if (known !== undefined) {
      if (known.node.status.images !== node.status.images) {
        this.countImages(known, -1)
        known.setNode(node)
        this.countImages(known, 1)
      } else known.setNode(node)
      return
    }
    const info = new NodeInfo(node)
    this.nodes.set(info.name, info)
    this.countImages(info, 1)
    for (const { pod, node: on } of this.placed.values()) if (on === info.name) info.add(pod)
  }

  removeNode(name: string): void {
    const info = this.nodes.get(name)
    if (info === undefined) return
    this.countImages(info, -1)
    this.nodes.delete(name)
  }

  /** Takes in a bound pod as the API shows it; confirms an assumption about it. */
  setPod(pod: Pod): void {
    this.forget(pod)
    if (pod.spec.nodeName && !isPodTerminal(pod)) this.place(pod, pod.spec.nodeName, false)
  }

  assume(pod: Pod, node: string): void {
    this.place(pod, node, true)
  }

  /** Takes a pod out: it is gone, has ended, or its binding failed. */
  forget(pod: Pod): void {
    const uid = pod.metadata.uid ?? ""
    const placed = this.placed.get(uid)
    if (placed === undefined) return
    this.placed.delete(uid)
    this.nodes.get(placed.node)?.remove(placed.pod)
  }

  isAssumed(pod: Pod): boolean {
    return this.placed.get(pod.metadata.uid ?? "")?.assumed === true
  }

  private place(pod: Pod, node: string, assumed: boolean): void {
    this.placed.set(pod.metadata.uid ?? "", { pod, node, assumed })
    this.nodes.get(node)?.add(pod)
  }

  private countImages(info: NodeInfo, sign: 1 | -1): void {
    for (const image of info.images.keys()) {
      const count = (this.imageNodes.get(image) ?? 0) + sign
      if (count > 0) this.imageNodes.set(image, count)
      else this.imageNodes.delete(image)
    }
  }
}
