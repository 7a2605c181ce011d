import { ApiError, isAlreadyExists, isNotFound } from "../apimachinery/errors.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import { Event } from "../api/core/v1/event/event.ts"
import type { Client } from "../client/client.ts"
import { sleep, timestamp, type Clock } from "../clock/clock.ts"
import type { Logger } from "../log/log.ts"
import type { EventRecorder } from "./events.ts"
import { EventCorrelator, type WrittenEvent } from "./event-correlator.ts"

/** The number of events that may wait to be written. Further ones are dropped, as by upstream's broadcaster. */
const MAX_WAITING = 1000
/** The number of names that are tried for an Event: an API that refuses this many would refuse every name. */
const MOST_NAMES = 100
/** The number of events that are written together: they share a commit, and do not block the event loop for long. */
const TOGETHER = 50

/**
 * How often an event is tried that the API could not take, and how long the first and the longest wait before that are.
 * Differs from upstream, which does not try again what a server has answered: this server answers, and refuses writes,
 * while its disk is full, which events report.
 */
const MOST_TRIES = 12
const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 30_000

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
  /** How often it could not be written. */
  failures: number
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
  const events = new EventCorrelator()
  /** By the key that the correlator gives equal events. */
  const waiting = new Map<number, Waiting>()
  let writing: Promise<void> | undefined
  let sequence = 0
  const stopping = new AbortController()

  /** Writes an event; never rejects. Returns whether it waits for another try. */
  async function write(key: number, event: Waiting): Promise<boolean> {
    try {
      const written = events.written(key)
      if (written === undefined || !(await raised(key, written, event))) await create(key, event)
      return false
    } catch (err) {
      log.debug("Event was not written", { err })
      return isLater(err) && putBack(key, { ...event, failures: event.failures + 1 })
    }
  }

  /** An equal event that came meanwhile counts it. */
  function putBack(key: number, event: Waiting): boolean {
    if (event.failures >= MOST_TRIES || waiting.size >= MAX_WAITING) return false
    const newer = waiting.get(key)
    waiting.set(
      key,
      newer === undefined
        ? event
        : { ...newer, first: event.first, times: newer.times + event.times, failures: event.failures },
    )
    return true
  }

  /** Raises the count of the Event that was written before. Returns false if that Event has expired. */
  async function raised(
    key: number,
    written: WrittenEvent,
    {
      about: {
        metadata: { name = "", namespace = "default" },
      },
      message,
      last,
      times,
    }: Waiting,
  ): Promise<boolean> {
    const count = written.count + times
    try {
      const body = { count, message, lastTimestamp: last }
      await client.patch(Event, { name: `${name}.${suffixOf(written)}`, namespace }, { type: "strategic", body })
    } catch (err) {
      if (isNotFound(err)) return false
      throw err
    }
    events.note(key, { ...written, count })
    return true
  }

  async function create(key: number, event: Waiting, tries = 1): Promise<void> {
    const { about, type, reason, message, fieldPath, first, last, times } = event
    const { name = "", namespace = "default", uid, resourceVersion } = about.metadata
    const written = { time: clock.now(), sequence: sequence++ % 1_000_000, count: times }
    try {
      await client.create(Event, {
        metadata: { name: `${name}.${suffixOf(written)}`, namespace },
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
      if (isAlreadyExists(err) && tries < MOST_NAMES) return create(key, event, tries + 1)
      throw err
    }
    events.note(key, written)
  }

  async function writeWaiting(): Promise<void> {
    let waitMs = FIRST_RETRY_MS
    while (waiting.size > 0) {
      const together: Promise<boolean>[] = []
      for (const [key, event] of waiting) {
        waiting.delete(key)
        if (together.push(write(key, event)) === TOGETHER) break
      }
      if (!(await Promise.all(together)).includes(true)) waitMs = FIRST_RETRY_MS
      else if (stopping.signal.aborted) break
      else {
        await sleep(clock, waitMs, stopping.signal).catch(() => undefined)
        waitMs = Math.min(2 * waitMs, LONGEST_RETRY_MS)
      }
    }
    writing = undefined
  }

  return {
    event(about, type, reason, message, fieldPath) {
      if (stopping.signal.aborted || waiting.size >= MAX_WAITING) return
      const uid = about.metadata.uid ?? `${about.kind}/${about.metadata.namespace ?? ""}/${about.metadata.name ?? ""}`
      const result = events.correlate({ uid, type, reason, fieldPath, message }, clock.now())
      if (result === undefined) return
      const time = timestamp(clock)
      const equal = waiting.get(result.key)
      if (equal === undefined)
        waiting.set(result.key, {
          about,
          type,
          reason,
          fieldPath,
          first: time,
          message: result.message,
          last: time,
          times: 1,
          failures: 0,
        })
      else {
        equal.message = result.message
        equal.last = time
        equal.times++
      }
      writing ??= writeWaiting()
    },
    async stop() {
      stopping.abort(new Error("the component is being stopped"))
      await writing
    },
  }
}

/** Returns what follows the object's name in the name of an Event: its time in nanoseconds, as upstream's. */
const suffixOf = ({ time, sequence }: WrittenEvent): string =>
  (BigInt(time) * 1_000_000n + BigInt(sequence)).toString(16)

/** Whether the API could not take an event now, and may take it later. */
const isLater = (err: unknown): boolean => !(err instanceof ApiError) || err.code >= 500
