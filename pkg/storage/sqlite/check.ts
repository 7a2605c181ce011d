/**
 * Checks everything in a store on disk while no server has it open (a start checks only the live objects). Changes
 * nothing. Reports each problem once, with what was found and where. A store without problems returns exactly what was
 * written.
 */
import { existsSync, rmSync, statSync } from "node:fs"
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts"
import { acknowledgedPath, acknowledgedRevision } from "./opening/acknowledged.ts"
import { storageErrorFrom } from "./errors.ts"
import {
  COLUMNS,
  DELETE,
  FORMAT,
  formatOf,
  isLinked,
  keepsPrevious,
  readMeta,
  rowSum,
  type Row,
  named,
} from "./format.ts"
import { loadState } from "./opening/load.ts"
import { StorageError } from "../storage.ts"
import { isSealed, opened, type Place, type ValueTransformer } from "../value-transformer.ts"
import { walDamage } from "./opening/wal-damage.ts"

export interface StoreReport {
  /** Empty if the store is intact. */
  readonly problems: readonly string[]
  readonly revision: number
  readonly objects: number
  /** Rows of the log: objects, their superseded states, and deletions. */
  readonly rows: number
  /** Rows whose values are encrypted. */
  readonly sealed: number
  /** Bytes of the database and its write-ahead log. */
  readonly bytes: number
}

/** The number of problems that are reported, because a longer list explains no more. */
const MOST_PROBLEMS = 20
const ROWS_AT_ONCE = 1000

/**
 * @param transformer decrypts values. Without it encrypted values are counted but not checked
 * @throws StorageError when the file cannot be read at all
 */
export function checkStore(file: string, transformer?: ValueTransformer): StoreReport {
  const problems: string[] = []
  const found = { revision: 0, objects: 0, rows: 0, sealed: 0 }
  const wal = `${file}-wal`
  const hasWal = existsSync(wal) && statSync(wal).size > 0
  const bytes = statSync(file).size + (hasWal ? statSync(wal).size : 0)
  const damage = hasWal ? walDamage(wal) : undefined
  if (damage !== undefined) problems.push(`${wal}: ${damage}`)
  let db: SqliteDatabase | undefined
  try {
    db = openSqlite(file, hasWal ? "read" : "frozen")
    if (formatOf(db, file) !== FORMAT) {
      problems.push(`${file}: it is empty, or of an earlier version of k3ts`)
    } else {
      for (const problem of structure(db)) problems.push(`${file}: ${problem}`)
      Object.assign(found, contents(db, file, problems, transformer))
    }
  } catch (err) {
    const error = storageErrorFrom(err, "read", file)
    if (error.code !== "damaged") throw error
    problems.push(error.message)
  } finally {
    db?.close()
    if (hasWal) rmSync(`${file}-shm`, { force: true })
  }
  const promised = acknowledgedRevision(file)
  if (promised === undefined && existsSync(acknowledgedPath(file)))
    problems.push(
      `${acknowledgedPath(file)}: it cannot be read, so whether acknowledged writes are missing is not known`,
    )
  if (promised !== undefined && promised > found.revision)
    problems.push(`${file}: it ends at revision ${found.revision}, but revision ${promised} was acknowledged`)
  return { ...found, bytes, problems: problems.slice(0, MOST_PROBLEMS) }
}

const structure = (db: SqliteDatabase): readonly string[] =>
  db
    .prepare<readonly [string]>(`PRAGMA integrity_check(${MOST_PROBLEMS})`)
    .rows()
    .flatMap(([line]) => (line === "ok" ? [] : [line]))

/** Checks every row, the chain of rows, and the live objects that a start would read against those of the whole log. */
function contents(
  db: SqliteDatabase,
  file: string,
  problems: string[],
  transformer: ValueTransformer | undefined,
): { revision: number; objects: number; rows: number; sealed: number } {
  const say = (problem: string) => problems.push(`${file}: ${problem}`)
  const compacted = readMeta(db, "compacted", file)
  const live = new Map<string, number>()
  let [rows, linked, last, sealed] = [0, undefined as number | undefined, 0, 0]
  const exists = db.prepare("SELECT 1 FROM log WHERE rev = ?")
  for (const row of allRows(db)) {
    const { rev, key, type, prev, before, value, sum } = named(row)
    rows++
    last = rev
    if (rowSum(row) !== sum) say(`revision ${rev} of ${key} does not match its checksum`)
    else {
      if (isSealed(value)) sealed++
      const problem = valueProblem(value, { key, revision: rev }, transformer)
      if (problem !== undefined) say(`revision ${rev} of ${key}: ${problem}`)
    }
    // Compaction deletes rows up to `compacted`, so only the chain after that revision is complete.
    if (rev > compacted && (linked === undefined || linked <= compacted ? before > compacted : before !== linked))
      say(`revision ${before} is missing`)
    if (keepsPrevious(type) && rev > compacted && prev !== 0 && exists.rows(prev).length === 0)
      say(`revision ${prev} of ${key} is missing`)
    if (isLinked(type)) linked = rev
    if (type === DELETE) live.delete(key)
    else live.set(key, rev)
  }
  try {
    const loaded = new Map(loadState(db, file).rows.map(([rev, key]) => [key, rev]))
    for (const [key, rev] of live)
      if (loaded.get(key) !== rev)
        say(`${key} is at revision ${rev}, but a start would find ${loaded.get(key) ?? "none"}`)
    for (const key of loaded.keys()) if (!live.has(key)) say(`${key} is deleted, but a start would find it`)
  } catch (err) {
    problems.push(storageErrorFrom(err, "read", file).message)
  }
  return { revision: Math.max(last, readMeta(db, "floor", file)), objects: live.size, rows, sealed }
}

function valueProblem(value: Uint8Array, place: Place, transformer: ValueTransformer | undefined): string | undefined {
  if (transformer === undefined && isSealed(value)) return undefined
  try {
    const { json } = transformer === undefined ? { json: value } : opened(transformer, value, place)
    return isJson(json) ? undefined : "it is not JSON"
  } catch (err) {
    if (err instanceof StorageError) return err.message
    throw err
  }
}

function* allRows(db: SqliteDatabase): Iterable<Row> {
  const part = db.prepare<Row>(`SELECT ${COLUMNS} FROM log WHERE rev > ? ORDER BY rev LIMIT ${ROWS_AT_ONCE}`)
  for (let after = -1; ;) {
    const rows = part.rows(after)
    yield* rows
    if (rows.length < ROWS_AT_ONCE) return
    after = rows.at(-1)![0]
  }
}

function isJson(value: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(value))
    return true
  } catch {
    return false
  }
}
