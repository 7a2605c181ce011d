/**
 * The tables of the store on disk, and how they show that nothing is missing.
 *
 * `log` has a row for each event; the newest row of a key is its state. A row contains the revision of the row that it
 * superseded (`prev`; 0: none), so compaction and history follow revisions, the table's own order. There is no index by
 * key, because it would double the bytes of each write.
 *
 * `live` lists the rows that were the state of the cluster at revision `folded`. A start reads these and the rows after
 * `folded`, and no history. The table is updated once in a few hundred writes, which costs almost nothing.
 *
 * These columns of each row show that no row is missing or changed:
 *
 *  - `sum`, a checksum of the whole row;
 *  - `before`, the revision of the previous row of the chain. If it is not the one that was read before, a row is
 *    missing. The chain contains all rows except the creates and updates of high-churn objects (Lease), which are
 *    deleted when they are superseded;
 *  - `objects` and `revisions`, the number of objects after the event, and the sum of their revisions. The objects that
 *    a start reads must agree with the newest row.
 */
import { crc32 } from "node:zlib"
import type { SqliteDatabase } from "../../runtime/sqlite.ts"
import { StorageError } from "../storage.ts"

/** A file of a later format is refused; one of format 1 is migrated (migrate.ts). */
export const FORMAT = 2
/**
 * The format of the same tables with values that may be encrypted: versions of k3ts without encryption would take such
 * values for damaged JSON.
 */
export const FORMAT_WITH_ENCRYPTION = 3
/** "k3ts": distinguishes a store from another program's database, and a damaged format number from an old file. */
const APPLICATION = 0x6b_33_74_73

export const SCHEMA = `
  CREATE TABLE log (rev INTEGER PRIMARY KEY, key TEXT NOT NULL, type INTEGER NOT NULL, created INTEGER NOT NULL, prev INTEGER NOT NULL, before INTEGER NOT NULL, objects INTEGER NOT NULL, revisions INTEGER NOT NULL, value BLOB NOT NULL, time INTEGER NOT NULL, author TEXT NOT NULL, sum INTEGER NOT NULL);
  CREATE TABLE live (rev INTEGER PRIMARY KEY);
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION};
  PRAGMA user_version = ${FORMAT};
`

/** The column `type` is an index of this list; for creates and updates the flags below are added. */
export const TYPES = ["create", "update", "delete"] as const
const UPDATE = TYPES.indexOf("update")
export const DELETE = TYPES.indexOf("delete")
/** Flag of a row that is deleted when it is superseded. */
export const TRANSIENT = 4
/** Flag of a row that is seldom read, so it is kept on disk only. */
export const SELDOM_READ = 8

export const COLUMNS = "rev, key, type, created, prev, before, objects, revisions, value, time, author, sum"
/** All columns of a row except its checksum. */
export type RowContent = readonly [
  rev: number,
  key: string,
  type: number,
  created: number,
  prev: number,
  before: number,
  objects: number,
  revisions: number,
  value: Uint8Array,
  time: number,
  author: string,
]
export type Row = readonly [...RowContent, sum: number]

/** Where the columns stand in a row, which is read as an array. */
export const COLUMN = {
  rev: 0,
  key: 1,
  type: 2,
  created: 3,
  prev: 4,
  before: 5,
  objects: 6,
  revisions: 7,
  value: 8,
  time: 9,
  author: 10,
  sum: 11,
} as const

/** Returns the columns of a row by their names. */
export function named(row: Row) {
  const [rev, key, type, created, prev, before, objects, revisions, value, time, author, sum] = row
  return { rev, key, type, created, prev, before, objects, revisions, value, time, author, sum }
}

/** Returns whether the row is part of the chain of `before`. */
export const isLinked = (code: number): boolean => (code & TRANSIENT) === 0
/** Returns whether the row is an update whose previous row is kept until it is compacted. */
export const keepsPrevious = (code: number): boolean => (code & ~SELDOM_READ) === UPDATE

export function rowSum(row: RowContent | Row): number {
  const [rev, key, type, created, prev, before, objects, revisions, value, time, author] = row
  return crc32(
    `${rev} ${type} ${created} ${prev} ${before} ${objects} ${revisions} ${time} ${key} ${author}`,
    crc32(value),
  )
}

/** @throws StorageError damaged, when the row does not match its checksum */
export function checkRow(row: Row, file: string): Row {
  if (rowSum(row) === row[COLUMN.sum]) return row
  const { rev, key } = named(row)
  throw damaged(file, `revision ${rev} of ${key} does not match its checksum`)
}

const metaSum = (name: string, value: number): number => crc32(`${name} ${value}`)

/**
 * A number about the whole file:
 *
 *  - folded: see above.
 *  - compacted: superseded rows up to this revision are deleted.
 *  - floor: after a loss, revisions up to this one are not used again.
 */
type MetaName = "folded" | "compacted" | "floor"

/** Returns zero if it has not been set. @throws StorageError damaged */
export function readMeta(db: SqliteDatabase, name: MetaName, file: string): number {
  const [row] = db.prepare<readonly [number, number]>("SELECT value, sum FROM meta WHERE name = ?").rows(name)
  if (row === undefined) return 0
  const [value, sum] = row
  if (metaSum(name, value) !== sum) throw damaged(file, `the number ${name} does not match its checksum`)
  return value
}

export function writeMeta(db: SqliteDatabase, name: MetaName, value: number): void {
  db.prepare("INSERT OR REPLACE INTO meta (name, value, sum) VALUES (?, ?, ?)").run(name, value, metaSum(name, value))
}

/**
 * Returns the format of a file, FORMAT also for one with encryption; 0 for one without tables.
 * @throws StorageError newer, for a later format; damaged, for a file of another program or with contradictory numbers
 */
export function formatOf(db: SqliteDatabase, file: string): number {
  const number = (pragma: string) => db.prepare<readonly [number]>(`PRAGMA ${pragma}`).rows()[0]![0]
  const format = number("user_version")
  const application = number("application_id")
  const [[tables]] = db.prepare<readonly [number]>("SELECT count(*) FROM sqlite_schema WHERE name = 'log'").rows() as [
    readonly [number],
  ]
  if (application === APPLICATION && format > FORMAT_WITH_ENCRYPTION)
    throw new StorageError(
      "newer",
      `Cannot open ${file}: a newer version of k3ts has written it (format ${format}, and this version reads up to ` +
        `${FORMAT_WITH_ENCRYPTION}), and a downgrade is not possible; start that version again, or restore a snapshot ` +
        "that was saved before the upgrade",
    )
  if (tables === 0 && application === 0 && format === 0) return 0
  if (tables === 1 && application === 0 && format === 1) return 1
  const isOwn = application === APPLICATION && (format === FORMAT || format === FORMAT_WITH_ENCRYPTION)
  if (tables === 1 && isOwn) return FORMAT
  throw damaged(file, "it is not a store of k3ts")
}

export const damaged = (file: string, what: string): StorageError =>
  new StorageError("damaged", `Cannot read ${file}: the file is damaged; restore it from a backup (${what})`)
