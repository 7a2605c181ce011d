/**
 * The base class of stores: checking and numbering writes, group commit, the live objects, the recent events, and
 * notifying subscribers. A store on a medium adds `persist` and the reading of older events.
 *
 * Invariants:
 *
 *  1. `stage` has no await: check, numbering and joining the batch are one step, so no two writes interleave.
 *  2. Between `stage` and the commit only later writes see a write (in `#pending`): readers and watchers see only
 *     committed writes.
 *  3. `#flush` has no await either. Subscribers are notified of a commit before the promises of its writes resolve, so
 *     code that awaits a write finds it in every cache.
 *  4. After a failed commit `#pending` is empty and the next revision follows the last commit again.
 *  5. If the memory cannot follow a commit that is on the medium, the store takes no further write and throws a
 *     FatalError, which ends the process: the next start reads the medium.
 */
import type { KubeObject } from "../apimachinery/resource.ts"
import type { Clock, Timer } from "../clock/clock.ts"
import { FatalError } from "../failure/fatal-error.ts"
import { errorMessage } from "../errors/error-message.ts"
import { checkWrite } from "./check-write.ts"
import { checkKept, selectedEvents } from "./log-filter.ts"
import { RecentEvents } from "./recent-events.ts"
import type { LiveObjects } from "./live-objects.ts"
import type { Page } from "./page.ts"
import { StoredObject } from "./stored-object.ts"
import { type StorageListener, Subscribers } from "./subscribers.ts"
import {
  StorageError,
  type LogFilter,
  type Storage,
  type StorageEvent,
  type StoreImage,
  type Stored,
  type Write,
} from "./storage.ts"

export interface LogStorageOptions {
  readonly clock: Clock
  /** Freezes every object deeply, so that changing a shared one throws. For tests. */
  readonly frozen?: boolean
  /** Called with the reason when commits begin to fail, once for each reason; with undefined when they work again. */
  readonly onProblem?: ((problem: StorageError | undefined) => void) | undefined
  /** Called with the error of a subscriber. Without it the error is thrown again. */
  readonly onListenerError?: ((err: unknown) => void) | undefined
}

/** A write that has a revision and waits for its commit. */
export interface StagedWrite {
  readonly event: StorageEvent & { readonly stored: StoredObject }
  readonly highChurn: boolean
  /** The object's value as it is written to the medium; empty if there is no medium. */
  readonly value: Uint8Array
}

/** Interval of the trial writes while commits fail, in milliseconds. */
const TRIAL_INTERVAL_MS = 5000

const NO_VALUE = new Uint8Array()

interface Waiting {
  readonly writes: readonly StagedWrite[]
  committed(): void
  reject(err: unknown): void
}

export abstract class LogStorage implements Storage {
  protected readonly clock: Clock
  protected readonly frozen: boolean
  protected abstract readonly live: LiveObjects
  protected readonly recent = new RecentEvents()
  /**
   * How many turns of the event loop a commit may wait while each turn brings another write: if one commit costs as
   * much as many writes, the writes share it. A single write never waits.
   */
  protected readonly turnsToGather: number = 0
  /** Whether `persist` needs the JSON of every object. */
  protected readonly makesJson: boolean = false
  #revision = 0
  #compacted = 0
  #next = 1
  #batch: Waiting[] = []
  #pending = new Map<string, Stored | undefined>()
  readonly #subscribers = new Subscribers()
  #closed = false
  readonly #onProblem: LogStorageOptions["onProblem"]
  readonly #onListenerError: LogStorageOptions["onListenerError"]
  #problem: StorageError | undefined
  /** Set once the memory may differ from the medium. From then on nothing is written. */
  #broken: StorageError | undefined
  #trial: Timer | undefined

  constructor({ clock, frozen = false, onProblem, onListenerError }: LogStorageOptions) {
    this.clock = clock
    this.frozen = frozen
    this.#onProblem = onProblem
    this.#onListenerError = onListenerError
  }

  get revision(): number {
    return this.#revision
  }
  get problem(): StorageError | undefined {
    return this.#problem
  }
  get compactedRevision(): number {
    return this.#compacted
  }

  get(key: string): Stored | undefined {
    return this.live.get(key)
  }
  list(prefix: string): readonly Stored[] {
    return this.live.startingWith(prefix)
  }
  page(prefix: string, after: string | undefined, limit: number): Page<Stored> {
    return this.live.page(prefix, after, limit)
  }

  write(write: Write): Promise<Stored> {
    return new Promise((resolve, reject) => {
      this.#refuseWhenClosed()
      const staged = this.#stage(write)
      this.#join({ writes: [staged], committed: () => resolve(staged.event.stored), reject })
    })
  }
  writeAll(writes: readonly Write[]): Promise<readonly Stored[]> {
    if (writes.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      this.#refuseWhenClosed()
      const staged = this.#stageAll(writes)
      this.#join({ writes: staged, committed: () => resolve(staged.map(({ event }) => event.stored)), reject })
    })
  }

  since(revision: number, prefix = ""): readonly StorageEvent[] {
    checkKept(revision, this.#compacted)
    const isRecent = revision >= (this.recent.completeAfter ?? this.#revision)
    const events = isRecent ? this.recent.after(revision) : this.eventsAfter(revision, prefix)
    return prefix === "" ? events : events.filter((event) => event.key.startsWith(prefix))
  }

  between(after: number, upTo: number, filter: LogFilter = {}): readonly StorageEvent[] {
    checkKept(after, this.#compacted)
    const isRecent = after >= (this.recent.completeAfter ?? this.#revision)
    if (!isRecent) return this.loggedBetween(after, Math.min(upTo, this.#revision), filter)
    return selectedEvents(this.recent.after(after), upTo, filter)
  }

  revisionAt(time: number): number {
    return this.recent.revisionAt(time) ?? this.loggedRevisionAt(time, this.recent.completeAfter ?? this.#revision)
  }

  subscribe(listener: StorageListener, prefixes: readonly string[] = []): () => void {
    return this.#subscribers.add(listener, prefixes)
  }

  image(): StoreImage {
    return { revision: this.#revision, objects: this.live.values(), valueOf: ({ json }) => json, end() {} }
  }

  compact(revision: number): void {
    const upTo = Math.min(revision, this.#revision)
    if (upTo <= this.#compacted) return
    this.#compacted = upTo
    this.dropUpTo(upTo)
  }

  close(): void {
    if (this.#closed) return
    this.commitNow()
    this.#closed = true
    this.#trial?.cancel()
    this.#subscribers.clear()
    this.closeMedium()
  }

  abstract history(key: string): readonly StorageEvent[]
  /** Returns the value of an object for `persist`. When it throws StorageError, the write is refused. */
  protected valueOf(_stored: StoredObject): Uint8Array {
    return NO_VALUE
  }
  /** Makes the writes durable, all or none. Throws StorageError when it cannot. */
  protected abstract persist(writes: readonly StagedWrite[]): void
  /** Called after each commit, once `live`, `recent` and `revision` include it. */
  protected afterCommit(_writes: readonly StagedWrite[]): void {}
  /**
   * Makes a trial write that changes no object. Throws StorageError when commits still fail.
   */
  protected abstract tryMedium(): void
  /** Reads the events after `revision` from the medium; called when `recent` does not have all of them. */
  protected abstract eventsAfter(revision: number, prefix: string): readonly StorageEvent[]
  /** Reads what `between` returns from the medium; called when `recent` does not have all of the range. */
  protected abstract loggedBetween(after: number, upTo: number, filter: LogFilter): readonly StorageEvent[]
  /**
   * Finds on the medium the newest revision up to `upTo` that was written by `time`; `compactedRevision` when there is
   * none. Called when `recent` is too new to tell.
   */
  protected abstract loggedRevisionAt(time: number, upTo: number): number
  /** Deletes superseded events up to `revision`. */
  protected abstract dropUpTo(revision: number): void
  protected abstract closeMedium(): void

  /** Sets the state that was read from the medium at open. */
  protected restore(objects: Iterable<StoredObject>, revision: number, compacted: number): void {
    for (const stored of objects) this.live.set(stored)
    this.#revision = revision
    this.#compacted = compacted
    this.#next = revision + 1
  }

  /** Commits the staged writes, without waiting for more. */
  protected commitNow(): void {
    if (this.#batch.length > 0) this.#flush()
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new StorageError("locked", "Cannot write: the store has been closed")
  }

  #join(waiting: Waiting): void {
    if (this.#batch.push(waiting) === 1) this.#flushAfter(this.turnsToGather)
  }

  /** Checks a write and gives it a revision. Throws StorageError, and then stages nothing. */
  #stage(write: Write): StagedWrite {
    const { key, object, time, author, highChurn = false, checkSize } = write
    const current = this.#pending.has(key) ? this.#pending.get(key) : this.live.get(key)
    checkWrite(write, current)
    const revision = this.#next
    const stored = this.#storedFrom(write, current, revision)
    checkSize?.(this.makesJson ? stored.json : undefined)
    const value = this.valueOf(stored)
    this.#next++
    this.#pending.set(key, object === null ? undefined : stored)
    const type = object === null ? "delete" : current === undefined ? "create" : "update"
    return { event: { type, revision, key, stored, previous: current, time, author }, highChurn, value }
  }

  /** Stages several writes together: when one is refused, none is staged. */
  #stageAll(writes: readonly Write[]): StagedWrite[] {
    const before = new Map<string, Stored | undefined | "absent">()
    const first = this.#next
    try {
      return writes.map((write) => {
        const { key } = write
        if (!before.has(key)) before.set(key, this.#pending.has(key) ? this.#pending.get(key) : "absent")
        return this.#stage(write)
      })
    } catch (err) {
      this.#next = first
      for (const [key, stored] of before) {
        if (stored === "absent") this.#pending.delete(key)
        else this.#pending.set(key, stored)
      }
      throw err
    }
  }

  #storedFrom(
    { key, object, time, seldomRead = false }: Write,
    current: Stored | undefined,
    revision: number,
  ): StoredObject {
    const next: KubeObject = object ?? current!.object
    const numbered = { ...next, metadata: { ...next.metadata, resourceVersion: String(revision) } }
    const created = current?.created ?? revision
    // All revisions share the text of their key.
    const identity = { key: current?.key ?? key, revision, created, time, seldomRead }
    return new StoredObject(identity, { object: numbered }, this.frozen)
  }

  #flushAfter(turns: number): void {
    const before = this.#batch.length
    this.clock.afterTurn(() => {
      if (turns > 0 && this.#batch.length > before) this.#flushAfter(turns - 1)
      else this.#flush()
    })
  }

  #note(problem: StorageError | undefined): void {
    const before = this.#problem
    this.#problem = problem
    if (problem?.code !== before?.code) this.#onProblem?.(problem)
    this.#trial?.cancel()
    if (problem === undefined || problem.code === "damaged") return
    this.#trial = this.clock.setTimeout(() => this.#tryAgain(), TRIAL_INTERVAL_MS, "upkeep")
  }

  #tryAgain(): void {
    if (this.#broken !== undefined) return
    try {
      this.tryMedium()
      this.#note(undefined)
    } catch (err) {
      if (!(err instanceof StorageError)) throw err
      this.#note(err)
    }
  }

  #flush(): void {
    const batch = this.#batch
    if (batch.length === 0) return
    this.#batch = []
    // A new map, because `clear` links the old table to the new one: once a table is old, a collection of young objects
    // keeps all the later ones.
    this.#pending = new Map()
    const writes = batch.length === 1 ? batch[0]!.writes : batch.flatMap(({ writes }) => writes)
    try {
      if (this.#broken !== undefined) throw this.#broken
      this.persist(writes)
    } catch (err) {
      // What may be on the medium is neither acknowledged nor refused.
      if (err instanceof FatalError) this.#breakOff(err)
      this.#next = this.#revision + 1
      for (const { reject } of batch) reject(err)
      if (err instanceof StorageError) this.#note(err)
      return
    }
    try {
      this.#remember(batch, writes)
    } catch (err) {
      this.#breakOff(err)
    }
    try {
      this.#note(undefined)
    } finally {
      this.#subscribers.tell(
        writes.map(({ event }) => event),
        this.#onListenerError,
      )
    }
  }

  /** Takes a commit that is on the medium into the memory, and acknowledges its writes. */
  #remember(batch: readonly Waiting[], writes: readonly StagedWrite[]): void {
    const events = writes.map(({ event }) => event)
    for (const event of events) {
      if (event.type === "delete") this.live.delete(event.key)
      else this.live.set(event.stored)
      this.recent.push(event)
    }
    this.#revision = events.at(-1)!.revision
    this.afterCommit(writes)
    // The promises resolve in a microtask, so after the listeners; and they resolve even if a listener throws.
    for (const { committed } of batch) committed()
  }

  /** Refuses all writes from now on, and ends the process. */
  #breakOff(cause: unknown): never {
    const why = errorMessage(cause)
    this.#broken = new StorageError("damaged", `Cannot write: the store failed in the middle of a commit: ${why}`)
    throw new FatalError(`the store failed in the middle of a commit: ${why}`, { cause })
  }
}
