import { openSqlite, SqliteError } from "../../runtime/sqlite.ts"
import { storageErrorFrom } from "./errors.ts"
import { damaged, SCHEMA, SELDOM_READ, TRANSIENT, TYPES } from "./format.ts"
import { FreshRows } from "./fresh.ts"
import { PAGE_BYTES, syncPath } from "./opening/empty.ts"

/** An object with the data that a store keeps of it. */
export interface KeptObject {
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly time: number
  /** See Write.highChurn. */
  readonly transient: boolean
  /** See Write.seldomRead. */
  readonly seldomRead: boolean
  /** The object as it is on disk: JSON in UTF-8, or encrypted. */
  readonly value: Uint8Array
}

/** The number of objects that one transaction writes. */
const AT_ONCE = 1000

/**
 * Makes a store at `file`, which must not exist, with `objects` in the order of their revisions. The store ends at
 * `revision`, and clients that have seen an earlier one must list again. When the promise resolves, everything is on
 * disk; when it rejects, part of a file may be there.
 * @throws StorageError full, readonly, or damaged for objects out of order; an error of `objects`
 */
export async function createStore(
  file: string,
  revision: number,
  author: string,
  objects: AsyncIterable<KeptObject>,
): Promise<void> {
  const db = openSqlite(file)
  try {
    // A file that a crash leaves is deleted, so nothing needs to be synced to disk before the end.
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`)
    db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    db.exec(SCHEMA)
    const rows = new FreshRows(db)
    let [count, last] = [0, 0]
    db.exec("BEGIN")
    for await (const { transient, seldomRead, ...object } of objects) {
      if (object.revision <= last || object.revision > revision || object.created > object.revision)
        throw damaged(file, `revision ${object.revision} of ${object.key} is out of order`)
      last = object.revision
      const type = TYPES.indexOf(object.created === object.revision ? "create" : "update")
      const flags = (transient ? TRANSIENT : 0) + (seldomRead ? SELDOM_READ : 0)
      rows.add({ ...object, type: type + flags, author })
      if (++count % AT_ONCE === 0) db.exec("COMMIT; BEGIN")
    }
    rows.end(revision)
    db.exec("COMMIT")
  } catch (err) {
    throw err instanceof SqliteError ? storageErrorFrom(err, "write", file) : err
  } finally {
    db.close()
  }
  syncPath(file)
}
