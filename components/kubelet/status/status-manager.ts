import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/equal.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { sleep } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"
import { CONFIG_MIRROR, isMirrorPod, isStaticPod } from "../pod/labels.ts"
import { statusPatch } from "./status-patch.ts"

interface Entry {
  /** The pod as the API has it, as far as is known. For a static pod this is its mirror. */
  known: Pod
  wanted: PodStatus
  /** What was compared or written last, and the pod that it was compared with. */
  tried: { readonly wanted: PodStatus; readonly known: Pod } | undefined
  writing: Promise<void> | undefined
  /** Ends the wait for the next try, while there is one. */
  waiting: AbortController | undefined
}

const FIRST_RETRY_MS = 1000
/** A write that fails is tried again at least this often. Source: pkg/kubelet/status/status_manager.go syncPeriod. */
const LAST_RETRY_MS = 10_000

/**
 * Reports the status of pods: one write at a time for a pod, always of the newest status, and only what differs from
 * what the API has. A status that is superseded in the turn in which it was set is never written: a container that
 * starts at once goes from nothing to running. A write that fails, for whatever reason, is tried again until it
 * succeeds or the pod is gone. Source: pkg/kubelet/status/status_manager.go.
 */
export class StatusManager {
  readonly #context: KubeletContext
  readonly #entries = new Map<string, Entry>()
  #stopped = false

  constructor(context: KubeletContext) {
    this.#context = context
  }

  /** The status last set, or the one in the API. */
  status(pod: Pod): PodStatus {
    return this.#entries.get(pod.metadata.uid!)?.wanted ?? pod.status
  }

  /** Has `status` written. */
  set(pod: Pod, status: PodStatus): void {
    const uid = pod.metadata.uid!
    const entry = this.#entries.get(uid)
    if (entry === undefined) {
      // A static pod is shown by its mirror, where there is one.
      const mirror = isStaticPod(pod) ? this.#context.informers.of(Pod).get(keyFrom(pod.metadata)) : undefined
      const fresh: Entry = {
        known: mirror !== undefined && shows(mirror, uid) ? mirror : pod,
        wanted: status,
        tried: undefined,
        writing: undefined,
        waiting: undefined,
      }
      this.#entries.set(uid, fresh)
      this.#pump(uid, fresh)
      return
    }
    entry.wanted = status
    this.#pump(uid, entry)
  }

  /** The API has a mirror of a static pod. */
  observeMirror(mirror: Pod): void {
    this.#observe(mirror.metadata.annotations?.[CONFIG_MIRROR] ?? "", mirror)
  }

  /**
   * The informer has a newer pod. What somebody else wrote over our status is put right, but a pod that somebody else
   * has ended stays so. Source: generateAPIPodStatus, "API phase was terminal".
   * @returns whether somebody else has ended it
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

  /** Resolves when what was set for the pod so far is written, or the pod is forgotten. */
  async written(uid: string): Promise<void> {
    for (let entry = this.#entries.get(uid); entry?.writing !== undefined; entry = this.#entries.get(uid))
      await entry.writing
  }

  /** Nothing more is written for the pod. */
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
      await new Promise<void>((resolve) => this.#context.clock.afterTurn(resolve))
      await this.#writeNewest(uid, entry)
    } finally {
      entry.writing = undefined
      // What was set or seen after the last look.
      const { tried } = entry
      if (this.#entries.get(uid) === entry && (entry.wanted !== tried?.wanted || entry.known !== tried.known))
        this.#pump(uid, entry)
    }
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
        // The informer may have told of a later state already.
        if (isNewer(entry.known, answer)) continue
        entry.known = answer
        const left = statusPatch(answer.status, entry.wanted)
        // Of two equal ones the API's is kept, which others hold too.
        if (left === undefined) entry.wanted = answer.status
        // The server may always make something else of a status. Then it is written again only when it, or the pod, has
        // changed.
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

  /** A pod that is gone, or replaced by another of its name, is no news: the informer tells of it soon. */
  #tellFailure({ known: { metadata } }: Entry, err: unknown, retryMs: number): void {
    if (this.#stopped) return
    const { log } = this.#context
    const level = isNotFound(err) || isConflict(err) || retryMs > FIRST_RETRY_MS ? "debug" : "warn"
    log[level]("Cannot write the status of a pod, will try again", {
      pod: `${metadata.namespace}/${metadata.name}`,
      err,
    })
  }

  /**
   * Takes the newest pod that the informer has for the next try. False when it has none: then there is nothing to write
   * to.
   */
  #refresh(uid: string, entry: Entry): boolean {
    const found = this.#context.informers.of(Pod).get(keyFrom(entry.known.metadata))
    if (found === undefined || (found.metadata.uid !== uid && !shows(found, uid))) return false
    if (isNewer(found, entry.known)) entry.known = found
    return true
  }
}

const TERMINAL: ReadonlySet<string | undefined> = new Set(["Succeeded", "Failed"])

/** Whether the pod is the mirror of that static pod. */
const shows = (pod: Pod, uid: string): boolean => pod.metadata.annotations?.[CONFIG_MIRROR] === uid

/** A static pod that the API does not show yet. */
const isUnmirrored = (pod: Pod): boolean => isStaticPod(pod) && !isMirrorPod(pod)

/** Whether `pod` is a later state of the same object than `known`, or another object of that name. */
const isNewer = (pod: Pod, known: Pod): boolean =>
  pod.metadata.uid !== known.metadata.uid ||
  Number(pod.metadata.resourceVersion) > Number(known.metadata.resourceVersion)
