/**
 * Reads the store on disk at a start, that is the live objects and the end of the log, and checks that nothing is
 * missing. History is not read.
 */
import type { SqliteDatabase } from "../../../runtime/sqlite.ts"
import { checkRow, COLUMNS, damaged, DELETE, isLinked, readMeta, type Row, COLUMN } from "../format.ts"

/** The last state of the store. */
export interface LoadedState {
  /** The newest row of each live key, in the order of their revisions. */
  readonly rows: readonly Row[]
  readonly revision: number
  /** Revision of the newest row, which may be before `revision`; 0 when there is none. */
  readonly newest: number
  readonly compacted: number
  /** The revision up to which superseded rows have been deleted. */
  readonly cleaned: number
  /** The revision of the table `live`. */
  readonly folded: number
  /** The revision that the next row must contain as that of the linked row before it. */
  readonly linked: number
  readonly objects: number
  readonly revisions: number
  /** Revisions that became live since `folded`, and those in `live` that are not live any more. */
  readonly added: readonly number[]
  readonly removed: readonly number[]
}

/** @throws StorageError damaged, when a row does not match its checksum or one is missing; SqliteError */
export function loadState(db: SqliteDatabase, file: string): LoadedState {
  const folded = readMeta(db, "folded", file)
  const compacted = readMeta(db, "compacted", file)
  const floor = readMeta(db, "floor", file)
  const byKey = new Map<string, Row>()
  for (const row of db.prepare<Row>(`SELECT ${COLUMNS} FROM live JOIN log USING (rev)`).rows())
    byKey.set(row[COLUMN.key], checkRow(row, file))
  const listed = new Set([...byKey.values()].map(([rev]) => rev))
  const [[list]] = db.prepare<readonly [number]>("SELECT count(*) FROM live").rows() as [readonly [number]]
  if (list !== listed.size) throw damaged(file, `of ${list} objects, ${list - listed.size} are missing`)
  const tail = db.prepare<Row>(`SELECT ${COLUMNS} FROM log WHERE rev > ? ORDER BY rev`).rows(folded)
  for (const row of tail) {
    checkRow(row, file)
    if (row[COLUMN.type] === DELETE) byKey.delete(row[COLUMN.key])
    else byKey.set(row[COLUMN.key], row)
  }
  const newest = tail.at(-1) ?? newestRow(db, file)
  if (newest === undefined && byKey.size > 0) throw damaged(file, "its newest revision is missing")
  checkChain(tail, folded, file)
  const rows = [...byKey.values()].sort(([a], [b]) => a - b)
  const revisions = rows.reduce((sum, [rev]) => sum + rev, 0)
  if (newest !== undefined && (newest[6] !== rows.length || newest[7] !== revisions))
    throw damaged(file, `it has ${rows.length} objects, expected ${newest[6]}, or other revisions of them`)
  const live = new Set(rows.map(([rev]) => rev))
  return {
    rows,
    revision: Math.max(newest?.[0] ?? 0, floor),
    newest: newest?.[0] ?? 0,
    compacted: Math.max(compacted, floor),
    cleaned: compacted,
    folded,
    linked: newest === undefined ? 0 : isLinked(newest[2]) ? newest[0] : newest[5],
    objects: rows.length,
    revisions,
    added: rows.flatMap(([rev]) => (listed.has(rev) ? [] : [rev])),
    removed: [...listed].filter((rev) => !live.has(rev)),
  }
}

/** Returns the newest row; undefined in a store without writes. */
export function newestRow(db: SqliteDatabase, file: string): Row | undefined {
  const [row] = db.prepare<Row>(`SELECT ${COLUMNS} FROM log ORDER BY rev DESC LIMIT 1`).rows()
  return row === undefined ? undefined : checkRow(row, file)
}

/**
 * Checks that no row after `revision` is missing from rows that were read in order: the `before` of the first one must
 * be a revision up to `revision`, that of each later one the revision of the linked row before it. Returns the revision
 * of the last linked row, or `revision`.
 * @throws StorageError damaged, when a row is missing
 */
export function checkChain(rows: Iterable<Pick<Row, 0 | 2 | 5>>, revision: number, file: string): number {
  let last: number | undefined
  for (const { 0: rev, 2: type, 5: before } of rows) {
    if (last === undefined ? before > revision : before !== last) throw damaged(file, `revision ${before} is missing`)
    if (isLinked(type)) last = rev
  }
  return last ?? revision
}
