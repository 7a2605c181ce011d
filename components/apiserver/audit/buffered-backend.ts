import { sleep, type Clock, type Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { AuditBackend } from "./audit-backend.ts"
import type { AuditEvent } from "./audit-event.ts"
import type { AuditMetrics } from "./audit-metrics.ts"

/** Source: apiserver plugin/pkg/audit/buffered/buffered.go BatchConfig. */
export interface BatchOptions {
  /** Most events that wait. */
  readonly bufferSize: number
  /** Most events of one batch. */
  readonly mostEvents: number
  /** The longest time that an event waits for others, in milliseconds. */
  readonly mostWaitMs: number
  /** Most batches a second, after `burst` of them at once; undefined for any number. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number } | undefined
}

/** Events that wait or are under way have no more characters than this, however few they are. */
const MOST_CHARACTERS = 64 * 1024 * 1024
/** Batches that are sent at the same time. Upstream has no limit. */
const MOST_SENDING = 50
/** How long a server that stops waits for the last batches, in milliseconds. */
const CLOSING_MS = 5000

export interface BufferedParts {
  readonly backend: AuditBackend
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: AuditMetrics
}

/**
 * Returns a backend that never makes a request wait: it keeps events and passes them on in batches. Events that find
 * no room are lost, counted, and logged. No timer runs while no event waits.
 */
export function bufferedBackend(parts: BufferedParts, options: BatchOptions): AuditBackend {
  const { backend, clock, log, metrics } = parts
  const { bufferSize, mostEvents, mostWaitMs, throttle } = options
  const waiting: AuditEvent[] = []
  /** Characters of the events that wait and of those that are under way. */
  let characters = 0
  let timer: Timer | undefined
  let dueAt = 0
  let isClosed = false
  let isScheduled = false
  let lost = 0
  const sending = new Set<Promise<unknown>>()
  let tokens = throttle?.burst ?? 0
  let refilledAt = clock.monotonic()

  /** Returns for how many milliseconds the next batch has to wait; takes a token if none. */
  function throttledMs(): number {
    if (throttle === undefined || isClosed) return 0
    const now = clock.monotonic()
    tokens = Math.min(throttle.burst, tokens + ((now - refilledAt) / 1000) * throttle.perSecond)
    refilledAt = now
    if (tokens < 1) return Math.ceil(((1 - tokens) / throttle.perSecond) * 1000)
    tokens--
    return 0
  }

  /** Sends what waits after this time, or when it was to be sent anyway if that is sooner. */
  function later(ms: number): void {
    const due = clock.monotonic() + ms
    if (timer !== undefined && due >= dueAt) return
    timer?.cancel()
    dueAt = due
    timer = clock.setTimeout(() => {
      timer = undefined
      send(true)
    }, ms)
  }

  /** Sends full batches, and with `rest` what is left. */
  function send(rest: boolean): void {
    isScheduled = false
    if (rest) {
      timer?.cancel()
      timer = undefined
    }
    while (waiting.length >= mostEvents || (rest && waiting.length > 0)) {
      if (sending.size >= MOST_SENDING && !isClosed) return // goes on when one of them is done
      const ms = throttledMs()
      if (ms > 0) return later(ms)
      sendOne(waiting.splice(0, mostEvents))
    }
    if (waiting.length > 0) later(mostWaitMs)
  }

  function sendOne(batch: readonly AuditEvent[]): void {
    const size = sizeOf(batch)
    const kept = backend.process(batch)
    if (typeof kept === "boolean") {
      characters -= size
      return
    }
    const done = kept.finally(() => {
      characters -= size
      sending.delete(done)
      if (waiting.length >= mostEvents) send(false)
      else if (waiting.length > 0) later(mostWaitMs)
    })
    sending.add(done)
  }

  function drop(count: number): void {
    metrics.lost("buffered", count)
    // One line for all that are lost until the buffer has room again.
    if (lost === 0) log.error("Lost audit events: the buffer is full", { waiting: waiting.length })
    lost += count
  }

  return {
    process(events) {
      for (const [i, event] of events.entries()) {
        if (waiting.length >= bufferSize || characters + event.json.length > MOST_CHARACTERS) {
          drop(events.length - i)
          break
        }
        if (lost > 0) log.info("Keeps audit events again", { lost })
        lost = 0
        characters += event.json.length
        waiting.push(event)
      }
      if (isClosed) send(true)
      else if (waiting.length >= mostEvents && !isScheduled) {
        isScheduled = true
        clock.afterTurn(() => send(false))
      } else if (waiting.length > 0 && !isScheduled) later(mostWaitMs)
      return true
    },
    async close() {
      isClosed = true
      send(true)
      const ended = new AbortController()
      const tooLong = sleep(clock, CLOSING_MS, ended.signal).catch(() => undefined)
      await Promise.race([Promise.allSettled([...sending]), tooLong])
      ended.abort()
      await backend.close()
    },
  }
}

const sizeOf = (events: readonly AuditEvent[]): number => events.reduce((sum, { json }) => sum + json.length, 0)
