/**
 * The store on disk. The live objects are read once, at open (load.ts). Afterwards the file is only written, except
 * that Events (live-objects.ts) and history older than `recent` are read from it (log-rows.ts). format.ts describes the file and how
 * damage is detected; acknowledged.ts describes how a loss of acknowledged writes is detected.
 */
import { FatalError } from "../../failure/fatal-error.ts"
import type { SqliteDatabase, SqliteStatement } from "../../runtime/sqlite.ts"
import { AcknowledgedFile } from "./opening/acknowledged.ts"
import { LogStorage, type LogStorageOptions, type StagedWrite } from "../log-storage.ts"
import { storageErrorFrom } from "./errors.ts"
import { COLUMN, COLUMNS, DELETE, isLinked, rowSum, SELDOM_READ, TRANSIENT, TYPES } from "./format.ts"
import { rowBytes, SqliteHistory } from "./history.ts"
import { forgetHolder } from "./opening/holder.ts"
import { LiveList } from "./live.ts"
import { SqliteLiveObjects } from "./live-objects.ts"
import { LogRows } from "./log-rows.ts"
import { openStore, type OpenOptions } from "./opening/open.ts"
import type { LogFilter, StorageError, StorageEvent, StoreImage } from "../storage.ts"
import { RecentLimits } from "./recent-limits.ts"
import { reencryptRows, type Reencryption } from "./reencrypt.ts"
import type { ParseObject, StoredObject } from "../stored-object.ts"
import { SqliteValues } from "./values.ts"
import type { ValueTransformer } from "../value-transformer.ts"

/** A commit waits for the disk, so under load it collects the writes of this many turns of the event loop. */
const TURNS_TO_GATHER = 4
/**
 * The size of a trial write, in bytes: that of a few large objects, so that one free page does not count as enough free
 * space.
 */
const TRIAL_BYTES = 256 * 1024
const DEFAULT_HISTORY_BYTES = 128 * 1024 * 1024

export interface SqliteStorageOptions extends LogStorageOptions, OpenOptions {
  /**
   * The largest size of superseded states and deletions, in bytes; 128 MiB by default. Live objects are not counted.
   */
  readonly historyBytes?: number
  readonly parse?: ParseObject
  /** Encrypts and decrypts values on disk; without it they are JSON. */
  readonly transformer?: ValueTransformer | undefined
}

export class SqliteStorage extends LogStorage {
  protected override readonly turnsToGather = TURNS_TO_GATHER
  protected override readonly makesJson = true
  protected readonly live: SqliteLiveObjects
  readonly #file: string
  readonly #db: SqliteDatabase
  readonly #begin: SqliteStatement
  readonly #commit: SqliteStatement
  readonly #insert: SqliteStatement
  readonly #drop: SqliteStatement
  readonly #rows: LogRows
  readonly #liveRows: LiveList
  readonly #history: SqliteHistory
  readonly #acknowledged: AcknowledgedFile
  readonly #values: SqliteValues
  /**
   * Whether some live object was not read as plain JSON when the store was opened: it is encrypted on disk, or has to
   * be.
   */
  readonly #someUnopened: boolean
  /** Revision of the newest row that is part of the log's chain. */
  #linked: number
  /** The number of objects, and the sum of their revisions. Each row records both. */
  #objects: number
  #revisions: number
  readonly #recentLimits: RecentLimits
  /** Set once the file was found damaged. From then on nothing is written to it. */
  #damage: StorageError | undefined

  /** @throws StorageError locked (names the process that holds the file), readonly, damaged, lost, full */
  constructor(options: SqliteStorageOptions) {
    super(options)
    const { file, historyBytes = DEFAULT_HISTORY_BYTES } = options
    this.#recentLimits = new RecentLimits(this.clock, this.recent)
    const { db, state } = openStore(options)
    this.#file = file
    this.#db = db
    this.#values = new SqliteValues(db)
    try {
      if (options.transformer !== undefined) this.useTransformer(options.transformer)
      this.#begin = db.prepare("BEGIN IMMEDIATE")
      this.#commit = db.prepare("COMMIT")
      this.#insert = db.prepare(`INSERT INTO log (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
      this.#drop = db.prepare(`DELETE FROM log WHERE rev = ? AND type & ${TRANSIENT}`)
      this.#linked = state.linked
      this.#objects = state.objects
      this.#revisions = state.revisions
      this.#liveRows = new LiveList(db, state)
      const json = (key: string, revision: number) => this.#rows.jsonOf(key, revision)
      this.live = new SqliteLiveObjects(db, { json, parse: options.parse, frozen: this.frozen })
      this.#rows = new LogRows({
        ...{ db, file, values: this.#values, live: this.live, parse: options.parse, frozen: this.frozen },
        compacted: () => this.compactedRevision,
      })
      this.#someUnopened = state.rows.some((row) => !this.#values.isPlain(row[COLUMN.value]))
      const objects = state.rows.map((row) => this.#rows.stored(row))
      db.exec("BEGIN")
      for (const stored of objects) if (stored.seldomRead) this.live.add(stored)
      db.exec("COMMIT")
      this.restore(objects, state.revision, state.compacted)
      this.#acknowledged = new AcknowledgedFile(file, state.revision)
      this.#history = new SqliteHistory({
        db,
        clock: this.clock,
        maxBytes: historyBytes,
        cleaned: state.cleaned,
        liveBytes: state.rows.reduce(
          (sum, row) => sum + rowBytes(row[COLUMN.value].length, row[COLUMN.key], row[COLUMN.author]),
          0,
        ),
        fold: () => this.#fold(),
        compact: (revision) => this.compact(revision),
        compacted: () => this.compactedRevision,
        revision: () => this.revision,
        failed: (err) => void this.#failed(err, "compact"),
      })
    } catch (err) {
      db.close()
      throw storageErrorFrom(err, "open", file)
    }
  }

  history(key: string): readonly StorageEvent[] {
    return this.#rows.history(key, this.get(key)?.revision)
  }

  /** Sets the number of pages (of 8 KiB) that the file may have. Beyond it writes fail as on a full disk. */
  limitPages(pages: number): void {
    this.#db.exec(`PRAGMA max_page_count = ${Math.floor(pages)}`)
  }

  override image(): StoreImage {
    const onDisk = (revision: number) => this.#rows.valueAt(revision)
    return { ...super.image(), valueOf: this.#values.writer(onDisk), end: this.#history.keep() }
  }

  /** Sets the transformer that encrypts and decrypts from now on; undefined: values are written as JSON. */
  useTransformer(transformer: ValueTransformer | undefined): void {
    this.#values.use(transformer)
  }

  /**
   * Decrypts the live objects whose values are still as they were read from disk. Returns the failures, and whether
   * some values would now be written differently. Values that could not be decrypted are tried again at their next use.
   */
  openSealed(): { readonly failures: readonly StorageError[]; readonly someStale: boolean } {
    return this.#values.openAll(this.#someUnopened ? this.live.inMemory.values() : [])
  }

  /** Yields the encrypted values on disk, in steps of a few. */
  sealedValues(): Iterable<Uint8Array> {
    return this.#values.sealed()
  }

  /**
   * Writes again every value on disk, history included, that the transformer would now write differently, in steps of a
   * few milliseconds; objects and revisions do not change. Then the file is rebuilt, so that it contains nothing of the
   * old values. That blocks the process for nearly a second for each 100 MiB (docs/upgrade.md).
   * @throws StorageError full, readonly
   */
  async reencrypt(signal: AbortSignal): Promise<Reencryption> {
    this.commitNow()
    const { transformer } = this.#values
    try {
      const done = await reencryptRows({ db: this.#db, file: this.#file, clock: this.clock, transformer, signal })
      if (!signal.aborted) this.#db.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
      return done
    } catch (err) {
      throw this.#failed(err, "encrypt")
    }
  }

  protected override valueOf(stored: StoredObject): Uint8Array {
    return this.#values.seal(stored)
  }

  protected persist(writes: readonly StagedWrite[]): void {
    if (this.#damage !== undefined) throw this.#damage
    let [linked, objects, revisions] = [this.#linked, this.#objects, this.#revisions]
    let historyBytes = 0
    let folded: (() => void) | undefined
    try {
      this.#begin.run()
      const fold = this.#liveRows.isLong ? this.#liveRows.fold(this.revision) : undefined
      for (const { event, highChurn, value } of writes) {
        const { revision, key, type, stored, previous, time, author } = event
        const prev = previous?.revision ?? 0
        const gone = type === "delete"
        objects += gone ? -1 : type === "create" ? 1 : 0
        revisions += (gone ? 0 : revision) - prev
        const code = gone
          ? DELETE
          : TYPES.indexOf(type) + (highChurn ? TRANSIENT : 0) + (stored.seldomRead ? SELDOM_READ : 0)
        const { created } = stored
        const row = [revision, key, code, created, prev, linked, objects, revisions, value, time, author] as const
        if (highChurn && prev !== 0) {
          this.#drop.run(prev)
          this.#liveRows.dropped(prev)
        } else if (previous !== undefined) historyBytes += rowBytes(previous.json.length, key, author)
        if (gone) historyBytes += rowBytes(stored.json.length, key, author)
        this.#insert.run(...row, rowSum(row))
        this.live.index(event)
        if (isLinked(code)) linked = revision
      }
      this.#commit.run()
      folded = fold
    } catch (err) {
      throw this.#failed(err, "write")
    }
    try {
      this.#committed(writes, folded, [linked, objects, revisions], historyBytes)
    } catch (err) {
      throw new FatalError("the store could not follow its own commit", { cause: err })
    }
  }

  /** Takes a commit that is on the disk into the figures of which the next one is made. */
  #committed(
    writes: readonly StagedWrite[],
    folded: (() => void) | undefined,
    [linked, objects, revisions]: readonly [number, number, number],
    historyBytes: number,
  ): void {
    folded?.()
    this.#acknowledged.note(writes.at(-1)!.event.revision)
    ;[this.#linked, this.#objects, this.#revisions] = [linked, objects, revisions]
    for (const { event } of writes) this.#liveRows.add(event)
    if (historyBytes > 0) this.#history.grew(historyBytes)
  }

  protected override afterCommit(writes: readonly StagedWrite[]): void {
    this.#recentLimits.added(writes)
  }

  protected tryMedium(): void {
    if (this.#damage !== undefined) throw this.#damage
    try {
      // Two commits, because a row that one transaction both writes and deletes never reaches the disk.
      this.#db
        .prepare("INSERT OR REPLACE INTO meta (name, value, sum) VALUES ('trial', zeroblob(?), 0)")
        .run(TRIAL_BYTES)
      this.#db.prepare("DELETE FROM meta WHERE name = 'trial'").run()
    } catch (err) {
      throw this.#failed(err, "write")
    }
  }

  protected eventsAfter(revision: number, prefix: string): readonly StorageEvent[] {
    return this.#rows.after(revision, prefix, this.#linked)
  }

  protected loggedBetween(after: number, upTo: number, filter: LogFilter): readonly StorageEvent[] {
    return this.#rows.between(after, upTo, filter)
  }

  protected loggedRevisionAt(time: number, upTo: number): number {
    return this.#rows.revisionAt(time, this.compactedRevision, upTo)
  }

  protected dropUpTo(revision: number): void {
    this.#history.dropUpTo(revision)
  }

  protected closeMedium(): void {
    this.#recentLimits.stop()
    this.#history.stop()
    this.#db.close()
    this.#acknowledged.close()
    forgetHolder(this.#file)
  }

  #fold(): number {
    this.#begin.run()
    const done = this.#liveRows.fold(this.revision)
    this.#commit.run()
    done()
    return this.revision
  }

  /** Rolls the open transaction back. Nothing more is written to a damaged file. */
  #failed(err: unknown, action: string): StorageError {
    try {
      this.#db.exec("ROLLBACK")
    } catch {
      // SQLite has rolled back by itself, as it does for a full disk.
    }
    const error = storageErrorFrom(err, action, this.#file)
    if (error.code === "damaged") this.#damage = error
    return error
  }
}
