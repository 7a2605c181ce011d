import type { OwnerReference } from "../../../pkg/apimachinery/meta.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"

/** One object as the garbage collector sees it. Replaced as a whole when the object changes, but for `dependents`, which the graph keeps. */
export interface Node {
  readonly uid: string
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly name: string
  readonly owners: readonly OwnerReference[]
  readonly deleting: boolean
  readonly finalizers: readonly string[]
  /** UIDs of the objects that name this one as an owner. */
  readonly dependents: ReadonlySet<string>
}

export const FOREGROUND = "foregroundDeletion"
export const ORPHAN = "orphan"

/** Whether a change left all that the graph knows of an object as it was; most changes are of a status. */
export const sameLife = ({ metadata }: KubeObject, { metadata: old }: KubeObject): boolean =>
  metadata.uid === old.uid && metadata.ownerReferences === old.ownerReferences && metadata.finalizers === old.finalizers && metadata.deletionTimestamp === old.deletionTimestamp

/** Being deleted, and waiting for its dependents to go first. */
export const waitsForDependents = (node: Node): boolean => node.deleting && node.finalizers.includes(FOREGROUND)
/** Being deleted, and to leave its dependents behind. */
export const orphansDependents = (node: Node): boolean => node.deleting && node.finalizers.includes(ORPHAN)

/**
 * Who owns whom. Invariant: `dependents.get(uid)` holds exactly the nodes whose owners name `uid`, whether or not that owner is known.
 * Source: pkg/controller/garbagecollector/graph_builder.go. Differs from upstream: no "virtual" nodes stand in for unknown owners; the index by
 * owner UID needs none.
 */
export class Graph {
  private readonly nodes = new Map<string, Node>()
  private readonly dependents = new Map<string, Set<string>>()

  get(uid: string): Node | undefined {
    return this.nodes.get(uid)
  }

  dependentsOf(uid: string): readonly Node[] {
    return [...(this.dependents.get(uid) ?? [])].map((dependent) => this.nodes.get(dependent)!)
  }

  put(resource: Resource, object: KubeObject): Node {
    const { uid = "", namespace, name = "", ownerReferences = [], finalizers = [], deletionTimestamp } = object.metadata
    this.unlink(this.nodes.get(uid))
    const node: Node = { uid, resource, namespace, name, owners: ownerReferences, deleting: deletionTimestamp !== undefined, finalizers, dependents: this.setFor(uid) }
    this.nodes.set(uid, node)
    for (const owner of ownerReferences) this.setFor(owner.uid).add(uid)
    return node
  }

  remove(uid: string): void {
    this.unlink(this.nodes.get(uid))
    this.nodes.delete(uid)
    if (this.dependents.get(uid)?.size === 0) this.dependents.delete(uid)
  }

  private unlink(node: Node | undefined): void {
    for (const owner of node?.owners ?? []) {
      const siblings = this.dependents.get(owner.uid)
      siblings?.delete(node!.uid)
      if (siblings?.size === 0 && !this.nodes.has(owner.uid)) this.dependents.delete(owner.uid)
    }
  }

  private setFor(uid: string): Set<string> {
    const known = this.dependents.get(uid)
    if (known !== undefined) return known
    const made = new Set<string>()
    this.dependents.set(uid, made)
    return made
  }
}
