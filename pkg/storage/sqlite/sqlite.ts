/**
 * The store on disk. The live objects are read once, at open (load.ts). Afterwards the file is only written, except
 * that Events (live-objects.ts) and history older than `recent` are read from it. format.ts describes the file and how
 * damage is detected; acknowledged.ts describes how a loss of acknowledged writes is detected.
 */
import { FatalError } from "../../failure/fatal-error.ts"
import type { SqliteDatabase, SqliteStatement } from "../../runtime/sqlite.ts"
import { AcknowledgedFile } from "./opening/acknowledged.ts"
import { LogStorage, type LogStorageOptions, type StagedWrite } from "../log-storage.ts"
import { storageErrorFrom } from "./errors.ts"
import {
  checkRow,
  COLUMNS,
  damaged,
  DELETE,
  isLinked,
  keepsPrevious,
  rowSum,
  SELDOM_READ,
  TRANSIENT,
  TYPES,
  type Row,
  COLUMN,
  named,
} from "./format.ts"
import { lastIndex } from "../recent-events.ts"
import { COLUMNS_WITHOUT_LARGE, hasValue, rowsBetween } from "./rows-between.ts"
import { rowBytes, SqliteHistory } from "./history.ts"
import { forgetHolder } from "./opening/holder.ts"
import { LiveList } from "./live.ts"
import { SqliteLiveObjects } from "./live-objects.ts"
import { checkChain } from "./opening/load.ts"
import { openStore, type OpenOptions } from "./opening/open.ts"
import { StorageError, type LogFilter, type StorageEvent, type StoreImage } from "../storage.ts"
import { RecentLimits } from "./recent-limits.ts"
import { reencryptRows, type Reencryption } from "./reencrypt.ts"
import { type ParseObject, StoredObject } from "../stored-object.ts"
import { SqliteValues } from "./values.ts"
import { isSealed, type ValueTransformer } from "../value-transformer.ts"

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
  readonly #parse: ParseObject | undefined
  readonly #db: SqliteDatabase
  readonly #begin: SqliteStatement
  readonly #commit: SqliteStatement
  readonly #insert: SqliteStatement
  readonly #drop: SqliteStatement
  readonly #row: SqliteStatement<Row>
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
    this.#parse = options.parse
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
      this.#row = db.prepare(`SELECT ${COLUMNS} FROM log WHERE rev = ?`)
      this.#linked = state.linked
      this.#objects = state.objects
      this.#revisions = state.revisions
      this.#liveRows = new LiveList(db, state)
      const json = (key: string, revision: number) => this.#jsonOf(key, revision)
      this.live = new SqliteLiveObjects(db, { json, parse: options.parse, frozen: this.frozen })
      this.#someUnopened = state.rows.some((row) => !this.#values.isPlain(row[COLUMN.value]))
      const objects = state.rows.map((row) => this.#stored(row))
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
    return this.#read(() => {
      const rows: Row[] = []
      for (let rev = this.get(key)?.revision ?? this.#deletionOf(key); rev !== 0;) {
        const [row] = this.#row.rows(rev)
        if (row === undefined) break
        rows.unshift(checkRow(row, this.#file))
        rev = row[4]
      }
      return this.#events(rows)
    })
  }

  /** Sets the number of pages (of 8 KiB) that the file may have. Beyond it writes fail as on a full disk. */
  limitPages(pages: number): void {
    this.#db.exec(`PRAGMA max_page_count = ${Math.floor(pages)}`)
  }

  override image(): StoreImage {
    const onDisk = (revision: number) => {
      const [row] = this.#row.rows(revision)
      return row && checkRow(row, this.#file)[COLUMN.value]
    }
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
    return this.#read(() => {
      // Every row is read to check the chain of revisions, but only rows with the prefix are read with their values.
      const value = `CASE WHEN substr(key, 1, ?) = ? THEN value END AS value`
      const rows = this.#db
        .prepare<Row>(`SELECT ${COLUMNS.replace("value", value)} FROM log WHERE rev > ? ORDER BY rev`)
        .rows(prefix.length, prefix, revision)
      if (checkChain(rows, revision, this.#file) < this.#linked)
        throw damaged(this.#file, `revision ${this.#linked} is missing`)
      const wanted = prefix === "" ? rows : rows.filter(([, key]) => key.startsWith(prefix))
      return this.#events(wanted.map((row) => checkRow(row, this.#file)))
    })
  }

  protected loggedBetween(after: number, upTo: number, filter: LogFilter): readonly StorageEvent[] {
    return this.#read(() => {
      const rows = rowsBetween(this.#db, after, upTo, filter).map((row) => this.#checked(row))
      return this.#events(rows, this.#db.prepare(`SELECT ${COLUMNS_WITHOUT_LARGE} FROM log WHERE rev = ?`))
    })
  }

  protected loggedRevisionAt(time: number, upTo: number): number {
    // Revisions rise with the time, so a binary search reads only a few rows.
    const from = this.compactedRevision
    const next = this.#db.prepare<readonly [number]>("SELECT time FROM log WHERE rev >= ? ORDER BY rev LIMIT 1")
    return this.#read(
      () => from + 1 + lastIndex(upTo - from, (i) => (next.rows(from + 1 + i)[0]?.[0] ?? time + 1) <= time),
    )
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

  /**
   * Returns the revision of the last deletion of a key; 0 when there is none. Searches the whole log, because this is
   * seldom needed.
   */
  #deletionOf(key: string): number {
    const sql = `SELECT max(rev) FROM log WHERE key = ? AND type = ${DELETE}`
    return this.#db.prepare<readonly [number | null]>(sql).rows(key)[0]?.[0] ?? 0
  }

  #stored(row: Row): StoredObject {
    const { rev: revision, key, type: code, created, value, time } = named(row)
    const current = this.live.inMemory.get(key)
    if (current?.revision === revision) return current
    const seldomRead = (code & SELDOM_READ) !== 0
    // Decrypted at its first use: a value that cannot be decrypted must not prevent the others from being served.
    const open = () => (hasValue(row) ? this.#values.open(value, { key, revision }) : this.#jsonOf(key, revision))
    const json = hasValue(row) && this.#values.isPlain(value) ? value : open
    return new StoredObject({ key, revision, created, time, seldomRead }, { json, parse: this.#parse }, this.frozen)
  }

  /**
   * Turns rows into events. `rowAt` reads the rows of previous states; where one was not kept (high churn), the new
   * state is used in its place.
   */
  #events(rows: readonly Row[], rowAt = this.#row): StorageEvent[] {
    return rows.map((row) => {
      const { rev: revision, key, type: code, prev, time, author } = named(row)
      const type = TYPES[code % TRANSIENT]!
      const stored = this.#readable(row)
      const [before] = type === "create" || prev === 0 ? [] : rowAt.rows(prev)
      if (before !== undefined) this.#checked(before)
      else if (keepsPrevious(code) && prev !== 0 && revision > this.compactedRevision)
        throw damaged(this.#file, `revision ${prev} is missing`)
      const previous = type === "create" ? undefined : before === undefined ? stored : this.#readable(before)
      return { type, revision, key, stored, previous, time, author }
    })
  }

  /** Decrypts a value now, where the reader handles a failure, and not when an event is sent. */
  #readable(row: Row): StoredObject {
    const stored = this.#stored(row)
    if (hasValue(row) && isSealed(row[COLUMN.value])) void stored.json
    return stored
  }

  /** A row without its value is checked when that is read. */
  #checked(row: Row): Row {
    return hasValue(row) ? checkRow(row, this.#file) : row
  }

  /**
   * Reads a revision that is live, or was when it was listed: its row stays until the history after it is compacted.
   * @throws StorageError compacted
   */
  #jsonOf(key: string, revision: number): Uint8Array {
    return this.#read(() => {
      const [row] = this.#row.rows(revision)
      if (row !== undefined) return this.#values.open(checkRow(row, this.#file)[COLUMN.value], { key, revision })
      if (this.live.get(key)?.revision === revision) throw damaged(this.#file, `revision ${revision} is missing`)
      throw new StorageError("compacted", `Cannot read revision ${revision} of ${key}: it has been compacted`)
    })
  }

  #read<T>(run: () => T): T {
    try {
      return run()
    } catch (err) {
      throw storageErrorFrom(err, "read", this.#file)
    }
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
