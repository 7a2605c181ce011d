/**
 * Opens the store on disk, and refuses one that is damaged or incomplete before anything is written to it.
 *
 * The file is locked by SQLite itself (locking_mode=EXCLUSIVE) for as long as the process has it open, so a killed
 * server leaves no lock behind. With exclusive locking the write-ahead log also needs no shared memory.
 *
 * Files that a killed server left are first checked through a connection that cannot write. One that can would write
 * the log into the file when it is closed, and the process could not even end without closing it. So refused files stay
 * unchanged.
 */
import { existsSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { openSqlite, SqliteError, type SqliteDatabase } from "../../../runtime/sqlite.ts"
import { acknowledgedPath, acknowledgedRevision } from "./acknowledged.ts"
import { storageErrorFrom } from "../errors.ts"
import { damaged, FORMAT, formatOf, SCHEMA, writeMeta } from "../format.ts"
import { DIVISION, makeEmpty, syncPath } from "./empty.ts"
import { isHeld, lockedBy, noteHolder } from "./holder.ts"
import { loadState, newestRow, type LoadedState } from "./load.ts"
import { copyOfFormat1 } from "./migrate.ts"
import { StorageError } from "../../storage.ts"
import { walDamage } from "./wal-damage.ts"

export interface OpenOptions {
  /** Path of the database; its directory must exist. */
  readonly file: string
  /**
   * A file that only an existing cluster can have left: if it exists, a missing database is a loss and not a new
   * cluster.
   */
  readonly evidence?: string | undefined
  /** Whether to open the store although acknowledged writes are missing. */
  readonly acceptLoss?: boolean | undefined
  /** Whether commits do not wait for the disk: after a power cut the store may be lost. For tests of other programs. */
  readonly unsafeNoFsync?: boolean | undefined
  /** Opens the database for writing. Tests pass a function whose disk fails. */
  readonly openDatabase?: OpenDatabase
}

type OpenDatabase = (path: string) => SqliteDatabase

export interface OpenStore {
  readonly db: SqliteDatabase
  readonly state: LoadedState
}

/**
 * Of a file up to this size, in bytes, the whole structure is checked at each start, which takes 1 ms for each
 * megabyte. Of a larger one only that of the live objects is.
 */
const CHECKED_WHOLE = 32 * 2 ** 20
/** A mode of PRAGMA auto_vacuum: free pages can be given back in steps. */
const INCREMENTAL = 2
/** The size of the write-ahead log, in bytes, at which it is copied into the database. */
const LOG_BYTES = 16 * 2 ** 20
/**
 * After a loss the next revision is later by this much than the newest that is known to have been acknowledged: after a
 * power cut later ones may have been acknowledged, and a client that has seen a revision must not get another object
 * with it.
 */
const REVISIONS_AFTER_LOSS = 1_000_000

/** @throws StorageError locked (names the process that holds the file), readonly, damaged, lost, full */
export function openStore(options: OpenOptions): OpenStore {
  const { file, openDatabase = (path) => openSqlite(path), unsafeNoFsync = false } = options
  let db: SqliteDatabase | undefined
  try {
    if (sizeOf(file) === 0 && sizeOf(`${file}-wal`) === 0) {
      refuseLoss(options, undefined)
      makeEmpty(file, openDatabase)
    }
    const inspected = sizeOf(`${file}-wal`) > 0 ? inspect(options) : undefined
    db = lock(file, openDatabase)
    let format = formatOf(db, file)
    if (format === 1) {
      db = migrate(db, file, openDatabase)
      format = FORMAT
    }
    if (format === 0) {
      refuseLoss(options, undefined)
      create(db)
    }
    const state =
      inspected !== undefined && inspected.newest === (newestRow(db, file)?.[0] ?? 0) ? inspected : check(db, file)
    refuseLoss(options, state)
    if (unsafeNoFsync) db.exec("PRAGMA synchronous = OFF")
    noteHolder(file)
    return { db, state: afterLoss(db, file, state) }
  } catch (err) {
    db?.close()
    if (err instanceof SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(err.code)) throw lockedBy(file, err)
    throw storageErrorFrom(err, "open", file)
  }
}

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0)

/**
 * Returns the state that a killed server left, including its write-ahead log; undefined when the tables do not exist
 * yet, or are of another version.
 */
function inspect(options: OpenOptions): LoadedState | undefined {
  const { file } = options
  const damage = walDamage(`${file}-wal`)
  // A log that its holder is writing may have any content. The lock below finds out who holds it.
  if (damage !== undefined && !isHeld(file))
    throw new StorageError(
      "damaged",
      `Cannot open ${file}: ${file}-wal is damaged; restore both from a backup (${damage})`,
    )
  const db = openSqlite(file, "read")
  try {
    if (formatOf(db, file) !== FORMAT) return undefined
    const state = check(db, file)
    refuseLoss(options, state)
    return state
  } finally {
    db.close()
    rmSync(`${file}-shm`, { force: true })
  }
}

function lock(file: string, openDatabase: OpenDatabase): SqliteDatabase {
  const db = openDatabase(file)
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE")
    db.exec("PRAGMA cell_size_check = ON")
    if (numberOf(db, "page_count") === 0) {
      // Each commit writes some pages whole, however little has changed in them: pages of 16 KiB would write a quarter
      // more. With SQLite's 4 KiB an object of a few KB would need pages of its own.
      db.exec(DIVISION)
    }
    db.exec("PRAGMA journal_mode = WAL")
    db.exec("PRAGMA synchronous = FULL")
    db.exec(`PRAGMA journal_size_limit = ${LOG_BYTES}`)
    // A store of an earlier version keeps its larger pages.
    db.exec(`PRAGMA wal_autocheckpoint = ${LOG_BYTES / numberOf(db, "page_size")}`)
    // Takes the lock, which lasts until the file is closed.
    db.exec("BEGIN IMMEDIATE; COMMIT")
    return db
  } catch (err) {
    db.close()
    throw err
  }
}

function create(db: SqliteDatabase): void {
  // The mode of giving space back is fixed with the first page, which a server of an earlier version may have written
  // before it was killed.
  if (numberOf(db, "auto_vacuum") !== INCREMENTAL) db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
  db.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`)
}

/** Replaces a store of format 1 by one of this format, with one rename. */
function migrate(old: SqliteDatabase, file: string, openDatabase: OpenDatabase): SqliteDatabase {
  const aside = `${file}.migrating`
  try {
    for (const path of [aside, `${aside}-wal`]) rmSync(path, { force: true })
    const made = lock(aside, openDatabase)
    try {
      create(made)
      copyOfFormat1(old, made, file)
    } finally {
      made.close()
    }
  } finally {
    old.close()
  }
  syncPath(aside)
  renameSync(aside, file)
  syncPath(dirname(file))
  return lock(file, openDatabase)
}

const numberOf = (db: SqliteDatabase, pragma: string): number =>
  db.prepare<readonly [number]>(`PRAGMA ${pragma}`).rows()[0]![0]

/** @throws StorageError damaged */
function check(db: SqliteDatabase, file: string): LoadedState {
  if (numberOf(db, "page_count") * numberOf(db, "page_size") <= CHECKED_WHOLE) {
    const [[problem]] = db.prepare<readonly [string]>("PRAGMA quick_check(1)").rows() as [readonly [string]]
    if (problem !== "ok") throw damaged(file, problem)
  }
  return loadState(db, file)
}

/**
 * `state` is undefined when there are no tables. Tables without a write are what a lost log leaves behind: a server that
 * was killed before its first write left the file of acknowledged revisions too.
 *
 * @throws StorageError lost, when writes that were acknowledged are missing
 */
function refuseLoss({ file, evidence, acceptLoss = false }: OpenOptions, state: LoadedState | undefined): void {
  if (acceptLoss) return
  const noted = acknowledgedRevision(file)
  const promised = noted ?? 0
  if (state !== undefined && state.revision < promised)
    throw new StorageError(
      "lost",
      `Cannot open ${file}: it ends at revision ${state.revision}, but ${acknowledgedPath(file)} says that ` +
        `revision ${promised} was acknowledged; restore ${file}-wal or a newer backup, or start with ` +
        "--accept-data-loss to go on without those writes",
    )
  const isEmpty = state === undefined || (state.revision === 0 && noted === undefined)
  if (!isEmpty || (promised === 0 && evidence === undefined)) return
  const proof = promised > 0 ? acknowledgedPath(file) : evidence
  throw new StorageError(
    "lost",
    `Cannot open ${file}: it is missing or empty, but ${proof} shows that a cluster has been here; restore it ` +
      "from a backup, or start with --accept-data-loss to begin an empty cluster",
  )
}

/** After an accepted loss continues with revisions that no client has seen. */
function afterLoss(db: SqliteDatabase, file: string, state: LoadedState): LoadedState {
  const promised = acknowledgedRevision(file) ?? 0
  if (state.revision >= promised) return state
  const floor = promised + REVISIONS_AFTER_LOSS
  writeMeta(db, "floor", floor)
  return { ...state, revision: floor, compacted: floor }
}
