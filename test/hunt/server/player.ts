import { ApiError, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Client, ObjectRef } from "../../../pkg/client/client.ts"
import {
  ClusterRoleBinding,
  ConfigMap,
  CronJob,
  DaemonSet,
  Deployment,
  Job,
  LimitRange,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PriorityClass,
  ReplicaSet,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
  StorageClass,
} from "../../../components/cluster/testing/testing.ts"
import { ORDINAL } from "../invariants.ts"
import type { Manifest, Named } from "../program.ts"
import { FINALIZER } from "../objects/names.ts"
import type { FlakyProxy } from "./flaky-proxy.ts"
import type { HuntedServer } from "./hunted-server.ts"
import type { ServerFault, ServerStep } from "./translate.ts"

const RESOURCES = new Map(
  (
    [
      ConfigMap,
      CronJob,
      DaemonSet,
      Deployment,
      Job,
      LimitRange,
      Namespace,
      PersistentVolume,
      PersistentVolumeClaim,
      Pod,
      PodDisruptionBudget,
      PriorityClass,
      ReplicaSet,
      ReplicationController,
      ResourceQuota,
      Secret,
      Service,
      ServiceAccount,
      StatefulSet,
      StorageClass,
    ] as unknown as readonly Resource[]
  ).map((resource) => [resource.kind, resource]),
)

/** The label of ConfigMaps that the operator outside copies into each namespace. */
export const SHARED = { share: "everywhere" }
const sharedName = (name: string): string => `shared-${name}`

interface Lasting {
  readonly until: number
  end(): Promise<unknown>
}

/** Carries out a program against a server. A request may be refused, or remain without an answer. */
export class ServerPlayer {
  readonly #server: HuntedServer
  readonly #client: Client
  readonly #proxy: FlakyProxy
  #lasting: Lasting[] = []
  /** The number of faults that have begun. */
  faults = 0

  constructor(server: HuntedServer, proxy: FlakyProxy) {
    this.#server = server
    this.#client = server.client
    this.#proxy = proxy
  }

  async play(step: ServerStep): Promise<void> {
    try {
      await this.#play(step)
    } catch (err) {
      if (!(err instanceof ApiError)) throw err
    }
  }

  /** Ends all faults, and removes what keeps objects from coming to rest. */
  async mend(): Promise<void> {
    const ends = this.#lasting.splice(0).toReversed()
    for (const { end } of ends) await end()
    for (const { metadata, spec } of await this.#all(Node))
      if (spec.unschedulable === true || (spec.taints ?? []).some(({ key }) => key === "hunt"))
        await this.#patch(Node, metadata, {
          spec: { unschedulable: null, taints: (spec.taints ?? []).filter(({ key }) => !MENDED_TAINTS.has(key)) },
        })
    for (const { metadata } of await this.#all(ConfigMap))
      if (metadata.finalizers?.includes(FINALIZER) === true)
        await this.#patch(ConfigMap, metadata, { metadata: { finalizers: null } })
    for (const { metadata, spec } of await this.#all(Pod))
      if ((spec.schedulingGates ?? []).length > 0) await this.#patch(Pod, metadata, { spec: { schedulingGates: null } })
    for (const { metadata } of await this.#all(CronJob))
      await this.#patch(CronJob, metadata, { spec: { suspend: true } })
  }

  /** Server-side apply of whole objects. */
  async apply(...objects: readonly Manifest[]): Promise<void> {
    for (const object of objects) {
      const resource = RESOURCES.get(object.kind)!
      const { name, namespace = "default" } = object.metadata
      const ref = resource.scope === "Namespaced" ? { name, namespace } : { name }
      const body = { ...object, metadata: { ...object.metadata, ...ref } }
      await this.#client.patch(resource, ref, { type: "apply", body }, { fieldManager: "hunt", force: true })
    }
  }

  async #play(step: ServerStep): Promise<void> {
    const client = this.#client
    switch (step.do) {
      case "apply": {
        await this.apply(step.object)
        const { kind, metadata } = step.object
        if (kind === "ConfigMap") await this.apply(sharedMap(metadata.name))
        return
      }
      case "patch":
        return void (await client.patch(this.#kind(step), this.#ref(step), { type: "merge", body: step.body }))
      case "delete":
        await client.delete(this.#kind(step), this.#ref(step), { propagationPolicy: step.propagation })
        if (step.kind === "ConfigMap")
          await client.delete(ConfigMap, { name: sharedName(step.name), namespace: "default" })
        return
      case "own": {
        const { apiVersion, kind, metadata } = await client.get(this.#kind(step), this.#ref(step))
        const owner = { apiVersion, kind, name: metadata.name!, uid: metadata.uid!, blockOwnerDeletion: step.block }
        await client.create(ConfigMap, {
          metadata: { name: step.map, namespace: metadata.namespace ?? "default", ownerReferences: [owner] },
        })
        return
      }
      case "deletePod": {
        const pod = await this.#pod(step.nth, step.grace === 0)
        const options = step.grace === undefined ? {} : { gracePeriodSeconds: step.grace }
        return void (pod && (await client.delete(Pod, pod.metadata, options)))
      }
      case "evict": {
        const pod = await this.#pod(step.nth)
        if (pod === undefined) return
        const { name, namespace } = pod.metadata
        const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } }
        return void (await client.createSubresource(Pod, pod.metadata, "eviction", eviction))
      }
      case "advance":
        return this.#wait(step.ms)
      case "cordon":
      case "uncordon":
        return this.#patch(Node, { name: step.node }, { spec: { unschedulable: step.do === "cordon" } })
      case "taint":
        return this.#patch(Node, { name: step.node }, { spec: { taints: [{ key: "hunt", effect: step.effect }] } })
      case "deleteNode":
        return void (await client.delete(Node, { name: step.node }))
      // The containers of a server in another process are out of reach.
      case "exit":
        return
      case "dropWatches":
      case "forgetHistory":
        this.faults++
        return this.#proxy.cut()
      case "fault": {
        const end = await this.#begin(step.fault)
        this.faults++
        this.#lasting.push({ until: performance.now() + step.ms, end })
      }
    }
  }

  /** Starts a fault. Returns a function that ends it. */
  async #begin(fault: ServerFault): Promise<() => Promise<unknown>> {
    switch (fault.is) {
      case "killed":
        return this.#server.down("SIGKILL")
      case "ended":
        return this.#server.down("SIGTERM")
      case "answers":
      case "slow": {
        const end = this.#proxy.fail(fault.is === "slow" ? { delay: fault.delay } : { code: fault.code })
        return async () => end()
      }
      case "forbidden": {
        const ref = { name: fault.role }
        const { subjects } = await this.#client.get(ClusterRoleBinding, ref)
        await this.#patch(ClusterRoleBinding, ref, { subjects: [] })
        return async () => {
          if ((subjects ?? []).length > 0)
            await untilAnswered(() => this.#patch(ClusterRoleBinding, ref, { subjects: subjects! }))
        }
      }
    }
  }

  /** Waits, and ends faults when they are due. */
  async #wait(ms: number): Promise<void> {
    const end = performance.now() + ms
    for (;;) {
      const next = this.#lasting.toSorted((a, b) => a.until - b.until)[0]
      if (next === undefined || next.until > end) break
      await Bun.sleep(Math.max(0, next.until - performance.now()))
      this.#lasting = this.#lasting.filter((one) => one !== next)
      // Not awaited: the server may be down.
      void next.end().catch(() => undefined)
    }
    await Bun.sleep(Math.max(0, end - performance.now()))
  }

  #kind({ kind }: Named): Resource {
    return RESOURCES.get(kind)!
  }

  #ref({ kind, name, namespace = "default" }: Named) {
    return RESOURCES.get(kind)!.scope === "Namespaced" ? { name, namespace } : { name }
  }

  async #pod(nth: number, force = false): Promise<Pod | undefined> {
    const { items } = await this.#client.list(Pod)
    const pods = items
      .filter(({ metadata }) => !force || !ORDINAL.test(metadata.name ?? ""))
      .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
    return pods[nth % Math.max(1, pods.length)]
  }

  #all<T extends KubeObject>(resource: Resource<T>): Promise<readonly T[]> {
    return untilAnswered(async () => (await this.#client.list(resource)).items)
  }

  /** Changes an object, if it exists. */
  async #patch(resource: Resource, ref: ObjectRef, body: object) {
    await this.#client.patch(resource, ref, { type: "merge", body }).catch((err: unknown) => {
      if (!isNotFound(err)) throw err
    })
  }
}

const MENDED_TAINTS: ReadonlySet<string> = new Set(["hunt", "node.kubernetes.io/unschedulable"])

const sharedMap = (name: string): Manifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: sharedName(name), labels: SHARED },
  data: { from: name },
})

/** Asks again while the server is starting. */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = 100; ; left--)
    try {
      return await ask()
    } catch (err) {
      if (left === 0 || !(err instanceof ApiError) || err.code < 500) throw err
      await Bun.sleep(100)
    }
}
