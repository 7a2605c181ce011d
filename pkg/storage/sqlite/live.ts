import type { SqliteDatabase, SqliteStatement } from "../../runtime/sqlite.ts"
import { writeMeta } from "./format.ts"
import type { LoadedState } from "./opening/load.ts"
import type { StorageEvent } from "../storage.ts"

/** After this many events the list on disk is updated, so that a start reads at most this many rows more. */
const LONG = 512

/**
 * The table `live`: which rows of the log are the state of the cluster at revision `folded`. Later changes are
 * collected in memory, and a start reads them from the rows after `folded`. So an object that changes hundreds of times
 * between two updates of the table costs one change of it.
 */
export class LiveList {
  readonly #db: SqliteDatabase
  readonly #list: SqliteStatement
  readonly #unlist: SqliteStatement
  readonly #unlistOne: SqliteStatement
  #folded: number
  /** Events since the last update. */
  #events: number
  /** Live revisions that are not in the list yet, and superseded revisions in it. */
  readonly #added: Set<number>
  readonly #removed: Set<number>

  constructor(db: SqliteDatabase, { revision, folded, added, removed }: LoadedState) {
    this.#db = db
    // One statement for all revisions, because a statement costs as much as its write.
    this.#list = db.prepare("INSERT INTO live (rev) SELECT value FROM json_each(?)")
    this.#unlist = db.prepare("DELETE FROM live WHERE rev IN (SELECT value FROM json_each(?))")
    this.#unlistOne = db.prepare("DELETE FROM live WHERE rev = ?")
    this.#folded = folded
    this.#events = revision - folded
    this.#added = new Set(added)
    this.#removed = new Set(removed)
  }

  /** Whether the list should be updated now. */
  get isLong(): boolean {
    return this.#events >= LONG
  }

  /** Adds a committed event. */
  add({ type, revision, previous }: StorageEvent): void {
    this.#events++
    if (previous !== undefined && !this.#added.delete(previous.revision)) this.#removed.add(previous.revision)
    if (type !== "delete") this.#added.add(revision)
  }

  /** Called when a row is deleted from the log, within the open transaction: the list must not contain it. */
  dropped(revision: number): void {
    if (revision <= this.#folded) this.#unlistOne.run(revision)
  }

  /**
   * Updates the list to the committed `revision`, within the open transaction. Returns the function to call when that
   * is committed.
   */
  fold(revision: number): () => void {
    // Set before the commit, for rows that the same transaction deletes. If the commit fails, `dropped` only searches
    // in vain.
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
