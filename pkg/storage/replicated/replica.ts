import type { Clock } from "../../clock/clock.ts"
import { lastIndex, RecentEvents } from "../recent-events.ts"
import { SortedKeys } from "../sorted-keys.ts"
import { StorageError, type StorageEvent } from "../storage.ts"
import type { StoredObject } from "../stored-object.ts"
import type { HistoryFile } from "./history/history-file.ts"
import type { Flights } from "./flights.ts"
import type { SharedChange, SharedEntry } from "./shared-log.ts"
import type { SharedObjects } from "./shared-object.ts"

export interface ReplicaOptions {
  readonly clock: Clock
  readonly objects: SharedObjects
  /** The writes of this process that are in progress. */
  readonly flights: Flights
  /** The largest size of the JSON of the events in memory, in bytes. */
  readonly historyBytes: number
}

/** The number of events that are kept in memory for watches that resume. */
const MOST_EVENTS = 100_000

interface Waiting {
  readonly revision: number
  resolve(): void
}

/**
 * This process's copy of a shared log: all live objects, and the newest events. Changes of all servers arrive in the
 * order of their revisions.
 */
export class Replica {
  readonly live = new SortedKeys<StoredObject>()
  readonly #recent = new RecentEvents()
  readonly #options: ReplicaOptions
  #revision = 0
  /** Events up to this revision are no longer in memory. */
  #forgotten = 0
  /** The size of the value of each event in memory, in bytes, and their sum. */
  #sizes: number[] = []
  #bytes = 0
  #waiting: Waiting[] = []
  /** Keeps the changes after they are no longer in memory. */
  #history: HistoryFile | undefined

  constructor(options: ReplicaOptions) {
    this.#options = options
  }

  get revision(): number {
    return this.#revision
  }
  get compactedRevision(): number {
    return this.#forgotten
  }

  /** Has a file keep all changes from now on. */
  keepIn(history: HistoryFile): void {
    this.#history = history
  }

  /** Adds one page of the first read. */
  load(entries: readonly SharedEntry[]): void {
    for (const entry of entries) this.live.set(this.#read(entry))
  }

  /** Called when the first read is complete. */
  loaded(revision: number): void {
    this.#revision = this.#forgotten = revision
  }

  /** Applies the next changes of the log, which are all changes up to `revision`. Returns their events. */
  advance(changes: readonly SharedChange[], revision: number): readonly StorageEvent[] {
    const events = changes.flatMap((change) => this.#apply(change) ?? [])
    this.#revision = Math.max(this.#revision, revision)
    // Trims only when the limit is exceeded by half, so that the cost for each change is small.
    if (this.#bytes > 1.5 * this.#options.historyBytes || this.#sizes.length > 1.5 * MOST_EVENTS) this.#trim()
    return events
  }

  /**
   * Replaces the state by that of a revision, because the log no longer has the changes up to it. Returns the
   * differences as events; deletions get this revision. No watch can resume from an earlier revision afterwards.
   */
  jump(entries: readonly SharedEntry[], revision: number): readonly StorageEvent[] {
    const present = new Set(entries.map(({ key }) => key))
    const changed = entries.filter((entry) => this.live.get(entry.key)?.revision !== entry.revision)
    const gone = this.live.values().filter(({ key }) => !present.has(key))
    const events = this.advance(
      [
        ...changed.toSorted((a, b) => a.revision - b.revision),
        ...gone.map(({ key }) => ({ key, revision, value: undefined })),
      ],
      revision,
    )
    this.forget(revision)
    // What came between is not known.
    this.#history?.restart(revision)
    return events
  }

  /** Resolves when all changes up to `revision` are in memory and the subscribers have been called. */
  reached(revision: number): Promise<void> {
    if (revision <= this.#revision) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ revision, resolve }))
  }

  /** Resolves the waits for revisions that have arrived. */
  release(): void {
    if (this.#waiting.length === 0) return
    const due = this.#waiting.filter(({ revision }) => revision <= this.#revision)
    if (due.length === 0) return
    this.#waiting = this.#waiting.filter(({ revision }) => revision > this.#revision)
    for (const { resolve } of due) resolve()
  }

  /** Returns the events after `revision`. @throws StorageError compacted */
  since(revision: number): readonly StorageEvent[] {
    if (revision >= this.#forgotten) return this.#recent.after(revision)
    const why = `revisions up to ${this.#forgotten} have been compacted`
    throw new StorageError("compacted", `Cannot read the log after revision ${revision}: ${why}`)
  }

  /**
   * Returns the newest revision that had arrived by `time`; `compactedRevision` if the events of that time are no
   * longer in memory.
   */
  revisionAt(time: number): number {
    const history = this.#history
    const isOlder = (revision: number | undefined) =>
      revision === undefined ? (history?.revisionAt(time) ?? this.#forgotten) : revision
    if (this.#recent.all.length === 0) return history === undefined ? this.#revision : isOlder(undefined)
    return isOlder(this.#recent.revisionAt(time))
  }

  /** Returns the events in memory of the live object with this key, or of the last one if it was deleted. */
  history(key: string): readonly StorageEvent[] {
    const events = this.#recent.all.filter((event) => event.key === key)
    return events.slice(
      Math.max(
        0,
        events.findLastIndex(({ type }) => type === "create"),
      ),
    )
  }

  /** Drops the events up to `revision`. */
  forget(revision: number): void {
    if (revision <= this.#forgotten) return
    const { all } = this.#recent
    this.#keep(all.length - 1 - lastIndex(all.length, (i) => all[i]!.revision <= revision))
    this.#forgotten = Math.min(revision, this.#revision)
  }

  /** Keeps the newest events, up to the limits of their number and size. */
  #trim(): void {
    let [kept, bytes] = [0, 0]
    for (const size of this.#sizes.toReversed()) {
      if (kept === MOST_EVENTS || bytes + size > this.#options.historyBytes) break
      bytes += size
      kept++
    }
    const last = this.#keep(kept)
    if (last !== undefined) this.#forgotten = Math.max(this.#forgotten, last.revision)
  }

  /** Keeps the newest `count` events and returns the last one that was dropped. */
  #keep(count: number): StorageEvent | undefined {
    const dropped = this.#recent.keepNewest(count)
    for (const size of this.#sizes.slice(0, dropped.length)) this.#bytes -= size
    this.#sizes = this.#sizes.slice(dropped.length)
    return dropped.at(-1)
  }

  #apply(change: SharedChange): StorageEvent | undefined {
    const { key, revision, value } = change
    const current = this.live.get(key)
    const { clock, flights, objects } = this.#options
    const own = flights.arrived(change)
    const time = own?.time ?? clock.now()
    const author = own?.author ?? ""
    if (value === undefined) {
      if (current === undefined) return undefined
      const identity = { key, revision, created: current.created, time, seldomRead: false }
      const stored = objects.deleted(identity, current)
      this.live.delete(key)
      return this.#noted({ type: "delete", revision, key, stored, previous: current, time, author }, undefined)
    }
    const identity = { key, revision, created: change.created, time, seldomRead: false }
    const stored = own === undefined ? objects.read(identity, value) : objects.own(identity, own.object)
    this.live.set(stored)
    const type = current === undefined ? "create" : "update"
    return this.#noted({ type, revision, key, stored, previous: current, time, author }, value)
  }

  #noted(event: StorageEvent, value: Uint8Array | undefined): StorageEvent {
    const bytes = value?.length ?? 0
    this.#history?.note(event, value)
    this.#recent.push(event)
    this.#sizes.push(bytes)
    this.#bytes += bytes
    return event
  }

  #read({ key, revision, created, value }: SharedEntry): StoredObject {
    const identity = { key, revision, created, time: this.#options.clock.now(), seldomRead: false }
    return this.#options.objects.read(identity, value)
  }
}
