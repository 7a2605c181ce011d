import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { OwnerReference } from "../../../pkg/apimachinery/meta.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { clearedAtRest } from "../../../pkg/cache/at-rest.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { createEventRecorder } from "../../../pkg/controller/event-recorder.ts"
import type { RunningController } from "../../../pkg/controller/start.ts"
import { WorkQueue } from "../../../pkg/controller/workqueue.ts"
import {
  FOREGROUND,
  Graph,
  ORPHAN,
  orphansDependents,
  sameLife,
  sameOwners,
  waitsForDependents,
  type Node,
} from "./graph.ts"
import { tellInvalidNamespace } from "./tell-invalid-namespace.ts"

/** Objects processed at once. Source: ConcurrentGCSyncs. */
const WORKERS = 20
/** Size of the cache of absent owners, so that a thousand dependents of one owner cause one request. */
const ABSENT_CACHE = 500
/**
 * Longer references, in characters, are not remembered as absent: users write them, each as long as an object may be,
 * and the objects that had them are collected.
 */
const LONGEST_ABSENT = 2048

export interface GarbageCollectorConfig {
  /** Returns every kind that can be listed, watched and deleted now, in one version each. */
  readonly resources: () => readonly Resource[]
  /** Registers a listener for changes of these kinds. */
  readonly onResources: (listener: () => void) => () => void
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
}

/**
 * Deletes objects whose owners are gone, and carries out foreground deletion and orphaning. Source:
 * pkg/controller/garbagecollector/garbagecollector.go.
 */
export async function startGarbageCollector(
  context: ComponentContext,
  { resources, onResources, resourceOf }: GarbageCollectorConfig,
): Promise<RunningController> {
  const { client, informers } = context
  const log = context.log.child({ controller: "garbage-collector-controller" })
  const events = createEventRecorder({ ...context, log }, "garbage-collector-controller")
  const graph = new Graph()
  const absent = clearedAtRest(new Set<string>())
  const running = new Set<Promise<void>>()
  let stopped = false
  const queue = new WorkQueue(context.clock, pump)

  function pump(): void {
    while (!stopped && running.size < WORKERS) {
      const uid = queue.take()
      if (uid === undefined) return
      const work: Promise<void> = process(uid).then(() => {
        queue.done(uid)
        running.delete(work)
        pump()
      })
      running.add(work)
    }
  }

  /** Processes one object; never rejects. */
  async function process(uid: string): Promise<void> {
    const node = graph.get(uid)
    if (node === undefined) return queue.forget(uid)
    try {
      if (orphansDependents(node)) await orphan(node)
      else if (waitsForDependents(node)) await finishForeground(node)
      else await collect(node)
      queue.forget(uid)
    } catch (err) {
      if (stopped) return
      // After a conflict or NotFound the object has changed or is gone, and the informer will soon show that.
      log[isConflict(err) || isNotFound(err) ? "debug" : "warn"]("Collecting failed; will retry", {
        kind: node.resource.kind,
        namespace: node.namespace,
        name: node.name,
        err,
      })
      queue.retry(uid)
    }
  }

  /** Deletes the object when none of its owners is left, or removes the references to absent owners. */
  async function collect(node: Node): Promise<void> {
    if (node.owners.length === 0 || node.deleting) return
    const solid: OwnerReference[] = []
    const dangling: OwnerReference[] = []
    const waiting: OwnerReference[] = []
    for (const owner of node.owners) {
      const found = await find(node, owner)
      // Nobody can tell whether that owner exists, so the object stays.
      if (found === "namespaced") return
      if (found === "absent") dangling.push(owner)
      else if (found === "waits") waiting.push(owner)
      else solid.push(owner)
    }
    if (solid.length > 0) {
      if (dangling.length + waiting.length > 0) await dropOwners(node, [...dangling, ...waiting])
      return
    }
    // Owners that wait for each other in a circle would wait for ever, so this object stops blocking its owners.
    if (waiting.length > 0 && graph.dependentsOf(node.uid).some(waitsForDependents)) await unblock(node)
    const policy =
      waiting.length > 0 && graph.hasDependents(node.uid)
        ? "Foreground" // its own dependents must go first as well
        : node.finalizers.includes(ORPHAN)
          ? "Orphan"
          : node.finalizers.includes(FOREGROUND)
            ? "Foreground"
            : "Background"
    await client.delete(node.resource, node, { propagationPolicy: policy, preconditions: { uid: node.uid } })
  }

  /**
   * Returns the state of an owner: `namespaced` for that of a cluster-wide object, which is invalid. Asks the API when
   * the graph does not have the owner under the name that the reference gives.
   */
  async function find(node: Node, owner: OwnerReference): Promise<"exists" | "waits" | "absent" | "namespaced"> {
    if (absent.size > 0 && [undefined, node.namespace].some((namespace) => absent.has(absentKey(owner, namespace))))
      return "absent"
    const resource = resourceOf(owner.apiVersion, owner.kind)
    if (resource === undefined)
      throw new Error(
        `Cannot tell whether owner ${owner.kind} ${owner.apiVersion} "${owner.name}" exists: no such kind is served`,
      )
    if (resource.scope === "Namespaced" && node.namespace === undefined) return "namespaced"
    const namespace = resource.scope === "Namespaced" ? node.namespace : undefined
    const known = graph.get(owner.uid)
    if (known !== undefined && isAt(known, resource, owner.name, namespace))
      return waitsForDependents(known) ? "waits" : "exists"
    try {
      const { metadata } = await client.get(resource, { name: owner.name, namespace })
      if (metadata.uid === owner.uid)
        return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FOREGROUND) === true
          ? "waits"
          : "exists"
    } catch (err) {
      if (!isNotFound(err)) throw err
    }
    noteAbsent(absentKey(owner, namespace))
    return "absent"
  }

  /** Foreground deletion: deletes the blocking dependents, and releases the object when none is left. */
  async function finishForeground(node: Node): Promise<void> {
    const blocking = graph
      .dependentsOf(node.uid)
      .filter((dependent) =>
        dependent.owners.some((owner) => owner.uid === node.uid && owner.blockOwnerDeletion === true),
      )
    for (const dependent of graph.dependentsOf(node.uid)) if (!dependent.deleting) queue.add(dependent.uid)
    if (blocking.length === 0) await dropFinalizer(node, FOREGROUND)
  }

  async function orphan(node: Node): Promise<void> {
    for (const dependent of graph.dependentsOf(node.uid)) {
      await dropOwners(
        dependent,
        dependent.owners.filter(({ uid }) => uid === node.uid),
      ).catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
    }
    await dropFinalizer(node, ORPHAN)
  }

  async function unblock(node: Node): Promise<void> {
    const live = await client.get(node.resource, node)
    const ownerReferences = (live.metadata.ownerReferences ?? []).map((owner) => ({
      ...owner,
      blockOwnerDeletion: false,
    }))
    await client.patch(node.resource, node, {
      type: patchType(node.resource),
      body: { metadata: { uid: node.uid, resourceVersion: live.metadata.resourceVersion, ownerReferences } },
    })
  }

  async function dropOwners(node: Node, owners: readonly OwnerReference[]): Promise<void> {
    const live = await client.get(node.resource, node)
    if (live.metadata.uid !== node.uid) return
    const gone = new Set(owners.map(({ uid }) => uid))
    const type = patchType(node.resource)
    const ownerReferences =
      type === "strategic"
        ? [...gone].map((uid) => ({ $patch: "delete", uid }))
        : (live.metadata.ownerReferences ?? []).filter(({ uid }) => !gone.has(uid))
    await client.patch(node.resource, node, {
      type,
      body: { metadata: { resourceVersion: live.metadata.resourceVersion, ownerReferences } },
    })
  }

  async function dropFinalizer(node: Node, finalizer: string): Promise<void> {
    const live = await client.get(node.resource, node)
    if (live.metadata.uid !== node.uid || live.metadata.finalizers?.includes(finalizer) !== true) return
    const finalizers = live.metadata.finalizers.filter((each) => each !== finalizer)
    await client.patch(node.resource, node, {
      type: "merge",
      body: { metadata: { resourceVersion: live.metadata.resourceVersion, finalizers } },
    })
  }

  function noteAbsent(key: string): void {
    if (key.length > LONGEST_ABSENT) return
    absent.add(key)
    if (absent.size > ABSENT_CACHE) absent.delete(absent.values().next().value!)
  }

  function changed(resource: Resource, object: KubeObject, old: KubeObject | undefined): void {
    const before = graph.get(object.metadata.uid ?? "")
    const node = graph.put(resource, object)
    if (absent.size > 0) absent.delete(absentKey(referenceTo(node), node.namespace))
    reportInvalid(node, before)
    if (
      (node.owners.length > 0 && (old === undefined || !sameOwners(object, old))) ||
      waitsForDependents(node) ||
      orphansDependents(node)
    )
      queue.add(node.uid)
  }

  /** Writes Events about references from one namespace to another: that of the object, and those to a new owner. */
  function reportInvalid(node: Node, before: Node | undefined): void {
    const wrong = node.owners.find((owner) => {
      const known = graph.get(owner.uid)
      return (
        known !== undefined && !isReachable(known, node) && before?.owners.some(({ uid }) => uid === owner.uid) !== true
      )
    })
    if (wrong !== undefined) tellInvalidNamespace(node, wrong, events)
    if (before !== undefined) return
    for (const dependent of graph.dependentsOf(node.uid)) {
      if (isReachable(node, dependent)) continue
      tellInvalidNamespace(
        dependent,
        dependent.owners.find(({ uid }) => uid === node.uid)!,
        events,
      )
      queue.add(dependent.uid)
    }
  }

  function gone(uid: string): void {
    const node = graph.get(uid)
    graph.remove(uid)
    if (node !== undefined && graph.hasDependents(uid)) noteAbsent(absentKey(referenceTo(node), node.namespace))
    for (const dependent of graph.dependentsOf(uid)) queue.add(dependent.uid)
    for (const owner of node?.owners ?? []) if (waiting(owner.uid)) queue.add(owner.uid)
  }

  const waiting = (uid: string): boolean => {
    const owner = graph.get(uid)
    return owner !== undefined && waitsForDependents(owner)
  }

  /** Whether an object's UID is its own: an extension API server could give its objects the UIDs of other objects. */
  function isItsOwn(resource: Resource, { metadata: { uid = "", name, namespace } }: KubeObject): boolean {
    if (resource.remote !== true) return true
    const known = graph.get(uid)
    if (known === undefined) return uid !== ""
    return kindKey(known.resource) === kindKey(resource) && known.name === name && known.namespace === namespace
  }

  /** By kind: the function that stops watching it, and the resource under which it is watched. */
  const followed = new Map<string, { readonly resource: Resource; readonly off: () => void }>()
  function follow(resource: Resource): void {
    const off = informers.of(resource).on({
      added: (object) => {
        if (isItsOwn(resource, object)) changed(resource, object, undefined)
      },
      updated: (object, old) => {
        if (sameLife(object, old) || !isItsOwn(resource, object)) return
        changed(resource, object, old)
        // An owner that this object no longer references may have waited for it.
        for (const owner of old.metadata.ownerReferences ?? []) if (waiting(owner.uid)) queue.add(owner.uid)
      },
      deleted: (object) => {
        if (isItsOwn(resource, object)) gone(object.metadata.uid ?? "")
      },
    })
    followed.set(kindKey(resource), { resource, off })
  }
  /** Watches every kind; custom kinds come, go and change with their definitions. */
  function followAll(): void {
    const served = new Map(resources().map((resource) => [kindKey(resource), resource]))
    for (const [key, { resource, off }] of followed) {
      const now = served.get(key)
      if (now === resource) continue
      off()
      followed.delete(key)
      informers.forget(resource)
      // It is unknown whether the objects of an unreachable server still exist, so their dependents are left alone.
      if (now === undefined && resource.remote === true) for (const { uid } of graph.ofKind(resource)) graph.remove(uid)
      else if (now === undefined) for (const { uid } of graph.ofKind(resource)) gone(uid)
      else void dropMissing(now)
    }
    for (const [key, resource] of served) if (!followed.has(key)) follow(resource)
  }
  /** Objects deleted while a definition changed are not in the first list of the new version. */
  async function dropMissing(resource: Resource): Promise<void> {
    const informer = informers.of(resource)
    await informer.whenSynced()
    if (stopped) return
    const there = new Set(informer.list().map(({ metadata }) => metadata.uid))
    for (const { uid } of graph.ofKind(resource)) if (!there.has(uid)) gone(uid)
  }
  // A webhook that cannot convert, or an unreachable server, must not stop garbage collection of other kinds.
  const certain = resources().filter(({ storedAs, remote }) => storedAs?.convert === undefined && remote !== true)
  await Promise.all(certain.map((resource) => informers.of(resource).whenSynced()))
  followAll()
  const offResources = onResources(followAll)
  return {
    name: "garbage-collector-controller",
    enqueue: (uid, afterMs = 0) => queue.addAfter(uid, afterMs),
    get idle() {
      return queue.length === 0 && running.size === 0
    },
    async stop() {
      stopped = true
      offResources()
      for (const { off } of followed.values()) off()
      queue.stop()
      await Promise.allSettled(running)
      await events.stop()
    },
  }
}

const kindKey = ({ group, plural }: Resource): string => `${plural}.${group}`

/** Whether an object of the graph is the one of this kind and name. */
const isAt = (node: Node, resource: Resource, name: string, namespace: string | undefined): boolean =>
  node.name === name && node.namespace === namespace && kindKey(node.resource) === kindKey(resource)

/** Whether an object may name this owner: one of its own namespace, or one that is cluster-wide. */
const isReachable = (owner: Node, dependent: Node): boolean =>
  owner.namespace === undefined || owner.namespace === dependent.namespace

/** Identifies an owner that a reference of an object in `namespace` gives; users write these texts. */
const absentKey = ({ apiVersion, kind, name, uid }: OwnerReference, namespace: string | undefined): string =>
  JSON.stringify([apiVersion, kind, namespace ?? "", name, uid])

const referenceTo = ({ resource: { apiVersion, kind }, name, uid }: Node): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
})

/**
 * Returns the type of patches of owner references: custom objects take no strategic ones. Source:
 * garbagecollector/patch.go.
 */
const patchType = ({ definition, remote }: Resource): "strategic" | "merge" =>
  definition === undefined && remote !== true ? "strategic" : "merge"
