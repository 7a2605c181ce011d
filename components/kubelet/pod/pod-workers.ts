import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { podsByNode } from "../../../pkg/pods/pods-by-node.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { Informer } from "../../../pkg/client/informer.ts"
import { Orphans } from "./ending/orphans.ts"
import { repairLinks, unlinkLogsOfPod } from "../logs/container-links.ts"
import { isMirrorPod, isStaticPod } from "../model/labels.ts"
import { killPod } from "./ending/kill.ts"
import { identityOf } from "../model/pod-identity.ts"
import { PodWorker } from "./pod-worker.ts"
import type { WorkerParts } from "./worker-parts.ts"
import { isRunning, type RuntimePod } from "../model/runtime-pod.ts"
import type { Verdict } from "../status/pod-status.ts"
import { OWN_CONDITIONS } from "../status/conditions.ts"

/** Grace period of a pod of which only containers are left. */
const ORPHAN_GRACE_SECONDS = 30

/**
 * Runs one worker for each pod of this node. It starts when both the API's pods and the runtime's are known, so that
 * running pods are adopted, and pods whose deletion was missed are ended.
 */
export class PodWorkers {
  readonly #parts: WorkerParts
  readonly #informer: Informer<Pod>
  readonly #workers = new Map<string, PodWorker>()
  readonly #ending = new Set<string>()
  readonly #orphans: Orphans
  /** Pods that run again once their containers have ended: manifests of static pods that were put back. */
  readonly #next = new Map<string, Pod>()
  readonly #off: (() => void)[] = []
  /** The workers that wait until those of all first pods are there: each compares its pod with the others. */
  #held: PodWorker[] | undefined
  #stopped = false

  constructor(parts: Omit<WorkerParts, "finished">) {
    this.#parts = { ...parts, finished: ({ identity: { uid } }) => this.#finished(uid) }
    this.#informer = parts.context.informers.of(Pod)
    this.#orphans = new Orphans(
      parts.context,
      parts.volumes,
      (uid) => this.#workers.has(uid) || this.#ending.has(uid) || parts.cache.get(uid) !== undefined,
    )
  }

  get(uid: string): PodWorker | undefined {
    return this.#workers.get(uid)
  }
  all(): readonly PodWorker[] {
    return [...this.#workers.values()]
  }
  /** Returns the pods that should run here. */
  pods(): readonly Pod[] {
    return this.all().map(({ pod }) => pod)
  }
  /**
   * Returns the other admitted pods that run or may run. A pod that the API no longer has is not one of them, although
   * its containers may be ending: the scheduler has given what it had to other pods, which would be rejected. Source:
   * pkg/kubelet/kubelet_pods.go GetActivePods.
   */
  othersThan({ metadata: { uid } }: Pod): readonly Pod[] {
    const pods: Pod[] = []
    for (const worker of this.#workers.values())
      if (worker.isAdmitted && !worker.isOver && !worker.isRemoved && worker.identity.uid !== uid) pods.push(worker.pod)
    return pods
  }

  /**
   * Ends the pod for a reason of the node, within the pod's grace period. Resolves when all its containers have ended.
   */
  async end({ metadata: { uid } }: Pod, verdict: Verdict): Promise<void> {
    const worker = this.#workers.get(uid!)
    worker?.fail(verdict)
    await worker?.ended
  }

  async start(): Promise<void> {
    const { cache } = this.#parts
    await Promise.all([this.#informer.whenSynced(), cache.whenSynced()])
    if (this.#stopped) return
    // The oldest pods are admitted first: if not all fit, they keep running. Source: kubelet.go HandlePodAdditions.
    let known: Pod[] | undefined = []
    const added = (pod: Pod) => (this.#isMirror(pod) ? this.#parts.status.observeMirror(pod) : this.#seen(pod))
    this.#off.push(
      this.#informer.on({
        added: (pod) => (known === undefined ? added(pod) : known.push(pod)),
        updated: (pod, old) => this.#changed(pod, old),
        deleted: (pod) => this.#gone(pod),
      }),
      cache.on((uid) => this.#runtimeChanged(uid)),
      // What failed while the runtime was away is retried at once.
      cache.onRelist(() => {
        for (const worker of this.#workers.values()) worker.retry()
      }),
    )
    const first = known
    known = undefined
    this.#held = []
    for (const pod of first.toSorted(byAge)) added(pod)
    const held = this.#held
    this.#held = undefined
    for (const worker of held) worker.wake()
    for (const runtime of cache.all()) this.#runtimeChanged(runtime.identity.uid)
    const { context } = this.#parts
    context.spawn("remains of pods", async () => {
      await this.#orphans.sweep()
      await repairLinks(context, () => cache.all().flatMap(({ containers }) => containers))
    })
  }

  /** Ends the workers and leaves all pods running. */
  stop(): void {
    this.#stopped = true
    this.#orphans.stop()
    for (const off of this.#off) off()
    for (const worker of this.#workers.values()) worker.stop()
  }

  /** Adds or updates a pod that is to run here, from the API or from a file. */
  add(pod: Pod): void {
    const uid = pod.metadata.uid!
    const known = this.#workers.get(uid)
    if (known?.isRemoved === true) return void this.#next.set(uid, pod)
    if (known !== undefined) return known.update(pod)
    const before = isStaticPod(pod) ? this.#endingAs(pod) : undefined
    if (before !== undefined) return void this.#next.set(before.identity.uid, pod)
    const worker = new PodWorker(this.#parts, pod)
    this.#workers.set(uid, worker)
    if (this.#held === undefined) worker.wake()
    else this.#held.push(worker)
  }

  remove(uid: string): void {
    for (const [before, next] of this.#next) if (next.metadata.uid === uid) this.#next.delete(before)
    this.#workers.get(uid)?.remove()
  }

  /**
   * Returns the static pod of the same name that is ending: a changed manifest is another pod, which starts when the
   * one before it has ended and all its ports are free. Source: waitingStaticPodsByFullname in
   * pkg/kubelet/pod_workers.go.
   */
  #endingAs({ metadata: { name, namespace } }: Pod): PodWorker | undefined {
    for (const worker of this.#workers.values()) {
      const { identity, isRemoved, pod } = worker
      if (isRemoved && identity.name === name && identity.namespace === namespace && isStaticPod(pod)) return worker
    }
    return undefined
  }

  #finished(uid: string): void {
    this.#workers.delete(uid)
    const next = this.#next.get(uid)
    this.#next.delete(uid)
    if (next !== undefined) this.add(next)
  }

  #isOurs(pod: Pod): boolean {
    return pod.spec.nodeName === this.#parts.context.config.nodeName && !isMirrorPod(pod)
  }

  #isMirror(pod: Pod): boolean {
    return isMirrorPod(pod) && pod.spec.nodeName === this.#parts.context.config.nodeName
  }

  #seen(pod: Pod): void {
    if (this.#isOurs(pod)) this.add(pod)
  }

  #changed(pod: Pod, old: Pod): void {
    if (pod.metadata.uid !== old.metadata.uid) {
      this.#gone(old)
      this.#seen(pod)
      return
    }
    if (this.#isMirror(pod)) return this.#parts.status.observeMirror(pod)
    if (!this.#isOurs(pod)) return
    const ended = this.#parts.status.observe(pod)
    const worker = this.#workers.get(pod.metadata.uid!)
    if (worker !== undefined && pod.status.phase === "Running" && old.status.phase === "Pending")
      this.#parts.context.metrics.podStarted(this.#parts.context.clock.monotonic() - worker.since)
    // Most changes are status updates by this kubelet.
    if (worker !== undefined && !ended && !concerns(pod, old)) worker.note(pod)
    else this.add(pod)
  }

  #gone(pod: Pod): void {
    const worker = this.#workers.get(pod.metadata.uid!)
    // The last state of a deleted pod has its grace period.
    if (worker !== undefined && pod.metadata.deletionTimestamp !== undefined) worker.note(pod)
    worker?.remove()
  }

  /** Called when a pod changed in the runtime: wakes its worker, or ends a pod that the API does not have. */
  #runtimeChanged(uid: string): void {
    const worker = this.#workers.get(uid)
    if (worker !== undefined) return worker.wake()
    const runtime = this.#parts.cache.get(uid)
    if (
      runtime === undefined ||
      this.#ending.has(uid) ||
      this.#informer.by(podsByNode, this.#parts.context.config.nodeName).some((pod) => identityOf(pod).uid === uid)
    )
      return
    this.#ending.add(uid)
    this.#parts.context.spawn("orphaned pod", () => this.#endOrphan(runtime))
  }

  /** Ends a pod that was deleted while no kubelet ran. */
  async #endOrphan({ identity }: RuntimePod): Promise<void> {
    const { context, cache } = this.#parts
    const { uid } = identity
    try {
      context.log.info("Ending a pod that is not in the API", {
        pod: `${identity.namespace}/${identity.name}`,
        uid,
      })
      for (let runtime = cache.get(uid); runtime !== undefined; runtime = cache.get(uid)) {
        if (isRunning(runtime))
          await killPod(context, cache, {
            pod: undefined,
            runtime,
            graceSeconds: runtime.containers[0]?.notes.graceSeconds ?? ORPHAN_GRACE_SECONDS,
            signal: new AbortController().signal,
          })
        for (const { id } of [...runtime.containers, ...runtime.sandboxes]) {
          if (runtime.sandboxes.some((sandbox) => sandbox.id === id))
            await context.runtime.containers.removePodSandbox(id)
          else await context.runtime.containers.removeContainer(id)
          cache.forget(id)
        }
      }
      await unlinkLogsOfPod(context, identity)
    } catch (err) {
      context.log.warn("Failed to end a pod that is not in the API", { uid, err })
    } finally {
      this.#ending.delete(uid)
    }
    await this.#orphans.sweep()
  }
}

const byAge = (a: Pod, b: Pod): number =>
  Date.parse(a.metadata.creationTimestamp ?? "") - Date.parse(b.metadata.creationTimestamp ?? "") || 0

/** Whether a change is of the spec, the metadata or a condition that another program owns. */
function concerns(pod: Pod, old: Pod): boolean {
  if (pod.spec !== old.spec && !deepEqual(pod.spec, old.spec)) return true
  const { metadata } = pod
  if (
    metadata.deletionTimestamp !== old.metadata.deletionTimestamp ||
    metadata.deletionGracePeriodSeconds !== old.metadata.deletionGracePeriodSeconds
  )
    return true
  if (
    metadata.generation !== old.metadata.generation ||
    !deepEqual(metadata.annotations, old.metadata.annotations) ||
    !deepEqual(metadata.labels, old.metadata.labels)
  )
    return true
  const others = ({ status }: Pod) => (status.conditions ?? []).filter(({ type }) => !OWN_CONDITIONS.has(type))
  return !deepEqual(others(pod), others(old))
}
