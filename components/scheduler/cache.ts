import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { isBeingResized } from "../../pkg/api/core/v1/pod/resources/in-force.ts"
import { isPodTerminal } from "../../pkg/pods/pod-state.ts"
import { isSoft } from "../../pkg/api/core/v1/node/taints.ts"
import type { NodeList } from "./framework.ts"
import { NodeInfo } from "./node-info.ts"
import type { ImageSpread } from "./plugins/imagelocality.ts"

/**
 * The scheduler's picture of nodes and bound pods, ahead of the API by its own decisions: a pod is assumed to be on its
 * node from the moment of the decision, so that the decision for the next pod counts it while the binding is still
 * being written. Source: pkg/scheduler/backend/cache/cache.go. Invariant: a pod counts on exactly one node, and only
 * while it is not terminal. Nothing here awaits.
 */
export class Cache implements NodeList {
  readonly #byName = new Map<string, NodeInfo>()
  readonly #list: NodeInfo[] = []
  readonly #withAffinity = new Set<NodeInfo>()
  readonly #withAntiAffinity = new Set<NodeInfo>()
  readonly #withSoftTaints = new Set<NodeInfo>()
  /** UID → the pod as counted, and its node, which may not be known yet. */
  readonly #placed = new Map<string, { readonly pod: Pod; readonly node: string; readonly assumed: boolean }>()
  readonly #images = new Map<string, { nodes: number; bytes: number }>()

  /** Every node, in the order in which they were added; `NodeInfo.index` is the position. */
  get list(): readonly NodeInfo[] {
    return this.#list
  }
  /** The images on the nodes; ImageLocality weighs an image by the number of nodes that have it. */
  get images(): ImageSpread {
    return this.#images
  }
  get withAffinity(): Iterable<NodeInfo> {
    return this.#withAffinity
  }
  get withAntiAffinity(): Iterable<NodeInfo> {
    return this.#withAntiAffinity
  }
  get withSoftTaints(): ReadonlySet<NodeInfo> {
    return this.#withSoftTaints
  }

  get(name: string): NodeInfo | undefined {
    return this.#byName.get(name)
  }

  setNode(node: Node): void {
    const known = this.#byName.get(node.metadata.name ?? "")
    if (known !== undefined) {
      const changesImages = known.node.status.images !== node.status.images
      if (changesImages) this.#countImages(known, -1)
      known.setNode(node)
      this.#noteTaints(known)
      if (changesImages) this.#countImages(known, 1)
      return
    }
    const info = new NodeInfo(node)
    this.#byName.set(info.name, info)
    info.index = this.#list.push(info) - 1
    this.#countImages(info, 1)
    for (const { pod, node: on } of this.#placed.values()) if (on === info.name) info.add(pod)
    this.#noteAffinity(info)
    this.#noteTaints(info)
  }

  removeNode(name: string): void {
    const info = this.#byName.get(name)
    if (info === undefined) return
    this.#countImages(info, -1)
    this.#byName.delete(name)
    this.#list.splice(info.index, 1)
    for (const [index, left] of this.#list.entries()) left.index = index
    this.#withAffinity.delete(info)
    this.#withAntiAffinity.delete(info)
    this.#withSoftTaints.delete(info)
  }

  /** Takes over a bound pod from the API; confirms an assumed pod. */
  setPod(pod: Pod): void {
    const placed = this.#placed.get(pod.metadata.uid ?? "")
    const counts = pod.spec.nodeName !== undefined && pod.spec.nodeName !== "" && !isPodTerminal(pod)
    // A status update changes nothing that is counted.
    if (counts && placed?.node === pod.spec.nodeName && countsTheSame(placed.pod, pod)) {
      this.#placed.set(pod.metadata.uid ?? "", { pod, node: placed.node, assumed: false })
      this.#byName.get(placed.node)?.replace(pod)
      return
    }
    this.forget(pod)
    if (counts) this.#place(pod, pod.spec.nodeName, false)
  }

  assume(pod: Pod, node: string): void {
    this.#place(pod, node, true)
  }

  /** Removes a pod that is gone, has ended, or could not be bound. */
  forget(pod: Pod): void {
    const uid = pod.metadata.uid ?? ""
    const placed = this.#placed.get(uid)
    if (placed === undefined) return
    this.#placed.delete(uid)
    const info = this.#byName.get(placed.node)
    if (info === undefined) return
    info.remove(placed.pod)
    this.#noteAffinity(info)
  }

  /** Returns the name of the node on which a pod counts, whether it is bound yet or not. */
  nodeOf(pod: Pod): string | undefined {
    return this.#placed.get(pod.metadata.uid ?? "")?.node
  }

  isAssumed(pod: Pod): boolean {
    return this.#placed.get(pod.metadata.uid ?? "")?.assumed === true
  }

  #place(pod: Pod, node: string, assumed: boolean): void {
    this.#placed.set(pod.metadata.uid ?? "", { pod, node, assumed })
    const info = this.#byName.get(node)
    if (info === undefined) return
    info.add(pod)
    this.#noteAffinity(info)
  }

  #noteAffinity(info: NodeInfo): void {
    keep(this.#withAffinity, info, info.affinityPods.size > 0)
    keep(this.#withAntiAffinity, info, info.antiAffinityPods.size > 0)
  }

  #noteTaints(info: NodeInfo): void {
    keep(this.#withSoftTaints, info, info.node.spec.taints?.some(isSoft) === true)
  }

  #countImages(info: NodeInfo, sign: 1 | -1): void {
    for (const [name, bytes] of info.images) {
      const image = this.#images.get(name) ?? { nodes: 0, bytes: 0 }
      image.nodes += sign
      image.bytes = Math.max(image.bytes, bytes)
      if (image.nodes > 0) this.#images.set(name, image)
      else this.#images.delete(name)
    }
  }
}

/**
 * Whether both states of a pod count alike on its node. Parts of an object that a write does not change stay the same
 * value.
 */
const countsTheSame = (a: Pod, b: Pod): boolean =>
  !isBeingResized(a) &&
  !isBeingResized(b) &&
  a.spec.containers === b.spec.containers &&
  a.spec.initContainers === b.spec.initContainers &&
  a.spec.resources === b.spec.resources &&
  a.spec.overhead === b.spec.overhead &&
  a.spec.affinity === b.spec.affinity &&
  a.metadata.ownerReferences === b.metadata.ownerReferences

function keep(nodes: Set<NodeInfo>, info: NodeInfo, belongs: boolean): void {
  if (belongs) nodes.add(info)
  else nodes.delete(info)
}
