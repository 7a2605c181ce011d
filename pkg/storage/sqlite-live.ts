import type { SqliteDatabase, SqliteStatement } from "../runtime/sqlite.ts"
import { writeMeta } from "./sqlite-format.ts"
import type { LoadedState } from "./sqlite-load.ts"
import type { StorageEvent } from "./storage.ts"

/** After so many events the list on disk is brought up to date; a start reads that many rows more at most. */
const LONG = 512

/**
 * The table `live`: which rows of the log are the state of the cluster. It is right as of revision `folded`; what
 * changed since is gathered here, and the rows after `folded` tell it again after a start. An object that changes all
 * the time so costs one change of the list where it would cost hundreds.
 */
export class LiveList {
  readonly #db: SqliteDatabase
  readonly #list: SqliteStatement
  readonly #unlist: SqliteStatement
  readonly #unlistOne: SqliteStatement
  #folded: number
  /** Events since then. */
  #events: number
  /** Live revisions that are not in the list yet, and revisions in it that are superseded. */
  readonly #added: Set<number>
  readonly #removed: Set<number>

  constructor(db: SqliteDatabase, { revision, folded, added, removed }: LoadedState) {
    this.#db = db
    // One statement for all: a statement for each revision costs as much as writing it.
    this.#list = db.prepare("INSERT INTO live (rev) SELECT value FROM json_each(?)")
    this.#unlist = db.prepare("DELETE FROM live WHERE rev IN (SELECT value FROM json_each(?))")
    this.#unlistOne = db.prepare("DELETE FROM live WHERE rev = ?")
    this.#folded = folded
    this.#events = revision - folded
    this.#added = new Set(added)
    this.#removed = new Set(removed)
  }

  /** Is it time to bring the list up to date? */
  get isLong(): boolean {
    return this.#events >= LONG
  }

  /** A committed event. */
  add({ type, revision, previous }: StorageEvent): void {
    this.#events++
    if (previous !== undefined && !this.#added.delete(previous.revision)) this.#removed.add(previous.revision)
    if (type !== "delete") this.#added.add(revision)
  }

  /** A row is dropped from the log, within the open transaction: the list must not name it. */
  dropped(revision: number): void {
    if (revision <= this.#folded) this.#unlistOne.run(revision)
  }

  /**
   * Brings the list up to date with the committed `revision`, within the open transaction. What it gives is to be
   * called when that is committed.
   */
  fold(revision: number): () => void {
    // At once, for rows that the same transaction drops; and should it fail, there is only more to look for.
    this.#folded = revision
    this.#unlist.run(JSON.stringify([...this.#removed]))
    this.#list.run(JSON.stringify([...this.#added]))
    writeMeta(this.#db, "folded", revision)
    return () => {
      this.#events = 0
      this.#added.clear()
      this.#removed.clear()
    }
  }
}
