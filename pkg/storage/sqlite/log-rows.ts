/** Reads rows of the log: as objects, as events, and as JSON. */
import type { SqliteDatabase, SqliteStatement } from "../../runtime/sqlite.ts"
import { lastIndex } from "../recent-events.ts"
import { StorageError, type LogFilter, type StorageEvent } from "../storage.ts"
import { type ParseObject, StoredObject } from "../stored-object.ts"
import { isSealed } from "../value-transformer.ts"
import { storageErrorFrom } from "./errors.ts"
import {
  checkRow,
  COLUMN,
  COLUMNS,
  damaged,
  DELETE,
  keepsPrevious,
  named,
  SELDOM_READ,
  TRANSIENT,
  TYPES,
  type Row,
} from "./format.ts"
import type { SqliteLiveObjects } from "./live-objects.ts"
import { checkChain } from "./opening/load.ts"
import { COLUMNS_WITHOUT_LARGE, hasValue, rowsBetween } from "./rows-between.ts"
import type { SqliteValues } from "./values.ts"

export interface LogRowsOptions {
  readonly db: SqliteDatabase
  readonly file: string
  readonly values: SqliteValues
  readonly live: SqliteLiveObjects
  readonly parse: ParseObject | undefined
  readonly frozen: boolean
  /** Returns the revision up to which the log has been compacted. */
  readonly compacted: () => number
}

export class LogRows {
  readonly #options: LogRowsOptions
  readonly #row: SqliteStatement<Row>

  constructor(options: LogRowsOptions) {
    this.#options = options
    this.#row = options.db.prepare(`SELECT ${COLUMNS} FROM log WHERE rev = ?`)
  }

  /** Returns the value of a revision as it is on disk; undefined when its row is gone. */
  valueAt(revision: number): Uint8Array | undefined {
    const [row] = this.#row.rows(revision)
    return row && checkRow(row, this.#options.file)[COLUMN.value]
  }

  /** Returns the events of a key, whose newest revision is `newest` if it is live, oldest first. */
  history(key: string, newest: number | undefined): readonly StorageEvent[] {
    return this.#read(() => {
      const rows: Row[] = []
      for (let rev = newest ?? this.#deletionOf(key); rev !== 0;) {
        const [row] = this.#row.rows(rev)
        if (row === undefined) break
        rows.unshift(checkRow(row, this.#options.file))
        rev = row[4]
      }
      return this.#events(rows)
    })
  }

  /** Returns the events after a revision. `linked` is the newest revision that is part of the log's chain. */
  after(revision: number, prefix: string, linked: number): readonly StorageEvent[] {
    const { db, file } = this.#options
    return this.#read(() => {
      // Every row is read to check the chain of revisions, but only rows with the prefix are read with their values.
      const value = `CASE WHEN substr(key, 1, ?) = ? THEN value END AS value`
      const rows = db
        .prepare<Row>(`SELECT ${COLUMNS.replace("value", value)} FROM log WHERE rev > ? ORDER BY rev`)
        .rows(prefix.length, prefix, revision)
      if (checkChain(rows, revision, file) < linked) throw damaged(file, `revision ${linked} is missing`)
      const wanted = prefix === "" ? rows : rows.filter(([, key]) => key.startsWith(prefix))
      return this.#events(wanted.map((row) => checkRow(row, file)))
    })
  }

  /** Returns the events of a range of revisions, without large values. */
  between(after: number, upTo: number, filter: LogFilter): readonly StorageEvent[] {
    const { db } = this.#options
    return this.#read(() => {
      const rows = rowsBetween(db, after, upTo, filter).map((row) => this.#checked(row))
      return this.#events(rows, db.prepare(`SELECT ${COLUMNS_WITHOUT_LARGE} FROM log WHERE rev = ?`))
    })
  }

  /** Returns the last revision that is not younger than a time, of those after `from` and up to `upTo`. */
  revisionAt(time: number, from: number, upTo: number): number {
    // Revisions rise with the time, so a binary search reads only a few rows.
    const next = this.#options.db.prepare<readonly [number]>("SELECT time FROM log WHERE rev >= ? ORDER BY rev LIMIT 1")
    return this.#read(
      () => from + 1 + lastIndex(upTo - from, (i) => (next.rows(from + 1 + i)[0]?.[0] ?? time + 1) <= time),
    )
  }

  /** Returns the object of a row: the live one if it is that revision. */
  stored(row: Row): StoredObject {
    const { values, live, parse, frozen } = this.#options
    const { rev: revision, key, type: code, created, value, time } = named(row)
    const current = live.inMemory.get(key)
    if (current?.revision === revision) return current
    const seldomRead = (code & SELDOM_READ) !== 0
    // Decrypted at its first use: a value that cannot be decrypted must not prevent the others from being served.
    const open = () => (hasValue(row) ? values.open(value, { key, revision }) : this.jsonOf(key, revision))
    const json = hasValue(row) && values.isPlain(value) ? value : open
    return new StoredObject({ key, revision, created, time, seldomRead }, { json, parse }, frozen)
  }

  /**
   * Reads a revision that is live, or was when it was listed: its row stays until the history after it is compacted.
   * @throws StorageError compacted
   */
  jsonOf(key: string, revision: number): Uint8Array {
    const { values, live, file } = this.#options
    return this.#read(() => {
      const [row] = this.#row.rows(revision)
      if (row !== undefined) return values.open(checkRow(row, file)[COLUMN.value], { key, revision })
      if (live.get(key)?.revision === revision) throw damaged(file, `revision ${revision} is missing`)
      throw new StorageError("compacted", `Cannot read revision ${revision} of ${key}: it has been compacted`)
    })
  }

  /**
   * Turns rows into events. `rowAt` reads the rows of previous states; where one was not kept (high churn), the new
   * state is used in its place.
   */
  #events(rows: readonly Row[], rowAt = this.#row): StorageEvent[] {
    const { file, compacted } = this.#options
    return rows.map((row) => {
      const { rev: revision, key, type: code, prev, time, author } = named(row)
      const type = TYPES[code % TRANSIENT]!
      const stored = this.#readable(row)
      const [before] = type === "create" || prev === 0 ? [] : rowAt.rows(prev)
      if (before !== undefined) this.#checked(before)
      else if (keepsPrevious(code) && prev !== 0 && revision > compacted())
        throw damaged(file, `revision ${prev} is missing`)
      const previous = type === "create" ? undefined : before === undefined ? stored : this.#readable(before)
      return { type, revision, key, stored, previous, time, author }
    })
  }

  /** Decrypts a value now, where the reader handles a failure, and not when an event is sent. */
  #readable(row: Row): StoredObject {
    const stored = this.stored(row)
    if (hasValue(row) && isSealed(row[COLUMN.value])) void stored.json
    return stored
  }

  /** A row without its value is checked when that is read. */
  #checked(row: Row): Row {
    return hasValue(row) ? checkRow(row, this.#options.file) : row
  }

  /**
   * Returns the revision of the last deletion of a key; 0 when there is none. Searches the whole log, because this is
   * seldom needed.
   */
  #deletionOf(key: string): number {
    const sql = `SELECT max(rev) FROM log WHERE key = ? AND type = ${DELETE}`
    return this.#options.db.prepare<readonly [number | null]>(sql).rows(key)[0]?.[0] ?? 0
  }

  #read<T>(run: () => T): T {
    try {
      return run()
    } catch (err) {
      throw storageErrorFrom(err, "read", this.#options.file)
    }
  }
}
