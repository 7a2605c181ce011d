import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { OwnerReference } from "../../../pkg/apimachinery/meta.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"

/**
 * An object in the graph, replaced as a whole when the object changes. The graph has a node for every object of the
 * cluster, so a node holds only shared values.
 */
export interface Node {
  readonly uid: string
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly name: string
  readonly owners: readonly OwnerReference[]
  readonly deleting: boolean
  readonly finalizers: readonly string[]
}

export const FOREGROUND = "foregroundDeletion"
export const ORPHAN = "orphan"

/** Whether everything that the graph knows of an object is unchanged, as after an update of the status. */
export const sameLife = (object: KubeObject, old: KubeObject): boolean =>
  sameOwners(object, old) &&
  object.metadata.deletionTimestamp === old.metadata.deletionTimestamp &&
  deepEqual(object.metadata.finalizers, old.metadata.finalizers)

/** Whether it is the same object with the same owners. */
export const sameOwners = ({ metadata }: KubeObject, { metadata: old }: KubeObject): boolean =>
  metadata.uid === old.uid && deepEqual(metadata.ownerReferences, old.ownerReferences)

/** Whether the object is being deleted and waits for its dependents to be deleted first. */
export const waitsForDependents = (node: Node): boolean => node.deleting && node.finalizers.includes(FOREGROUND)
/** Whether the object is being deleted and its dependents are to be kept. */
export const orphansDependents = (node: Node): boolean => node.deleting && node.finalizers.includes(ORPHAN)

const NONE: readonly never[] = []

/**
 * The owners and dependents of all objects. Invariant: `dependents.get(uid)` holds exactly the UIDs of the nodes whose
 * owners name `uid`, whether or not that owner is known; without such nodes it is undefined. Source:
 * pkg/controller/garbagecollector/graph_builder.go. Differs from upstream: no "virtual" nodes stand in for unknown
 * owners; the index by owner UID needs none.
 */
export class Graph {
  private readonly nodes = new Map<string, Node>()
  private readonly dependents = new Map<string, Set<string>>()

  get(uid: string): Node | undefined {
    return this.nodes.get(uid)
  }

  dependentsOf(uid: string): readonly Node[] {
    return [...(this.dependents.get(uid) ?? NONE)].map((dependent) => this.nodes.get(dependent)!)
  }

  /** Returns every object of a kind, in whatever version it was seen. */
  ofKind({ group, plural }: Pick<Resource, "group" | "plural">): readonly Node[] {
    return [...this.nodes.values()].filter(({ resource }) => resource.group === group && resource.plural === plural)
  }

  hasDependents(uid: string): boolean {
    return this.dependents.has(uid)
  }

  put(resource: Resource, object: KubeObject): Node {
    const {
      uid = "",
      namespace,
      name = "",
      ownerReferences = NONE,
      finalizers = NONE,
      deletionTimestamp,
    } = object.metadata
    this.unlink(this.nodes.get(uid))
    const node: Node = {
      uid,
      resource,
      namespace,
      name,
      owners: ownerReferences,
      deleting: deletionTimestamp !== undefined,
      finalizers,
    }
    this.nodes.set(uid, node)
    for (const owner of ownerReferences) this.link(owner.uid, uid)
    return node
  }

  remove(uid: string): void {
    this.unlink(this.nodes.get(uid))
    this.nodes.delete(uid)
  }

  private link(owner: string, dependent: string): void {
    const siblings = this.dependents.get(owner)
    if (siblings === undefined) this.dependents.set(owner, new Set([dependent]))
    else siblings.add(dependent)
  }

  private unlink(node: Node | undefined): void {
    for (const owner of node?.owners ?? NONE) {
      const siblings = this.dependents.get(owner.uid)
      siblings?.delete(node!.uid)
      if (siblings?.size === 0) this.dependents.delete(owner.uid)
    }
  }
}
