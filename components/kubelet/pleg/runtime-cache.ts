import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { isCriError } from "../../../pkg/cri/errors.ts"
import { sleep } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"
import { CONTAINER_NAME, POD_UID } from "../model/labels.ts"
import {
  containerFrom,
  NO_RUNTIME_POD,
  sandboxFrom,
  type RuntimeContainer,
  type RuntimePod,
  type RuntimeSandbox,
} from "../model/runtime-pod.ts"
import { terminationMessage } from "./termination-message.ts"
import type { PodIdentity } from "../model/pod-identity.ts"

/**
 * Interval of lists for a runtime without events. Source: pkg/kubelet relistPeriod is 1 s; with events upstream lists
 * every 300 s.
 */
const RELIST_MS = 5000

/**
 * The sandboxes and containers of this node's pods in the runtime, kept up to date by its events: only what changed is
 * read again. Source of the idea: pkg/kubelet/pleg/evented.go.
 *
 * Invariants: the state of a pod is replaced, never changed; listeners are called after the replacement. An event for a
 * container that a worker just created or started itself changes nothing and calls no listener.
 */
export class RuntimeCache {
  readonly #context: KubeletContext
  /**
   * By uid. Containers and sandboxes are found in their pods: a node has a hundred at most, and maps of them took 5 MB
   * of a thousand nodes.
   */
  readonly #pods = new Map<string, RuntimePod>()
  readonly #listeners = new Set<(uid: string) => void>()
  readonly #relistListeners = new Set<() => void>()
  readonly #relisted = Promise.withResolvers<void>()
  #synced = false

  constructor(context: KubeletContext) {
    this.#context = context
  }

  get(uid: string): RuntimePod | undefined {
    return this.#pods.get(uid)
  }
  /** Returns the state of a pod in the runtime, which may be empty. */
  of(identity: PodIdentity): RuntimePod {
    return this.#pods.get(identity.uid) ?? NO_RUNTIME_POD(identity)
  }
  all(): readonly RuntimePod[] {
    return [...this.#pods.values()]
  }
  container(id: string): RuntimeContainer | undefined {
    for (const { containers } of this.#pods.values())
      for (const container of containers) if (container.id === id) return container
    return undefined
  }
  #sandbox(id: string): RuntimeSandbox | undefined {
    for (const { sandboxes } of this.#pods.values())
      for (const sandbox of sandboxes) if (sandbox.id === id) return sandbox
    return undefined
  }
  /** All containers and sandboxes, by their ids. */
  #byId(): ReadonlyMap<string, RuntimeContainer | RuntimeSandbox> {
    const all = [...this.#pods.values()].flatMap(({ containers, sandboxes }) => [...containers, ...sandboxes])
    return new Map(all.map((thing) => [thing.id, thing]))
  }
  /** Calls `listener` when something of a pod has changed by itself. */
  on(listener: (uid: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
  /** Calls `listener` when the runtime is available (again) and everything was listed. */
  onRelist(listener: () => void): () => void {
    this.#relistListeners.add(listener)
    return () => void this.#relistListeners.delete(listener)
  }
  whenSynced(): Promise<void> {
    return this.#relisted.promise
  }
  get synced(): boolean {
    return this.#synced
  }

  /** Follows the runtime's events until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { runtime, log, clock } = this.#context
    try {
      for await (const event of runtime.containers.subscribeContainerEvents(signal)) {
        try {
          if (event.type === "Relist") await this.#begin()
          else if (event.type !== "OutOfMemory") await this.#event(event.type, event.containerId)
        } catch (err) {
          if (!signal.aborted) log.warn("Failed to query the runtime after an event", { event: event.type, err })
        }
      }
    } catch (err) {
      if (signal.aborted) return
      if (!isCriError(err, "Unimplemented")) throw err
      log.info("The container runtime sends no events; polling it", { ms: RELIST_MS })
      for (let isAway = true; !signal.aborted;) {
        try {
          await (isAway ? this.#begin() : this.relist())
          isAway = false
        } catch (failure) {
          isAway = true
          log.warn("Failed to list containers", { err: failure })
        }
        await sleep(clock, RELIST_MS, signal).catch(() => undefined)
      }
    }
  }

  async #begin(): Promise<void> {
    await this.relist()
    for (const listener of this.#relistListeners) listener()
  }

  async #event(type: "Created" | "Started" | "Stopped" | "Deleted", id: string): Promise<void> {
    if (type !== "Deleted" && type !== "Stopped") return
    const container = this.container(id)
    const sandbox = container === undefined ? this.#sandbox(id) : undefined
    // An unknown container is being created by a worker, which calls `created` when done; or it belongs to another
    // program.
    if (container === undefined && sandbox === undefined) return
    if (type === "Deleted") {
      if (this.#drop(id)) this.#notify((container ?? sandbox!).pod.uid)
      return
    }
    if (container !== undefined && container.state !== "exited") {
      await this.refreshContainer(id, container.sandboxId)
      this.#notify(container.pod.uid)
    } else if (sandbox?.ready === true) {
      await this.refreshSandbox(id)
      this.#notify(sandbox.pod.uid)
    }
  }

  /** Lists everything and reports the differences. */
  async relist(): Promise<void> {
    const { containers: service } = this.#context.runtime
    // The list may lack what workers create while the runtime answers.
    const before = this.#byId()
    const [sandboxes, containers] = await Promise.all([service.listPodSandboxes(), service.listContainers()])
    const seen = new Set<string>()
    const changed = new Set<string>()
    await Promise.all([
      ...sandboxes
        .filter(({ labels }) => labels[POD_UID] !== undefined)
        .map(async ({ id, state, labels }) => {
          seen.add(id)
          const known = this.#sandbox(id)
          if (known !== undefined && known.ready === (state === "SANDBOX_READY")) return
          await this.refreshSandbox(id)
          changed.add(labels[POD_UID]!)
        }),
      ...containers
        .filter(({ labels }) => labels[POD_UID] !== undefined && labels[CONTAINER_NAME] !== undefined)
        .map(async ({ id, state, labels, podSandboxId }) => {
          seen.add(id)
          const known = this.container(id)
          if (
            known !== undefined &&
            (known.state === "exited" || (known.state === "running" && state === "CONTAINER_RUNNING"))
          )
            return
          await this.refreshContainer(id, podSandboxId)
          changed.add(labels[POD_UID]!)
        }),
    ])
    for (const { id, pod } of this.#byId().values()) {
      if (seen.has(id) || !before.has(id)) continue
      this.#drop(id)
      changed.add(pod.uid)
    }
    this.#synced = true
    this.#relisted.resolve()
    for (const uid of changed) this.#notify(uid)
  }

  /** Updates a container from the runtime. */
  async refreshContainer(id: string, sandboxId: string): Promise<RuntimeContainer | undefined> {
    const { runtime } = this.#context
    const status = await runtime.containers.containerStatus(id)
    if (status === undefined) {
      this.#drop(id)
      return undefined
    }
    const ended = status.state === "CONTAINER_EXITED"
    const known = this.#pods.get(status.labels[POD_UID] ?? "")
    const container = containerFrom(
      status,
      sandboxId,
      ended ? await terminationMessage(runtime.files, status) : undefined,
      known?.identity,
    )
    if (container === undefined) return undefined
    const before = this.#pods.get(container.pod.uid)?.containers.find((other) => other.id === id)
    // Two updates may overlap; an ended container does not run again.
    if (before?.state === "exited" && !ended) return before
    this.#put(container.pod.uid, { container })
    return container
  }

  /** Adds a container that was just created, so that its end is noticed, however soon it comes. */
  created(container: RuntimeContainer): void {
    this.#put(container.pod.uid, { container })
  }

  /** Updates a sandbox from the runtime: that of the pod, if its creator calls this. */
  async refreshSandbox(id: string, pod?: PodIdentity): Promise<RuntimeSandbox | undefined> {
    const status = await this.#context.runtime.containers.podSandboxStatus(id)
    const sandbox =
      status === undefined ? undefined : sandboxFrom(status, familyOf(this.#context.config.nodeIps[0] ?? ""), pod)
    if (sandbox === undefined) {
      this.#drop(id)
      return undefined
    }
    this.#put(sandbox.pod.uid, { sandbox })
    return sandbox
  }

  /** Removes a container, or a sandbox with its containers, from the cache. */
  forget(id: string): void {
    this.#drop(id)
  }

  #drop(id: string): boolean {
    const thing = this.container(id) ?? this.#sandbox(id)
    if (thing === undefined) return false
    const { uid } = thing.pod
    const { sandboxes, containers } = this.#pods.get(uid)!
    this.#show(
      uid,
      sandboxes.filter((sandbox) => sandbox.id !== id),
      containers.filter((container) => container.id !== id && container.sandboxId !== id),
    )
    return true
  }

  /** Puts a container, or sandbox, into the state of its pod. */
  #put(
    uid: string,
    { container, sandbox }: { readonly container?: RuntimeContainer; readonly sandbox?: RuntimeSandbox },
  ): void {
    const { sandboxes, containers } = this.#pods.get(uid) ?? { sandboxes: [], containers: [] }
    this.#show(
      uid,
      sandbox === undefined ? sandboxes : withNewest(sandboxes, sandbox, ({ attempt }) => attempt),
      container === undefined ? containers : withNewest(containers, container, ({ notes }) => notes.restartCount),
    )
  }

  #show(uid: string, sandboxes: readonly RuntimeSandbox[], containers: readonly RuntimeContainer[]): void {
    const identity = sandboxes[0]?.pod ?? containers[0]?.pod
    if (identity === undefined) this.#pods.delete(uid)
    else this.#pods.set(uid, { identity, sandboxes, containers })
  }

  #notify(uid: string): void {
    for (const listener of this.#listeners) listener(uid)
  }
}

/**
 * Returns the list, newest first, with `item` added or in place of the entry with its id. The higher attempt is newer,
 * because the wall clock may have been set back between two; of equal attempts the one created later, and of two
 * created in the same millisecond the one that was added last.
 */
function withNewest<T extends { readonly id: string; readonly createdAt: number }>(
  list: readonly T[],
  item: T,
  attemptOf: (item: T) => number,
): readonly T[] {
  const index = list.findIndex(({ id }) => id === item.id)
  return index >= 0
    ? list.with(index, item)
    : [item, ...list].sort((a, b) => attemptOf(b) - attemptOf(a) || b.createdAt - a.createdAt)
}
