import type { SqliteDatabase, SqliteValue } from "../../../runtime/sqlite.ts"
import type { LogFilter } from "../../storage.ts"

/** What a row is: a state before the first change that is known of its key, or a change. */
export const TYPE = { base: 0, create: 1, update: 2, delete: 3 } as const

export interface HistoryRow {
  readonly revision: number
  readonly key: string
  readonly type: number
  readonly created: number
  /** The revision of the state before; 0 for the first one of an object. */
  readonly prev: number
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly author: string
  /** Null for a large one, which is read when it is used. */
  readonly value: Uint8Array | null
}

/** The size of a row without its value and key, in bytes. */
export const ROW_BYTES = 60
/** Larger values, in bytes, are read when they are used, so that many at once do not fill the memory. */
const LARGE = 16 * 1024

const FORM = `
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS log (
  rev INTEGER PRIMARY KEY, key TEXT NOT NULL, type INTEGER NOT NULL, created INTEGER NOT NULL, prev INTEGER NOT NULL,
  time INTEGER NOT NULL, author TEXT NOT NULL, value BLOB NOT NULL
)`

const COLUMNS = `rev, key, type, created, prev, time, author, CASE WHEN length(value) <= ${LARGE} THEN value END`
const SIZE = `length(value) + length(key) + ${ROW_BYTES}`

type Tuple = readonly [number, string, number, number, number, number, string, Uint8Array | null]

const rowOf = ([revision, key, type, created, prev, time, author, value]: Tuple): HistoryRow => ({
  revision,
  key,
  type,
  created,
  prev,
  time,
  author,
  value,
})

/** The rows of a file of history. */
export class HistoryRows {
  readonly #db: SqliteDatabase

  /** @throws SqliteError */
  constructor(db: SqliteDatabase) {
    this.#db = db
    db.exec(FORM)
  }

  number(name: string): number {
    return this.#one("SELECT value FROM meta WHERE name = ?", name) ?? 0
  }
  setNumber(name: string, value: number): void {
    this.#db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(name, value)
  }

  /** Returns the size of all rows, in bytes. */
  bytes(): number {
    return this.#one(`SELECT sum(${SIZE}) FROM log`) ?? 0
  }

  insert(row: Omit<HistoryRow, "value">, value: Uint8Array): void {
    const { revision, key, type, created, prev, time, author } = row
    this.#db
      .prepare(
        "INSERT OR REPLACE INTO log (rev, key, type, created, prev, time, author, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      )
      .run(revision, key, type, created, prev, time, author, value)
  }

  /** Removes a row, and returns its size; 0 where there is none. */
  remove(revision: number): number {
    const size = this.#one(`SELECT ${SIZE} FROM log WHERE rev = ?`, revision) ?? 0
    if (size > 0) this.#db.prepare("DELETE FROM log WHERE rev = ?").run(revision)
    return size
  }

  has(revision: number): boolean {
    return this.#one("SELECT 1 FROM log WHERE rev = ?", revision) !== undefined
  }
  at(revision: number): HistoryRow | undefined {
    return this.#select("rev = ?", revision)[0]
  }
  /** Returns the revision of the newest row of each key. */
  newestOfAll(): ReadonlyMap<string, number> {
    return new Map(this.#db.prepare<readonly [string, number]>("SELECT key, max(rev) FROM log GROUP BY key").rows())
  }
  value(revision: number): Uint8Array {
    const [row] = this.#db.prepare<readonly [Uint8Array]>("SELECT value FROM log WHERE rev = ?").rows(revision)
    return row?.[0] ?? new Uint8Array()
  }

  /** Returns when the first change from this revision on was made. */
  timeFrom(revision: number): number | undefined {
    return this.#one(`SELECT time FROM log WHERE rev >= ? AND type <> ${TYPE.base} ORDER BY rev LIMIT 1`, revision)
  }

  /** Returns the revision of the `count`th change after a revision, or of the last one. */
  after(revision: number, count: number): number {
    const changes = `SELECT rev FROM log WHERE rev > ? AND type <> ${TYPE.base} ORDER BY rev LIMIT ?`
    return this.#one(`SELECT max(rev) FROM (${changes})`, revision, count) ?? this.number("last")
  }

  between(after: number, upTo: number, { key, prefix, author }: LogFilter): readonly HistoryRow[] {
    const conditions: readonly (readonly [sql: string, ...values: SqliteValue[]])[] = [
      [`rev > ? AND rev <= ? AND type <> ${TYPE.base}`, after, upTo],
      ...(key === undefined ? [] : [["key = ?", key] as const]),
      ...(prefix === undefined ? [] : [["substr(key, 1, ?) = ?", prefix.length, prefix] as const]),
      ...(author === undefined ? [] : [["author = ?", author] as const]),
    ]
    return this.#select(
      `${conditions.map(([sql]) => sql).join(" AND ")} ORDER BY rev`,
      ...conditions.flatMap(([, ...values]) => values),
    )
  }

  /** Returns the next changes, of which the states before are deleted. */
  superseded(after: number, upTo: number, count: number): readonly HistoryRow[] {
    return this.#select(`rev > ? AND rev <= ? AND type <> ${TYPE.base} ORDER BY rev LIMIT ?`, after, upTo, count)
  }

  #select(where: string, ...values: readonly SqliteValue[]): readonly HistoryRow[] {
    return this.#db
      .prepare<Tuple>(`SELECT ${COLUMNS} FROM log WHERE ${where}`)
      .rows(...values)
      .map(rowOf)
  }

  #one(sql: string, ...values: readonly SqliteValue[]): number | undefined {
    return this.#db.prepare<readonly [number | null]>(sql).rows(...values)[0]?.[0] ?? undefined
  }
}
