/**
 * The earlier states that a server has seen of a store that servers share, in a file of its own: neither etcd nor
 * PostgreSQL need keep them, and the states of Leases can be left out. The file has the values as they are in the log,
 * so that what is encrypted there is encrypted here. It has all changes after `begins`, and the state before each.
 */
import type { Clock, Timer } from "../../../clock/clock.ts"
import { openSqlite, type SqliteDatabase } from "../../../runtime/sqlite.ts"
import { lastIndex } from "../../recent-events.ts"
import type { LogFilter, StorageEvent } from "../../storage.ts"
import type { SharedObjects } from "../shared-object.ts"
import { HistoryRows, type HistoryRow, ROW_BYTES, TYPE } from "./history-rows.ts"

export interface HistoryFileOptions {
  readonly file: string
  readonly clock: Clock
  /** The largest size of all states, in bytes. */
  readonly maxBytes: number
  /** How long states are kept, in milliseconds. */
  readonly maxAgeMs: number
  /** Whether only the newest state of a key is kept (Leases). */
  isTransient(key: string): boolean
  /** Called when the file cannot be written. The history then ends, and a new one begins at the next start. */
  failed(err: unknown): void
}

/** How long changes wait for others that are written with them, in milliseconds. */
const GATHER_MS = 1000
/** Changes that are written at once, though none has waited so long. */
const MOST_GATHERED = 2000
/** How often old states are looked for in the time that they are kept. */
const STEPS = 48
/** Events whose superseded states one step deletes. */
const STEP_EVENTS = 500
/** Events that are compacted at once where the history is too large. */
const CUT_EVENTS = 100
/** History that is too large is cut to this share of its limit. */
const KEPT_OF_BOUND = 0.9

interface Noted {
  readonly event: StorageEvent
  /** As it is in the log; undefined for a deletion. */
  readonly value: Uint8Array | undefined
}

export class HistoryFile {
  readonly #options: HistoryFileOptions
  readonly #objects: SharedObjects
  readonly #db: SqliteDatabase
  readonly #rows: HistoryRows
  #gathered: Noted[] = []
  #flushing: Timer | undefined
  #dropping: Timer | undefined
  /** Changes up to this revision are not in the file. */
  #begins: number
  /** The revision up to which changes are known. */
  #last: number
  /** Old states are deleted up to this revision. */
  #dropUpTo = 0
  #bytes: number
  #lookedAt: number
  #failed = false

  /** @throws SqliteError */
  constructor(options: HistoryFileOptions, objects: SharedObjects) {
    this.#options = options
    this.#objects = objects
    this.#db = openSqlite(options.file)
    this.#rows = new HistoryRows(this.#db)
    this.#begins = this.#rows.number("begins")
    this.#last = Math.max(this.#rows.number("last"), this.#begins)
    this.#bytes = this.#rows.bytes()
    this.#lookedAt = options.clock.now()
  }

  get begins(): number {
    return this.#begins
  }
  get last(): number {
    return this.#last
  }

  /** Whether the changes after a revision are here. */
  covers(revision: number): boolean {
    return !this.#failed && revision >= this.#begins
  }

  /** Forgets everything: changes up to `revision` are not known. */
  restart(revision: number): void {
    this.#guarded(() => {
      this.#gathered = []
      this.#db.exec("DELETE FROM log")
      this.#bytes = 0
      this.#begins = this.#last = revision
      this.#rows.setNumber("begins", revision)
      this.#rows.setNumber("last", revision)
    })
  }

  /** Adds a change, with its value as it is in the log. */
  note(event: StorageEvent, value: Uint8Array | undefined): void {
    if (this.#failed) return
    this.#last = Math.max(this.#last, event.revision)
    if (this.#gathered.push({ event, value }) >= MOST_GATHERED) return this.#flush()
    this.#flushing ??= this.#options.clock.setTimeout(() => this.#flush(), GATHER_MS, "upkeep")
  }

  /** Returns what finds the newest state of a key that is here, with its value as it is in the log. */
  newestStates(): (key: string) => (HistoryRow & { readonly value: Uint8Array }) | undefined {
    this.#flush()
    const newest = this.#rows.newestOfAll()
    return (key) => {
      const row = this.#rows.at(newest.get(key) ?? 0)
      return row === undefined ? undefined : { ...row, value: row.value ?? this.#rows.value(row.revision) }
    }
  }

  /** Returns the changes after revision `after`, up to `upTo`, that the filter selects, oldest first. */
  between(after: number, upTo: number, filter: LogFilter): readonly StorageEvent[] {
    this.#flush()
    return this.#rows.between(after, upTo, filter).map((row) => this.#eventOf(row))
  }

  /** Returns the newest revision that had arrived by `time`; `begins` when that was before all that is here. */
  revisionAt(time: number): number {
    this.#flush()
    const from = this.#begins
    return from + 1 + lastIndex(this.#last - from, (i) => (this.#rows.timeFrom(from + 1 + i) ?? time + 1) <= time)
  }

  close(): void {
    this.#flush()
    this.#flushing?.cancel()
    this.#dropping?.cancel()
    this.#db.close()
  }

  #eventOf(row: HistoryRow): StorageEvent {
    const { revision, key, type, time, author, prev } = row
    const before = prev === 0 ? undefined : this.#rows.at(prev)
    const last = before === undefined ? undefined : this.#stored(before)
    const what = type === TYPE.create ? "create" : type === TYPE.update ? "update" : "delete"
    const stored =
      type === TYPE.delete && last !== undefined
        ? this.#objects.deleted({ ...identityOf(row), created: last.created }, last)
        : this.#stored(row)
    // Of a Lease that is renewed only the newest state is here.
    const previous = what === "create" ? undefined : (last ?? stored)
    return { type: what, revision, key, stored, previous, time, author }
  }

  #stored(row: HistoryRow) {
    const { revision, value } = row
    return this.#objects.read(identityOf(row), value ?? (() => this.#rows.value(revision)))
  }

  #flush(): void {
    this.#flushing?.cancel()
    this.#flushing = undefined
    const gathered = this.#gathered
    if (gathered.length === 0 || this.#failed) return
    this.#gathered = []
    this.#guarded(() => {
      for (const one of gathered) this.#write(one)
      this.#rows.setNumber("last", this.#last)
    })
    this.#limit()
  }

  #write({ event, value = NOTHING }: Noted): void {
    const { isTransient } = this.#options
    const { revision, key, type, stored, previous, time, author } = event
    const prev = previous?.revision ?? 0
    // A deletion tells of the state before it, and has none of its own.
    if (previous !== undefined && type !== "delete" && isTransient(key)) this.#remove(prev)
    else if (previous !== undefined && !this.#rows.has(prev)) {
      const { created } = previous
      const base = this.#objects.seal(key, this.#objects.json(previous.object))
      this.#insert({ revision: prev, key, type: TYPE.base, created, prev: 0, time: previous.time, author: "" }, base)
    }
    this.#insert({ revision, key, type: TYPE[type], created: stored.created, prev, time, author }, value)
  }

  #insert(row: Omit<HistoryRow, "value">, value: Uint8Array): void {
    this.#rows.insert(row, value)
    this.#bytes += value.length + row.key.length + ROW_BYTES
  }

  #remove(revision: number): void {
    this.#bytes -= this.#rows.remove(revision)
  }

  /** Has old states deleted where they are too old or too large. */
  #limit(): void {
    const { clock, maxAgeMs, maxBytes } = this.#options
    const now = clock.now()
    if (now - this.#lookedAt > maxAgeMs / STEPS) {
      this.#lookedAt = now
      this.#dropUpTo = Math.max(this.#dropUpTo, this.revisionAt(now - maxAgeMs))
    }
    if (this.#bytes > maxBytes) this.#dropUpTo = Math.max(this.#dropUpTo, this.#rows.after(this.#begins, CUT_EVENTS))
    if (this.#dropUpTo > this.#begins) this.#dropLater()
  }

  #dropLater(): void {
    this.#dropping ??= this.#options.clock.setTimeout(
      () => {
        this.#dropping = undefined
        this.#guarded(() => this.#drop())
        const { maxBytes } = this.#options
        if (this.#bytes > maxBytes * KEPT_OF_BOUND && this.#begins < this.#last)
          this.#dropUpTo = Math.max(this.#dropUpTo, this.#rows.after(this.#begins, CUT_EVENTS))
        if (this.#dropUpTo > this.#begins && !this.#failed) this.#dropLater()
      },
      1,
      "upkeep",
    )
  }

  /** Deletes what the next events superseded, in one step of a few milliseconds. */
  #drop(): void {
    const events = this.#rows.superseded(this.#begins, this.#dropUpTo, STEP_EVENTS)
    for (const { revision, prev, type } of events) {
      if (prev !== 0) this.#remove(prev)
      if (type === TYPE.delete) this.#remove(revision)
    }
    this.#begins = events.length < STEP_EVENTS ? this.#dropUpTo : events.at(-1)!.revision
    this.#rows.setNumber("begins", this.#begins)
  }

  /** Runs work in one transaction. When it fails, the history ends here. */
  #guarded(run: () => void): void {
    if (this.#failed) return
    try {
      this.#db.exec("BEGIN IMMEDIATE")
      run()
      this.#db.exec("COMMIT; PRAGMA incremental_vacuum(64)")
    } catch (err) {
      this.#failed = true
      try {
        this.#db.exec("ROLLBACK")
      } catch {
        // SQLite has rolled back by itself, as it does for a full disk.
      }
      this.#options.failed(err)
    }
  }
}

const NOTHING = new Uint8Array()

const identityOf = ({ key, revision, created, time }: HistoryRow) => ({
  key,
  revision,
  created,
  time,
  seldomRead: false,
})
