import { ApiError, isAlreadyExists, isNotFound } from "../apimachinery/errors.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import { Event } from "../api/events/v1/event.ts"
import { exactKey } from "../cache/exact-key.ts"
import { microTimestamp, sleep, type Timer } from "../clock/clock.ts"
import type { EventRecorderContext } from "./event-recorder.ts"

/** How long an event is remembered after it was last reported, and how often its count is written meanwhile. */
const FORGET_MS = 6 * 60_000
const REFRESH_MS = 30 * 60_000
/** The number of events that are remembered; upstream has no limit. */
const MOST_REMEMBERED = 4096
/** The number of events that may wait to be written. Further ones are dropped, as by upstream's broadcaster. */
const MOST_WAITING = 1000
/** The number of events that are written together: they share a commit, and do not block the event loop for long. */
const TOGETHER = 50
const MOST_TRIES = 12
const RETRY_MS = 10_000
/** The longest `reportingInstance`, in characters. */
const LONGEST_INSTANCE = 128

/** The longest note that events.k8s.io takes, in bytes, and what ends one that was longer. */
const LONGEST_NOTE = 1024
const CUT = " ..."

/** What is reported of an object. */
export interface Told {
  /** What was done, or has failed. */
  readonly action: string
  /** Longer ones than 1024 bytes are cut, as kube-scheduler does. */
  readonly note: string
  /** A second object that took part. */
  readonly related?: KubeObject
}

/** Writes Events of events.k8s.io about objects. Equal ones are counted in a series, which has the first one's note. */
export interface SeriesRecorder {
  /** Never throws; an event that cannot be written is tried again while the API cannot take it, and then lost. */
  event(about: KubeObject, type: "Normal" | "Warning", reason: string, told: Told): void
  /** Resolves when all recorded events are written; later ones are dropped. */
  stop(): Promise<void>
}

interface Entry {
  readonly name: string
  readonly namespace: string
  readonly fields: Omit<Event, "metadata" | "apiVersion" | "kind" | "deprecatedSource">
  series: { count: number; lastObservedTime: string } | undefined
  isCreated: boolean
  /** Times of the clock, in milliseconds. */
  lastSeen: number
  lastWritten: number
  tries: number
}

const referenceTo = ({ apiVersion, kind, metadata }: KubeObject) => ({
  kind,
  apiVersion,
  name: metadata.name!,
  ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
  ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
  ...(metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
})

function noteOf(note: string): string {
  const bytes = Buffer.from(note)
  if (bytes.length <= LONGEST_NOTE) return note
  // The decoder waits for the rest of a character that is cut in two, and so leaves it out.
  return new TextDecoder().decode(bytes.subarray(0, LONGEST_NOTE - CUT.length), { stream: true }) + CUT
}

/**
 * Creates a recorder for a component that reports by events.k8s.io, as kube-scheduler does. `controller` is the
 * reporting controller, and `host` the machine it runs on. Source of rules and numbers: client-go tools/events.
 */
export const createSeriesRecorder = (context: EventRecorderContext, controller: string, host: string): SeriesRecorder =>
  new Recorder(context, controller, `${controller}-${host}`.slice(0, LONGEST_INSTANCE))

class Recorder implements SeriesRecorder {
  readonly #context: EventRecorderContext
  readonly #controller: string
  readonly #instance: string
  readonly #entries = new Map<string, Entry>()
  readonly #waiting = new Set<Entry>()
  readonly #stopping = new AbortController()
  #writing: Promise<void> | undefined
  #timer: Timer | undefined
  #sequence = 0

  constructor(context: EventRecorderContext, controller: string, instance: string) {
    this.#context = context
    this.#controller = controller
    this.#instance = instance
  }

  event(about: KubeObject, type: "Normal" | "Warning", reason: string, { action, note, related }: Told): void {
    if (this.#stopping.signal.aborted) return
    const { clock } = this.#context
    const regarding = referenceTo(about)
    const other = related === undefined ? undefined : referenceTo(related)
    const key = exactKey([type, reason, action, ...Object.values(regarding), ...Object.values(other ?? {})])
    const now = clock.now()
    const known = this.#entries.get(key)
    if (known !== undefined) {
      known.lastSeen = now
      const isNew = known.series === undefined
      known.series = { count: (known.series?.count ?? 1) + 1, lastObservedTime: microTimestamp(clock) }
      if (isNew) this.#write(known)
      return
    }
    if (this.#waiting.size >= MOST_WAITING) return
    const unique = BigInt(now) * 1_000_000n + BigInt(this.#sequence++ % 1_000_000)
    const entry: Entry = {
      name: `${regarding.name}.${unique.toString(16)}`,
      namespace: about.metadata.namespace ?? "default",
      fields: {
        eventTime: microTimestamp(clock),
        reportingController: this.#controller,
        reportingInstance: this.#instance,
        action,
        reason,
        regarding,
        ...(other === undefined ? {} : { related: other }),
        note: noteOf(note),
        type,
      },
      series: undefined,
      isCreated: false,
      lastSeen: now,
      lastWritten: now,
      tries: 0,
    }
    this.#entries.set(key, entry)
    if (this.#entries.size > MOST_REMEMBERED) this.#entries.delete(this.#entries.keys().next().value!)
    this.#timer ??= clock.setTimeout(() => this.#look(), FORGET_MS, "upkeep")
    this.#write(entry)
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the component is being stopped"))
    this.#timer?.cancel()
    await this.#writing
  }

  /** Writes the counts of series that are over or long, and forgets what has not been reported again. */
  #look(): void {
    const { clock } = this.#context
    const now = clock.now()
    for (const [key, entry] of this.#entries) {
      const isOver = now - entry.lastSeen >= FORGET_MS
      if (isOver) this.#entries.delete(key)
      if (entry.series !== undefined && (isOver || now - entry.lastWritten >= REFRESH_MS)) this.#write(entry)
    }
    this.#timer = this.#entries.size === 0 ? undefined : clock.setTimeout(() => this.#look(), FORGET_MS, "upkeep")
  }

  #write(entry: Entry): void {
    this.#waiting.add(entry)
    this.#writing ??= this.#writeWaiting()
  }

  async #writeWaiting(): Promise<void> {
    // Those of this turn are written together.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const together = [...this.#waiting].slice(0, TOGETHER)
      for (const entry of together) this.#waiting.delete(entry)
      const isLate = (await Promise.all(together.map((entry) => this.#record(entry)))).includes(true)
      if (!isLate) continue
      if (this.#stopping.signal.aborted) break
      await sleep(this.#context.clock, RETRY_MS, this.#stopping.signal).catch(() => undefined)
    }
    this.#writing = undefined
  }

  /** Writes an event; never rejects. Returns whether it waits for another try. */
  async #record(entry: Entry): Promise<boolean> {
    try {
      if (!entry.isCreated || !(await this.#raised(entry))) await this.#create(entry)
      entry.lastWritten = this.#context.clock.now()
      entry.tries = 0
      return false
    } catch (err) {
      this.#context.log.debug("Event was not written", { err })
      const isLater = !(err instanceof ApiError) || err.code >= 500
      if (!isLater || ++entry.tries >= MOST_TRIES) return false
      this.#waiting.add(entry)
      return true
    }
  }

  /** Writes the count of an Event. Returns false if that Event has expired. */
  async #raised({ name, namespace, series }: Entry): Promise<boolean> {
    try {
      await this.#context.client.patch(Event, { name, namespace }, { type: "strategic", body: { series } })
      return true
    } catch (err) {
      if (isNotFound(err)) return false
      throw err
    }
  }

  async #create(entry: Entry): Promise<void> {
    const { name, namespace, fields, series } = entry
    await this.#context.client
      .create(Event, { metadata: { name, namespace }, ...fields, ...(series === undefined ? {} : { series }) })
      .catch((err: unknown) => {
        if (!isAlreadyExists(err)) throw err
      })
    entry.isCreated = true
  }
}
