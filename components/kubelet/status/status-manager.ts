import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { sleep } from "../../../pkg/clock/clock.ts"
import { endingWith, type Cause } from "../../../pkg/tracing/tracing.ts"
import type { KubeletContext } from "../context.ts"
import { CONFIG_MIRROR, isMirrorPod, isStaticPod } from "../model/labels.ts"
import { statusPatch } from "./status-patch.ts"

interface Entry {
  /** The newest known pod of the API; for a static pod its mirror pod. */
  known: Pod
  wanted: PodStatus
  /** The status that was compared or written last, and the pod with which it was compared. */
  tried: { readonly wanted: PodStatus; readonly known: Pod } | undefined
  writing: Promise<void> | undefined
  /** Aborts the delay before the next attempt; undefined when there is none. */
  waiting: AbortController | undefined
  /** What set the status last, as traces show it. */
  cause: Cause | undefined
}

const FIRST_RETRY_MS = 1000
/** The longest delay before a failed write is tried again. Source: pkg/kubelet/status/status_manager.go syncPeriod. */
const LAST_RETRY_MS = 10_000

/**
 * Writes the status of pods to the API: one write at a time per pod, always with the newest status, and only with the
 * fields that differ from the API's. A status that is replaced in the turn in which it was set is never written, and
 * under a virtual clock one that is replaced at the same instant: a container that starts at once is only reported as
 * running. A failed write is tried again until it succeeds or the pod
 * is deleted. Source: pkg/kubelet/status/status_manager.go.
 */
export class StatusManager {
  readonly #context: KubeletContext
  readonly #entries = new Map<string, Entry>()
  #stopped = false

  constructor(context: KubeletContext) {
    this.#context = context
  }

  /** Returns the status that was set last; that of the API when none was set. */
  status(pod: Pod): PodStatus {
    return this.#entries.get(pod.metadata.uid!)?.wanted ?? pod.status
  }

  /** Sets the status to write. */
  set(pod: Pod, status: PodStatus): void {
    const uid = pod.metadata.uid!
    const entry = this.#entries.get(uid)
    this.#context.metrics.containers.reported(entry?.wanted ?? pod.status, status)
    if (entry === undefined) {
      // A static pod is shown in the API by its mirror pod, if there is one.
      const mirror = isStaticPod(pod) ? this.#context.informers.of(Pod).get(keyFrom(pod.metadata)) : undefined
      const fresh: Entry = {
        known: mirror !== undefined && shows(mirror, uid) ? mirror : pod,
        wanted: status,
        tried: undefined,
        writing: undefined,
        waiting: undefined,
        cause: this.#context.tracing?.cause(),
      }
      this.#entries.set(uid, fresh)
      this.#pump(uid, fresh)
      return
    }
    entry.wanted = status
    entry.cause = this.#context.tracing?.cause() ?? entry.cause
    this.#pump(uid, entry)
  }

  /** Called when the informer has a new state of a mirror pod. */
  observeMirror(mirror: Pod): void {
    this.#observe(mirror.metadata.annotations?.[CONFIG_MIRROR] ?? "", mirror)
  }

  /**
   * Called when the informer has a new state of a pod. Changes of others to the status are overwritten, but a pod that
   * another client has ended stays ended. Source: generateAPIPodStatus, "API phase was terminal".
   * @returns whether another client has ended the pod
   */
  observe(pod: Pod): boolean {
    const uid = pod.metadata.uid!
    const entry = this.#entries.get(uid)
    const ended = entry !== undefined && isPodTerminal(pod) && !TERMINAL.has(entry.wanted.phase)
    if (ended) {
      const { phase, reason, message } = pod.status
      entry.wanted = { ...entry.wanted, phase, reason, message }
    }
    this.#observe(uid, pod)
    return ended
  }

  #observe(uid: string, pod: Pod): void {
    const entry = this.#entries.get(uid)
    if (entry === undefined) return
    if (isNewer(pod, entry.known)) entry.known = pod
    this.#pump(uid, entry)
  }

  /** Resolves when the status set so far was written, or the pod was forgotten. */
  async written(uid: string): Promise<void> {
    for (let entry = this.#entries.get(uid); entry?.writing !== undefined; entry = this.#entries.get(uid))
      await entry.writing
  }

  /** Stops writing the status of a pod. */
  forget(uid: string): void {
    const entry = this.#entries.get(uid)
    this.#entries.delete(uid)
    entry?.waiting?.abort()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const { waiting } of this.#entries.values()) waiting?.abort()
    await Promise.allSettled([...this.#entries.values()].flatMap(({ writing }) => writing ?? []))
  }

  #pump(uid: string, entry: Entry): void {
    if (
      entry.writing !== undefined ||
      entry.known.status === entry.wanted ||
      this.#stopped ||
      isUnmirrored(entry.known)
    )
      return
    entry.writing = this.#write(uid, entry)
  }

  async #write(uid: string, entry: Entry): Promise<void> {
    try {
      await new Promise<void>((resolve) => this.#context.clock.atRest(resolve))
      await this.#inSpan(uid, entry)
    } finally {
      entry.writing = undefined
      // The status was set, or the pod changed, after the last comparison.
      const { tried } = entry
      if (this.#entries.get(uid) === entry && (entry.wanted !== tried?.wanted || entry.known !== tried.known))
        this.#pump(uid, entry)
    }
  }

  /** Writes the status as part of the trace of what set it, which may have ended by now. */
  #inSpan(uid: string, entry: Entry): Promise<void> {
    const { tracing } = this.#context
    if (tracing === undefined) return this.#writeNewest(uid, entry)
    const causes = entry.cause === undefined ? [] : [entry.cause]
    entry.cause = undefined
    const { namespace, name } = entry.known.metadata
    const attributes = { "k8s.pod.uid": uid, "k8s.namespace.name": namespace, "k8s.pod.name": name }
    return endingWith(tracing, tracing.root("Write pod status", { causes, attributes }), () =>
      this.#writeNewest(uid, entry),
    )
  }

  async #writeNewest(uid: string, entry: Entry): Promise<void> {
    let retryMs = FIRST_RETRY_MS
    while (!this.#stopped && this.#entries.get(uid) === entry) {
      entry.tried = { wanted: entry.wanted, known: entry.known }
      const body = statusPatch(entry.known.status, entry.wanted)
      if (body === undefined) return
      try {
        const answer = await this.#context.client.patch(
          Pod,
          entry.known.metadata,
          { type: "strategic", body: { metadata: { uid: entry.known.metadata.uid }, status: body } },
          { subresource: "status" },
        )
        retryMs = FIRST_RETRY_MS
        // The informer may have delivered a later state already.
        if (isNewer(entry.known, answer)) continue
        entry.known = answer
        const left = statusPatch(answer.status, entry.wanted)
        // Of two equal statuses that of the API is kept, since the informer's cache shares it.
        if (left === undefined) entry.wanted = answer.status
        // The API server may store a different status each time. Then the status is written again only after it, or the
        // pod, has changed.
        else if (!deepEqual(body, left)) continue
        entry.tried = { wanted: entry.wanted, known: answer }
        return
      } catch (err) {
        this.#tellFailure(entry, err, retryMs)
        await this.#wait(entry, retryMs)
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
        if (!this.#refresh(uid, entry)) return
      }
    }
  }

  async #wait(entry: Entry, ms: number): Promise<void> {
    if (this.#stopped) return
    entry.waiting = new AbortController()
    await sleep(this.#context.clock, ms, entry.waiting.signal).catch(() => undefined)
    entry.waiting = undefined
  }

  /**
   * Logs a failed write: a warning at the first failure, debug for later ones. A pod that was deleted or replaced is
   * not worth a warning either, since the informer will deliver that soon.
   */
  #tellFailure({ known: { metadata } }: Entry, err: unknown, retryMs: number): void {
    if (this.#stopped) return
    const { log } = this.#context
    const level = isNotFound(err) || isConflict(err) || retryMs > FIRST_RETRY_MS ? "debug" : "warn"
    log[level]("Failed to write the status of a pod; will retry", {
      pod: `${metadata.namespace}/${metadata.name}`,
      err,
    })
  }

  /**
   * Takes the newest pod of the informer for the next attempt. Returns false when it has none, so that there is nothing
   * to write to.
   */
  #refresh(uid: string, entry: Entry): boolean {
    const found = this.#context.informers.of(Pod).get(keyFrom(entry.known.metadata))
    if (found === undefined || (found.metadata.uid !== uid && !shows(found, uid))) return false
    if (isNewer(found, entry.known)) entry.known = found
    return true
  }
}

const TERMINAL: ReadonlySet<string | undefined> = new Set(["Succeeded", "Failed"])

/** Whether the pod is the mirror pod of the static pod with this uid. */
const shows = (pod: Pod, uid: string): boolean => pod.metadata.annotations?.[CONFIG_MIRROR] === uid

/** Whether the pod is a static pod without a mirror pod in the API yet. */
const isUnmirrored = (pod: Pod): boolean => isStaticPod(pod) && !isMirrorPod(pod)

/** Whether `pod` is a later state of the same object as `known`, or another object with that name. */
const isNewer = (pod: Pod, known: Pod): boolean =>
  pod.metadata.uid !== known.metadata.uid ||
  Number(pod.metadata.resourceVersion) > Number(known.metadata.resourceVersion)
