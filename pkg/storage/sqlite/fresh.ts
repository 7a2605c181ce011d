import type { SqliteDatabase, SqliteStatement } from "../../runtime/sqlite.ts"
import { COLUMNS, isLinked, rowSum, writeMeta } from "./format.ts"

/** The state of an object that a new store begins with. `type` is that of the column. */
export interface FreshRow {
  readonly revision: number
  readonly key: string
  readonly type: number
  readonly created: number
  readonly value: Uint8Array
  readonly time: number
  readonly author: string
}

/** Writes the objects of a new store, which has no history. The caller begins and commits the transactions. */
export class FreshRows {
  readonly #db: SqliteDatabase
  readonly #insert: SqliteStatement
  readonly #list: SqliteStatement
  #linked = 0
  #objects = 0
  #revisions = 0

  constructor(db: SqliteDatabase) {
    this.#db = db
    this.#insert = db.prepare(`INSERT INTO log (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#list = db.prepare("INSERT INTO live (rev) VALUES (?)")
  }

  /** Adds an object, whose revision must be later than that of the one before. */
  add({ revision, key, type, created, value, time, author }: FreshRow): void {
    this.#objects++
    this.#revisions += revision
    const row = [
      revision,
      key,
      type,
      created,
      0,
      this.#linked,
      this.#objects,
      this.#revisions,
      value,
      time,
      author,
    ] as const
    this.#insert.run(...row, rowSum(row))
    this.#list.run(revision)
    if (isLinked(type)) this.#linked = revision
  }

  /** Sets the revision at which the store ends. Up to it there is no history. */
  end(revision: number): void {
    writeMeta(this.#db, "folded", revision)
    writeMeta(this.#db, "compacted", revision)
    writeMeta(this.#db, "floor", revision)
  }
}
