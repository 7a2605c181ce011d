/**
 * The store on disk: one table, the log. A row is an event; the newest row of a key is its state, and a delete leaves a row until compaction, so that a
 * watch from before it still sees it. State is read once, at open; afterwards the file is written only, but for history older than what memory keeps.
 * Each row names the revision of the row before it of the same key (`prev`; 0: none), so history, compaction and load follow revisions, the table's own
 * order. There is no index by key: it would double what every write puts on the disk.
 *
 * The file is locked by SQLite itself (locking_mode=EXCLUSIVE) for as long as the process has it open, so a killed server leaves no lock behind. The pid
 * file beside it only names the holder to people. Exclusive locking also spares WAL its shared memory.
 *
 * Damage is looked for before anything is written: in the log of changes that a killed server left, in the structure of the file, and in each row, which
 * carries a checksum. SQLite by itself would drop the changes after a damaged one, and take damaged values for values.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import process from "node:process"
import { crc32 } from "node:zlib"
import type { Timer } from "../clock/clock.ts"
import { openSqlite, SqliteError, type SqliteDatabase, type SqliteStatement } from "../runtime/sqlite.ts"
import { LogStorage, type LogStorageOptions, type StagedWrite } from "./log-storage.ts"
import { storageErrorFrom } from "./sqlite-errors.ts"
import { StorageError, type StorageEvent, type Stored } from "./storage.ts"
import { StoredObject } from "./stored-object.ts"
import { walDamage } from "./wal-damage.ts"

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS log (rev INTEGER PRIMARY KEY, key TEXT NOT NULL, type INTEGER NOT NULL, created INTEGER NOT NULL, prev INTEGER NOT NULL, value BLOB NOT NULL, time INTEGER NOT NULL, author TEXT NOT NULL, sum INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
`
/** Of the log's format; a file of a later one is refused. */
const FORMAT = 1
const TYPES = ["create", "update", "delete"] as const
const COLUMNS = "rev, key, type, created, prev, value, time, author, sum"
type Row = readonly [
  rev: number,
  key: string,
  type: number,
  created: number,
  prev: number,
  value: Uint8Array,
  time: number,
  author: string,
  sum: number,
]

/** Events kept in memory, for watches that go on from a moment ago. Older ones are read from the file. */
const RECENT = 2048
/** And no more of them than have so much JSON: a large object that changes often must not fill the memory with its past. */
const RECENT_BYTES = 16 * 1024 * 1024
/** Under load requests come in over a few turns; each commit waits for the disk. */
const TURNS_TO_GATHER = 4
/** Revisions whose predecessors one step of a compaction drops: a few milliseconds' work. */
const COMPACTION_STEP = 500
/** What a trial writes: as much as a few large objects, so that room for a single page does not pass for room. */
const TRIAL_BYTES = 256 * 1024

export interface SqliteStorageOptions extends LogStorageOptions {
  /** Path of the database file; its directory must exist. */
  readonly file: string
}

export class SqliteStorage extends LogStorage {
  protected override readonly turnsToGather = TURNS_TO_GATHER
  readonly #file: string
  readonly #db: SqliteDatabase
  readonly #begin: SqliteStatement
  readonly #commit: SqliteStatement
  readonly #insert: SqliteStatement
  readonly #drop: SqliteStatement
  readonly #row: SqliteStatement<Row>
  /** Revisions of deletions that are still in the log, by key: where the history of a key that is gone begins. */
  readonly #deleted = new Map<string, number>()
  #compaction: { upTo: number; done: number; timer: Timer } | undefined
  /** JSON of the events in `recent`, and of those that are about to come into it. */
  #recentBytes = 0
  /** Set when the file was found damaged: nothing is written to it any more. */
  #damage: StorageError | undefined

  /** Throws StorageError: locked (names the holder), readonly, damaged, full. */
  constructor(options: SqliteStorageOptions) {
    super(options)
    this.#file = options.file
    this.#db = open(options.file)
    try {
      this.#begin = this.#db.prepare("BEGIN IMMEDIATE")
      this.#commit = this.#db.prepare("COMMIT")
      this.#insert = this.#db.prepare(`INSERT INTO log (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
      this.#drop = this.#db.prepare("DELETE FROM log WHERE rev = ?")
      this.#row = this.#db.prepare(`SELECT ${COLUMNS} FROM log WHERE rev = ?`)
      this.#load()
    } catch (err) {
      this.#db.close()
      throw storageErrorFrom(err, "read", options.file)
    }
  }

  history(key: string): readonly StorageEvent[] {
    return this.#read(() => {
      const rows: Row[] = []
      for (let rev = this.live.get(key)?.revision ?? this.#deleted.get(key) ?? 0; rev !== 0;) {
        const [row] = this.#checked(this.#row.rows(rev))
        if (row === undefined) break
        rows.unshift(row)
        rev = row[4]
      }
      return this.#events(rows)
    })
  }

  /** The most pages (of 16 KiB) the file may have; beyond them writes fail as on a full disk. */
  limitPages(pages: number): void {
    this.#db.exec(`PRAGMA max_page_count = ${Math.floor(pages)}`)
  }

  protected persist(writes: readonly StagedWrite[]): void {
    if (this.#damage !== undefined) throw this.#damage
    try {
      this.#begin.run()
      const deleted = new Map<string, number>()
      for (const { event, highChurn } of writes) {
        const { revision, key, type, stored, previous, time, author } = event
        const prev = previous?.revision ?? deleted.get(key) ?? this.#deleted.get(key) ?? 0
        if (highChurn && prev !== 0) this.#drop.run(prev)
        const typeIndex = TYPES.indexOf(type)
        const sum = checksum(revision, key, typeIndex, stored.created, prev, stored.json, time, author)
        this.#insert.run(revision, key, typeIndex, stored.created, prev, stored.json, time, author, sum)
        if (type === "delete") deleted.set(key, revision)
      }
      this.#commit.run()
      for (const [key, revision] of deleted) this.#deleted.set(key, revision)
    } catch (err) {
      throw this.#failed(err, "write")
    }
    // Trimmed rarely, so that trimming costs nothing per write.
    if (this.recent.length > 1.5 * RECENT || this.#recentBytes > 1.5 * RECENT_BYTES) this.#trimRecent()
    for (const { event } of writes) this.#recentBytes += event.stored.json.length
  }

  protected tryMedium(): void {
    if (this.#damage !== undefined) throw this.#damage
    try {
      // Two commits: what one transaction writes and takes away again never reaches the disk.
      this.#db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('trial', zeroblob(?))").run(TRIAL_BYTES)
      this.#db.prepare("DELETE FROM meta WHERE name = 'trial'").run()
    } catch (err) {
      throw this.#failed(err, "write")
    }
  }

  #trimRecent(): void {
    let [bytes, kept] = [0, 0]
    for (const { stored } of this.recent.toReversed()) {
      if (kept === RECENT || bytes + stored.json.length > RECENT_BYTES) break
      bytes += stored.json.length
      kept++
    }
    this.recent = kept === 0 ? [] : this.recent.slice(-kept)
    this.#recentBytes = bytes
  }

  protected eventsAfter(revision: number, prefix: string): readonly StorageEvent[] {
    const sql = `SELECT ${COLUMNS} FROM log WHERE rev > ? ${prefix === "" ? "" : "AND substr(key, 1, ?) = ?"} ORDER BY rev`
    return this.#read(() =>
      this.#events(
        this.#checked(this.#db.prepare<Row>(sql).rows(revision, ...(prefix === "" ? [] : [prefix.length, prefix]))),
      ),
    )
  }

  protected dropUpTo(revision: number): void {
    if (this.#compaction !== undefined) this.#compaction.upTo = revision
    else this.#continueCompaction(revision, this.#meta("compacted") ?? 0)
  }

  protected closeMedium(): void {
    this.#compaction?.timer.cancel()
    this.#db.close()
    rmSync(pidFile(this.#file), { force: true })
  }

  #load(): void {
    checkStructure(this.#db, this.#file)
    const compacted = this.#meta("compacted") ?? 0
    const [[newest]] = this.#db.prepare<readonly [number | null]>("SELECT max(rev) FROM log").rows() as [
      readonly [number | null],
    ]
    const rows = this.#checked(
      this.#db.prepare<Row>(`SELECT ${COLUMNS} FROM log WHERE type <> 2 AND rev NOT IN (SELECT prev FROM log)`).rows(),
    )
    for (const [rev, key] of this.#db
      .prepare<readonly [number, string]>("SELECT rev, key FROM log WHERE type = 2 ORDER BY rev")
      .rows())
      this.#deleted.set(key, rev)
    this.restore(
      rows.map(([rev, key, , created, , value]) => this.#stored(rev, key, created, value)),
      Math.max(newest ?? 0, compacted),
      compacted,
    )
  }

  #checked(rows: Row[]): Row[] {
    for (const row of rows) checkRow(row, this.#file)
    return rows
  }

  #stored(rev: number, key: string, created: number, json: Uint8Array): Stored {
    const current = this.live.get(key)
    return current?.revision === rev ? current : new StoredObject(key, rev, created, { json }, this.frozen)
  }

  /** Rows as events. Where the state before one was not kept (high churn) it is taken to have been the same. */
  #events(rows: readonly Row[]): StorageEvent[] {
    return rows.map(([revision, key, type, created, prev, value, time, author]) => {
      const stored = this.#stored(revision, key, created, value)
      const before = type === 0 || prev === 0 ? undefined : this.#checked(this.#row.rows(prev))[0]
      const previous =
        type === 0 ? undefined : before === undefined ? stored : this.#stored(before[0], key, before[3], before[5])
      return { type: TYPES[type]!, revision, key, stored, previous, time, author }
    })
  }

  /** One step: what the events up to `end` superseded goes, and so do deletes up to there. Then the next step, after the event loop has had its turn. */
  #continueCompaction(upTo: number, done: number): void {
    const end = Math.min(upTo, done + COMPACTION_STEP)
    try {
      this.#db.exec("BEGIN IMMEDIATE")
      this.#db.prepare("DELETE FROM log WHERE rev IN (SELECT prev FROM log WHERE rev > ? AND rev <= ?)").run(done, end)
      const gone = this.#db
        .prepare<readonly [number, string]>("SELECT rev, key FROM log WHERE rev > ? AND rev <= ? AND type = 2")
        .rows(done, end)
      this.#db.prepare("DELETE FROM log WHERE rev > ? AND rev <= ? AND type = 2").run(done, end)
      this.#db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('compacted', ?)").run(end)
      this.#db.exec("COMMIT")
      for (const [rev, key] of gone) if (this.#deleted.get(key) === rev) this.#deleted.delete(key)
    } catch (err) {
      // Old rows stay; the next compaction begins where this one ended.
      this.#failed(err, "compact")
      this.#compaction = undefined
      return
    }
    if (end >= upTo) {
      this.#compaction = undefined
      return
    }
    const timer = this.clock.setTimeout(() => this.#continueCompaction(this.#compaction!.upTo, end), 1)
    this.#compaction = { upTo, done: end, timer }
  }

  #meta(name: string): number | undefined {
    return this.#db.prepare<readonly [number]>("SELECT value FROM meta WHERE name = ?").rows(name)[0]?.[0]
  }

  #read<T>(run: () => T): T {
    try {
      return run()
    } catch (err) {
      throw storageErrorFrom(err, "read", this.#file)
    }
  }

  /** Undoes the open transaction. A damaged file is not written again. */
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

/** Of all that a row holds. */
const checksum = (
  rev: number,
  key: string,
  type: number,
  created: number,
  prev: number,
  value: Uint8Array,
  time: number,
  author: string,
): number => crc32(`${rev} ${type} ${created} ${prev} ${time} ${key} ${author}`, crc32(value))

/** @throws StorageError damaged, when the row is not what was written */
function checkRow([rev, key, type, created, prev, value, time, author, sum]: Row, file: string): void {
  if (checksum(rev, key, type, created, prev, value, time, author) !== sum)
    throw damaged(file, `revision ${rev} of ${key} does not match its checksum`)
}

const formatOf = (db: SqliteDatabase): number => db.prepare<readonly [number]>("PRAGMA user_version").rows()[0]![0]

function checkStructure(db: SqliteDatabase, file: string): void {
  const [[problem]] = db.prepare<readonly [string]>("PRAGMA quick_check(1)").rows() as [readonly [string]]
  if (problem !== "ok") throw damaged(file, problem)
}

const damaged = (file: string, what: string): StorageError =>
  new StorageError("damaged", `Cannot read ${file}: the file is damaged; restore it from a backup (${what})`)

/**
 * Looks for damage in what a killed server left, through a connection that cannot write: one that can would write the log into the file when it is closed,
 * and the process could not even end without closing it. A file without a log is changed by nothing but our own writes, and needs no such care.
 */
function inspect(file: string): void {
  const db = openSqlite(file, { readonly: true })
  try {
    checkStructure(db, file)
    if (formatOf(db) !== FORMAT) return // killed before it had made its tables, or of another k3ts
    for (let after = -1; ;) {
      const rows = db.prepare<Row>(`SELECT ${COLUMNS} FROM log WHERE rev > ? ORDER BY rev LIMIT 1000`).rows(after)
      for (const row of rows) checkRow(row, file)
      if (rows.length === 0) break
      after = rows.at(-1)![0]
    }
  } finally {
    db.close()
    rmSync(`${file}-shm`, { force: true })
  }
}

const pidFile = (file: string): string => `${file}.pid`

function open(file: string): SqliteDatabase {
  let db: SqliteDatabase | undefined
  try {
    if (existsSync(`${file}-wal`)) {
      const damage = walDamage(`${file}-wal`)
      // A log that its holder is writing may look like anything; who holds it is found out below.
      if (damage !== undefined && !isAlive(holderOf(file)))
        throw new StorageError(
          "damaged",
          `Cannot open ${file}: ${file}-wal is damaged; restore both from a backup (${damage})`,
        )
      inspect(file)
    }
    db = openSqlite(file)
    db.exec("PRAGMA locking_mode = EXCLUSIVE")
    db.exec("PRAGMA cell_size_check = ON")
    // A commit of several objects of a few KB fills such pages; with SQLite's 4 KiB each object would spill into pages of its own, at half the speed.
    db.exec("PRAGMA page_size = 16384")
    db.exec("PRAGMA journal_mode = WAL")
    db.exec("PRAGMA synchronous = FULL")
    db.exec("PRAGMA journal_size_limit = 16777216")
    // Takes the lock, which lasts until the file is closed.
    db.exec("BEGIN IMMEDIATE")
    const format = formatOf(db)
    if (format > FORMAT)
      throw new StorageError(
        "damaged",
        `Cannot open ${file}: it has format ${format}, this version of k3ts reads up to ${FORMAT}; use a newer k3ts`,
      )
    if (format < FORMAT) db.exec(SCHEMA + `PRAGMA user_version = ${FORMAT};`)
    db.exec("COMMIT")
    writeFileSync(pidFile(file), `${process.pid}\n`)
    return db
  } catch (err) {
    db?.close()
    if (err instanceof SqliteError && (err.code.startsWith("SQLITE_BUSY") || err.code.startsWith("SQLITE_LOCKED")))
      throw lockedBy(file, err)
    if (err instanceof Error && "syscall" in err)
      throw new StorageError("readonly", `Cannot write ${pidFile(file)}: ${err.message}`, undefined, { cause: err })
    throw storageErrorFrom(err, "open", file)
  }
}

/** Undefined while the holder, if any, has not written it yet. */
function holderOf(file: string): number | undefined {
  try {
    return Number(readFileSync(pidFile(file), "utf8"))
  } catch {
    return undefined
  }
}

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && pid !== process.pid && process.kill(pid, 0)
  } catch {
    return false
  }
}

function lockedBy(file: string, cause: unknown): StorageError {
  const pid = holderOf(file)
  return new StorageError(
    "locked",
    `Cannot open ${file}: ${pid === undefined ? "another process" : `process ${pid}`} uses it; stop that server first, or give this one another data directory`,
    undefined,
    { cause },
  )
}
