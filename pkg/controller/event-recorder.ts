import { isNotFound } from "../apimachinery/errors.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import { Event } from "../api/core/v1/event.ts"
import type { Client } from "../client/client.ts"
import { timestamp, type Clock } from "../clock/clock.ts"
import type { Logger } from "../log/log.ts"
import type { EventRecorder } from "./events.ts"

/** Limits of one reporter. Source: client-go tools/record/events_cache.go. */
const MAX_SIMILAR = 10
const SIMILAR_WINDOW_MS = 600_000
const SPAM_BURST = 25
const SPAM_REFILL_MS = 300_000
const CACHE_SIZE = 4096
/** Events waiting to be written; upstream's broadcaster drops those beyond its queue too. */
const MAX_WAITING = 1000

interface Written { name: string; namespace: string; count: number }
/** A list, not a set: there are few, and very many entries. */
interface Similar { messages: string[]; since: number }
interface Bucket { tokens: number; at: number }

export interface EventRecorderContext {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
}

/**
 * `component` becomes the events' source and reporting component; `host` the node, for the kubelet. Equal events raise the count of the one
 * there is; many that differ only in their message are folded into one; a flood about one object is cut off.
 */
export function createEventRecorder({ client, clock, log }: EventRecorderContext, component: string, host?: string): EventRecorder {
  const written = new Map<string, Written>()
  const similar = new Map<string, Similar>()
  const buckets = new Map<string, Bucket>()
  const waiting: (() => Promise<void>)[] = []
  let writing: Promise<void> | undefined
  let sequence = 0
  let stopped = false

  /** Takes one token from the bucket of an object. */
  function allowed(uid: string): boolean {
    const now = clock.now()
    const bucket = buckets.get(uid) ?? { tokens: SPAM_BURST, at: now }
    const tokens = Math.min(SPAM_BURST, bucket.tokens + (now - bucket.at) / SPAM_REFILL_MS)
    remember(buckets, uid, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now })
    return tokens >= 1
  }

  /** The message, or the one that stands for all like it. */
  function folded(group: string, message: string): { readonly key: string; readonly message: string } {
    const now = clock.now()
    const known = similar.get(group)
    const entry = known !== undefined && now - known.since < SIMILAR_WINDOW_MS ? known : { messages: [], since: now }
    if (entry.messages.length < MAX_SIMILAR && !entry.messages.includes(message)) entry.messages.push(message)
    remember(similar, group, entry)
    return entry.messages.length < MAX_SIMILAR ? { key: `${group}|${message}`, message } : { key: group, message: `(combined from similar events): ${message}` }
  }

  async function write(key: string, event: Parameters<typeof create>[0]): Promise<void> {
    const before = written.get(key)
    if (before === undefined) return create(event, key)
    const count = before.count + 1
    try {
      await client.patch(Event, before, { type: "merge", body: { count, message: event.message, lastTimestamp: event.time } })
      before.count = count
    } catch (err) {
      if (!isNotFound(err)) throw err
      written.delete(key) // it has ended; begin anew
      await create(event, key)
    }
  }

  async function create({ about, type, reason, message, fieldPath, time }: { about: KubeObject; type: "Normal" | "Warning"; reason: string; message: string; fieldPath: string | undefined; time: string }, key: string): Promise<void> {
    const { name = "", namespace = "default", uid, resourceVersion } = about.metadata
    const eventName = `${name}.${(BigInt(clock.now()) * 1_000_000n + BigInt(sequence++ % 1_000_000)).toString(16)}`
    await client.create(Event, {
      metadata: { name: eventName, namespace },
      involvedObject: { kind: about.kind, apiVersion: about.apiVersion, name, namespace: about.metadata.namespace, uid, resourceVersion, fieldPath },
      type, reason, message, count: 1, firstTimestamp: time, lastTimestamp: time,
      source: { component, host }, reportingComponent: component, reportingInstance: host ?? "",
    })
    remember(written, key, { name: eventName, namespace, count: 1 })
  }

  async function writeWaiting(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        await next()
      } catch (err) {
        log.debug("Event was not written", { err })
      }
    }
    writing = undefined
  }

  return {
    event(about, type, reason, message, fieldPath) {
      if (stopped || waiting.length >= MAX_WAITING) return
      const uid = about.metadata.uid ?? `${about.kind}/${about.metadata.namespace ?? ""}/${about.metadata.name ?? ""}`
      if (!allowed(uid)) return
      const entry = folded([uid, type, reason, fieldPath ?? ""].join("|"), message)
      const time = timestamp(clock)
      waiting.push(() => write(entry.key, { about, type, reason, message: entry.message, fieldPath, time }))
      writing ??= writeWaiting()
    },
    async stop() {
      stopped = true
      await writing
    },
  }
}

/** Sets an entry of a bounded map; the least recently set one goes when it is full. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > CACHE_SIZE) map.delete(map.keys().next().value!)
}
