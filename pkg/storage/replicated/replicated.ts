/**
 * A store that several servers share. Each holds all live objects in memory, like every store of k3ts; it receives
 * changes by a watch of the shared log, and sends writes to the log as compare-and-write transactions.
 *
 * Invariants:
 *
 *  1. Changes enter the memory in the order of the log, each server's own included. So all servers send their watchers
 *     the same events in the same order.
 *  2. A write is acknowledged after its change has entered the memory of this server and its subscribers were called.
 *  3. `freshen` resolves after every write has entered that any server had acknowledged before the call.
 *  4. While the log cannot be reached, reads are answered from memory, and `problem` says that they may be old.
 */
import type { Clock } from "../../clock/clock.ts"
import type { LogStorageOptions } from "../log-storage.ts"
import type { Page } from "../page.ts"
import { selectedEvents } from "../log-filter.ts"
import {
  StorageError,
  type LogFilter,
  type Storage,
  type StorageEvent,
  type StoreImage,
  type Stored,
  type Write,
} from "../storage.ts"
import { type StorageListener, Subscribers } from "../subscribers.ts"
import { Committer } from "./committer.ts"
import { Flights } from "./flights.ts"
import { Follower } from "./follower.ts"
import { Freshness } from "./freshness.ts"
import { storageErrorOf } from "./problems.ts"
import { Replica } from "./replica.ts"
import { SharedLogError, type SharedLog } from "./shared-log.ts"
import type { HistoryFile, HistoryFileOptions } from "./history/history-file.ts"
import { SharedObjects, type SharedObjectsOptions } from "./shared-object.ts"

export interface ReplicatedStorageOptions
  extends LogStorageOptions, Pick<SharedObjectsOptions, "parse" | "transformer"> {
  /** Closed together with the store. */
  readonly log: SharedLog
  /** The largest size of the JSON of the events in memory, for watches that resume, in bytes; 64 MiB by default. */
  readonly historyBytes?: number
  /** The file in which this server keeps earlier states; only those in memory are kept without it. */
  readonly history?: Omit<HistoryFileOptions, "clock"> | undefined
}

const DEFAULT_HISTORY_BYTES = 64 * 1024 * 1024
/** Interval of the attempts to reach a lost log, in milliseconds. */
const ATTEMPT_INTERVAL_MS = 1000

export class ReplicatedStorage implements Storage {
  readonly #log: SharedLog
  readonly #clock: Clock
  readonly #onProblem: LogStorageOptions["onProblem"]
  readonly #onListenerError: LogStorageOptions["onListenerError"]
  readonly #replica: Replica
  readonly #freshness: Freshness
  readonly #committer: Committer
  readonly #follower: Follower
  readonly #objects: SharedObjects
  readonly #subscribers = new Subscribers()
  #problem: StorageError | undefined
  #history: HistoryFile | undefined
  #attempt: { cancel(): void } | undefined
  #closed = false

  /** Reads the whole log and begins to follow it. @throws StorageError unavailable */
  static async open(options: ReplicatedStorageOptions): Promise<ReplicatedStorage> {
    const store = new ReplicatedStorage(options)
    try {
      store.#replica.loaded(await options.log.read((page) => store.#replica.load(page)))
      if (options.history !== undefined) await store.#openHistory(options.history)
    } catch (err) {
      options.log.close()
      throw err instanceof SharedLogError ? storageErrorOf(err) : err
    }
    store.#follower.follow()
    return store
  }

  private constructor(options: ReplicatedStorageOptions) {
    const { log, clock, onProblem, onListenerError, historyBytes = DEFAULT_HISTORY_BYTES } = options
    const flights = new Flights()
    const objects = new SharedObjects(options)
    const replica = new Replica({ clock, objects, flights, historyBytes })
    const freshness = new Freshness(log, replica, clock)
    this.#log = log
    this.#clock = clock
    this.#onProblem = onProblem
    this.#onListenerError = onListenerError
    this.#objects = objects
    this.#replica = replica
    this.#freshness = freshness
    this.#committer = new Committer({ log, clock, objects, replica, flights, freshness })
    this.#follower = new Follower({
      log,
      clock,
      replica,
      tell: (events) => this.#tell(events),
      lost: (reason) => this.#note(storageErrorOf(reason)),
    })
  }

  /** A history that cannot be opened is not kept, and reported: the server works all the same. */
  async #openHistory(options: Omit<HistoryFileOptions, "clock">): Promise<void> {
    const { openHistory } = await import("./history/open-history.ts")
    const parts = { log: this.#log, objects: this.#objects, clock: this.#clock }
    const history = await openHistory(options, this.#replica.revision, parts)
    if (history === undefined) return
    this.#history = history
    this.#replica.keepIn(history)
  }

  get revision(): number {
    return this.#replica.revision
  }
  get historyBegins(): number {
    return this.#history?.covers(this.#history.begins) === true
      ? Math.min(this.#history.begins, this.compactedRevision)
      : this.compactedRevision
  }
  get stride(): number {
    return this.#log.stride ?? 1
  }
  readonly forgetsTimes = true
  get expires(): boolean {
    return this.#log.expires === true
  }
  get compactedRevision(): number {
    return this.#replica.compactedRevision
  }
  get problem(): StorageError | undefined {
    return this.#problem
  }
  get(key: string): Stored | undefined {
    return this.#replica.live.get(key)
  }
  list(prefix: string): readonly Stored[] {
    return this.#replica.live.startingWith(prefix)
  }
  page(prefix: string, after: string | undefined, limit: number): Page<Stored> {
    return this.#replica.live.page(prefix, after, limit)
  }

  async freshen(): Promise<void> {
    if (this.#problem?.code === "unavailable") throw this.#problem
    try {
      await this.#freshness.freshen()
    } catch (err) {
      throw this.#failed(err)
    }
  }

  async write(write: Write): Promise<Stored> {
    const [stored] = await this.writeAll([write])
    return stored!
  }
  async writeAll(writes: readonly Write[]): Promise<readonly Stored[]> {
    if (writes.length === 0) return []
    if (this.#closed) throw new StorageError("locked", "Cannot write: the store has been closed")
    try {
      const stored = await this.#committer.commit(writes)
      if (this.#problem?.code === "full" || this.#problem?.code === "readonly") this.#note(undefined)
      return stored
    } catch (err) {
      throw this.#failed(err)
    }
  }

  since(revision: number, prefix = ""): readonly StorageEvent[] {
    const events = this.#replica.since(revision)
    return prefix === "" ? events : events.filter(({ key }) => key.startsWith(prefix))
  }
  between(after: number, upTo: number, filter: LogFilter = {}): readonly StorageEvent[] {
    if (after < this.#replica.compactedRevision && this.#history?.covers(after) === true)
      return this.#history.between(after, upTo, filter)
    return selectedEvents(this.#replica.since(after), upTo, filter)
  }
  revisionAt(time: number): number {
    return this.#replica.revisionAt(time)
  }
  history(key: string): readonly StorageEvent[] {
    return this.#replica.history(key)
  }
  subscribe(listener: StorageListener, prefixes: readonly string[] = []): () => void {
    return this.#subscribers.add(listener, prefixes)
  }
  image(): StoreImage {
    const { revision, live } = this.#replica
    return { revision, objects: live.values(), valueOf: (stored) => this.#objects.imageOf(stored), end() {} }
  }

  /** Drops older events from memory, and makes the log delete the states that were superseded by then. */
  compact(revision: number): void {
    const upTo = Math.min(revision, this.#replica.revision)
    if (upTo <= this.#replica.compactedRevision) return
    this.#replica.forget(upTo)
    // If a compaction fails, the next one does its work.
    this.#log.compact(upTo).catch((err: unknown) => void this.#failed(err))
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#attempt?.cancel()
    this.#follower.close()
    this.#history?.close()
    this.#subscribers.clear()
    this.#log.close()
  }

  #tell(events: readonly StorageEvent[]): void {
    if (events.length > 0) this.#subscribers.tell(events, this.#onListenerError)
  }

  /** Remembers an error that concerns the whole store, and returns the error for the caller. */
  #failed(err: unknown): unknown {
    const error = err instanceof SharedLogError ? storageErrorOf(err) : err
    if (!this.#closed && error instanceof StorageError && OF_THE_STORE.has(error.code)) this.#note(error)
    return error
  }

  #note(problem: StorageError | undefined): void {
    if (this.#closed) return
    const before = this.#problem
    this.#problem = problem
    if (problem?.code !== before?.code) this.#onProblem?.(problem)
    if (problem?.code !== "unavailable" || this.#attempt !== undefined) return
    this.#attempt = this.#clock.setTimeout(() => this.#tryAgain(), ATTEMPT_INTERVAL_MS, "upkeep")
  }

  #tryAgain(): void {
    const again = (problem: StorageError | undefined) => {
      this.#attempt = undefined
      this.#note(problem)
    }
    this.#freshness.freshen().then(
      () => again(undefined),
      (err: unknown) => again(err instanceof SharedLogError ? storageErrorOf(err) : this.#problem),
    )
  }
}

const OF_THE_STORE: ReadonlySet<string> = new Set(["unavailable", "full", "readonly"])
