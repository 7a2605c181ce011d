import { isAlreadyExists, isNotFound } from "../apimachinery/errors.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import { Event } from "../api/core/v1/event/event.ts"
import type { Client } from "../client/client.ts"
import { timestamp, type Clock } from "../clock/clock.ts"
import type { Logger } from "../log/log.ts"
import type { EventRecorder } from "./events.ts"
import type { Told } from "./told-event.ts"
import { ToldEvents } from "./told-events.ts"

/** The number of events that may wait to be written. Further ones are dropped, as by upstream's broadcaster. */
const MAX_WAITING = 1000
/** The number of names that are tried for an Event: an API that refuses this many would refuse every name. */
const MOST_NAMES = 100
/** The number of events that are written together: they share a commit, and do not block the event loop for long. */
const TOGETHER = 50

/** An event that waits to be written. */
interface Waiting {
  readonly about: KubeObject
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly fieldPath: string | undefined
  readonly first: string
  /** The message and time of the latest of several equal events. */
  message: string
  last: string
  /** The number of equal events that arrived while this one waited. */
  times: number
}

export interface EventRecorderContext {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Creates a recorder. `component` is the source and reporting component of the events, `host` the node for the kubelet.
 * Equal events raise the count of the existing one, many events that differ only in their message are combined into
 * one, and too many events about one object are dropped.
 */
export function createEventRecorder(
  { client, clock, log }: EventRecorderContext,
  component: string,
  host?: string,
): EventRecorder {
  const events = new ToldEvents()
  const waiting = new Map<Told, Waiting>()
  let writing: Promise<void> | undefined
  let sequence = 0
  let stopped = false

  /** Writes an event; never rejects. */
  async function write(told: Told, event: Waiting): Promise<void> {
    try {
      if (told.suffix === undefined || !(await raised(told, told.suffix, event))) await create(told, event)
    } catch (err) {
      log.debug("Event was not written", { err })
    }
  }

  /** Raises the count of the Event that was written before. Returns false if that Event has expired. */
  async function raised(
    told: Told,
    suffix: string,
    {
      about: {
        metadata: { name = "", namespace = "default" },
      },
      message,
      last,
      times,
    }: Waiting,
  ): Promise<boolean> {
    const count = told.count + times
    // Objects whose Events have no name are not packed (see ToldEvents), so the new count is not lost.
    told.suffix = undefined
    try {
      const body = { count, message, lastTimestamp: last }
      await client.patch(Event, { name: `${name}.${suffix}`, namespace }, { type: "merge", body })
      told.count = count
    } catch (err) {
      if (isNotFound(err)) return false
      told.suffix = suffix
      throw err
    }
    told.suffix = suffix
    return true
  }

  async function create(told: Told, event: Waiting, tries = 1): Promise<void> {
    const { about, type, reason, message, fieldPath, first, last, times } = event
    const { name = "", namespace = "default", uid, resourceVersion } = about.metadata
    const suffix = (BigInt(clock.now()) * 1_000_000n + BigInt(sequence++ % 1_000_000)).toString(16)
    try {
      await client.create(Event, {
        metadata: { name: `${name}.${suffix}`, namespace },
        involvedObject: {
          kind: about.kind,
          apiVersion: about.apiVersion,
          name,
          namespace: about.metadata.namespace,
          uid,
          resourceVersion,
          fieldPath,
        },
        type,
        reason,
        message,
        count: times,
        firstTimestamp: first,
        lastTimestamp: last,
        source: { component, host },
        reportingComponent: component,
        reportingInstance: host ?? "",
      })
    } catch (err) {
      // Another reporter wrote an Event about the object in the same millisecond, with the same name.
      if (isAlreadyExists(err) && tries < MOST_NAMES) return create(told, event, tries + 1)
      throw err
    }
    told.suffix = suffix
    told.count = times
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.size > 0) {
      const together: Promise<void>[] = []
      for (const [told, event] of waiting) {
        waiting.delete(told)
        if (together.push(write(told, event)) === TOGETHER) break
      }
      await Promise.all(together)
    }
    events.rest()
    writing = undefined
  }

  return {
    event(about, type, reason, message, fieldPath) {
      if (stopped || waiting.size >= MAX_WAITING) return
      const uid = about.metadata.uid ?? `${about.kind}/${about.metadata.namespace ?? ""}/${about.metadata.name ?? ""}`
      const tell = events.tell(uid, type, reason, fieldPath, message, clock.now())
      if (tell === undefined) return
      const time = timestamp(clock)
      const equal = waiting.get(tell.told)
      if (equal === undefined)
        waiting.set(tell.told, {
          about,
          type,
          reason,
          fieldPath,
          first: time,
          message: tell.message,
          last: time,
          times: 1,
        })
      else {
        equal.message = tell.message
        equal.last = time
        equal.times++
      }
      writing ??= writeWaiting()
    },
    async stop() {
      stopped = true
      await writing
    },
  }
}
