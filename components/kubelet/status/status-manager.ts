import { isConflict, isNotFound, isReason } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/equal.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import type { PodCondition, PodStatus } from "../../../pkg/api/core/v1/podstatus.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { sleep } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"
import { CONFIG_MIRROR, isMirrorPod, isStaticPod } from "../labels.ts"
import { OWN_CONDITIONS } from "./conditions.ts"

interface Entry {
  /** The pod as the API has it, as far as is known. */
  known: Pod
  wanted: PodStatus
  /** The one that was compared or written last. */
  tried: PodStatus | undefined
  writing: Promise<void> | undefined
}

const RETRY_MS = 1000

/**
 * Reports the status of pods: one write at a time for a pod, always of the newest status, and only what differs from what the API has. A status that is
 * superseded in the turn in which it was set is never written: a container that starts at once goes from nothing to running.
 * Source: pkg/kubelet/status/status_manager.go.
 */
export class StatusManager {
  readonly #context: KubeletContext
  readonly #entries = new Map<string, Entry>()
  readonly #stopping = new AbortController()

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
        known: mirror?.metadata.annotations?.[CONFIG_MIRROR] === uid ? mirror : pod,
        wanted: status,
        tried: undefined,
        writing: undefined,
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
    const uid = mirror.metadata.annotations?.[CONFIG_MIRROR] ?? ""
    const entry = this.#entries.get(uid)
    if (entry === undefined || entry.writing !== undefined) return
    if (
      entry.known.metadata.uid === mirror.metadata.uid &&
      Number(mirror.metadata.resourceVersion) <= Number(entry.known.metadata.resourceVersion)
    )
      return
    entry.known = mirror
    this.#pump(uid, entry)
  }

  /** The informer has a newer pod; what somebody else wrote over ours is put right. */
  observe(pod: Pod): void {
    const entry = this.#entries.get(pod.metadata.uid!)
    if (entry === undefined || entry.writing !== undefined) return
    if (Number(pod.metadata.resourceVersion) > Number(entry.known.metadata.resourceVersion)) entry.known = pod
    this.#pump(pod.metadata.uid!, entry)
  }

  /** Resolves when what was set for the pod so far is written. */
  async written(uid: string): Promise<void> {
    for (let entry = this.#entries.get(uid); entry?.writing !== undefined; entry = this.#entries.get(uid))
      await entry.writing
  }

  forget(uid: string): void {
    this.#entries.delete(uid)
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the kubelet is being stopped"))
    await Promise.allSettled([...this.#entries.values()].flatMap(({ writing }) => writing ?? []))
  }

  #pump(uid: string, entry: Entry): void {
    if (
      entry.writing !== undefined ||
      entry.known.status === entry.wanted ||
      this.#stopping.signal.aborted ||
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
      // What was set after the last look; it differs from what was refused or cannot be written.
      if (this.#entries.get(uid) === entry && entry.wanted !== entry.tried) this.#pump(uid, entry)
    }
  }

  async #writeNewest(uid: string, entry: Entry): Promise<void> {
    const { client, log, clock } = this.#context
    const { signal } = this.#stopping
    while (!signal.aborted && this.#entries.get(uid) === entry) {
      entry.tried = entry.wanted
      const body = statusPatch(entry.known.status, entry.wanted)
      if (body === undefined) return
      try {
        entry.known = await client.patch(
          Pod,
          entry.known.metadata,
          { type: "strategic", body: { metadata: { uid: entry.known.metadata.uid }, status: body } },
          { subresource: "status" },
        )
        const left = statusPatch(entry.known.status, entry.wanted)
        // Of two equal ones the API's is kept, which others hold too.
        if (left === undefined) entry.wanted = entry.known.status
        // What the server made of it may differ for ever; only another status is written next.
        else if (deepEqual(body, left)) return
      } catch (err) {
        if (isNotFound(err) || isConflict(err)) return // it is gone, or another one has its name
        log.warn("Cannot write the status of a pod", {
          pod: `${entry.known.metadata.namespace}/${entry.known.metadata.name}`,
          err,
        })
        if (isReason(err, "Invalid", "BadRequest", "Forbidden")) return
        await sleep(clock, RETRY_MS, signal).catch(() => undefined)
      }
    }
  }
}

/** A static pod that the API does not show yet. */
const isUnmirrored = (pod: Pod): boolean => isStaticPod(pod) && !isMirrorPod(pod)

/** What a strategic merge patch has to say to turn one status into the other, or nothing. Conditions of others are left alone. */
export function statusPatch(from: PodStatus, to: PodStatus): Record<string, unknown> | undefined {
  if (from === to) return undefined
  const patch: Record<string, unknown> = {}
  for (const key of OWNED) {
    const after = to[key]
    if (deepEqual(from[key], after)) continue
    if (after === undefined) patch[key] = null
    // These lists are merged by key, so that an old address would stay.
    else
      patch[key] =
        (key === "podIPs" || key === "hostIPs") && Array.isArray(after) ? [{ $patch: "replace" }, ...after] : after
  }
  const conditions = conditionsPatch(from.conditions ?? [], to.conditions)
  if (conditions.length > 0) patch["conditions"] = conditions
  return Object.keys(patch).length === 0 ? undefined : patch
}

function conditionsPatch(from: readonly PodCondition[], to: readonly PodCondition[] | undefined): readonly object[] {
  const patch: object[] = []
  for (const condition of to ?? []) {
    if (!OWN_CONDITIONS.has(condition.type) && condition.type !== "DisruptionTarget") continue
    const old = from.find(({ type }) => type === condition.type)
    if (deepEqual(condition, old)) continue
    // Items are merged field by field, so that an old reason would stay.
    const gone = (["reason", "message", "lastProbeTime"] as const).filter(
      (key) => old?.[key] !== undefined && condition[key] === undefined,
    )
    patch.push(gone.length === 0 ? condition : { ...condition, ...Object.fromEntries(gone.map((key) => [key, null])) })
  }
  for (const { type } of from)
    if (OWN_CONDITIONS.has(type) && to?.some((condition) => condition.type === type) === false)
      patch.push({ type, $patch: "delete" })
  return patch
}

/** Fields that the kubelet writes, without the conditions; the others belong to the scheduler and to controllers. */
const OWNED = [
  "observedGeneration",
  "phase",
  "reason",
  "message",
  "hostIP",
  "hostIPs",
  "podIP",
  "podIPs",
  "startTime",
  "qosClass",
  "initContainerStatuses",
  "containerStatuses",
  "ephemeralContainerStatuses",
] as const
