import type { SqliteDatabase, SqliteValue } from "../../runtime/sqlite.ts"
import type { LogFilter } from "../storage.ts"
import { COLUMNS, type Row } from "./format.ts"

/** Returns the rows of the log after revision `after`, up to `upTo`, that the filter selects, oldest first. */
export function rowsBetween(
  db: SqliteDatabase,
  after: number,
  upTo: number,
  { key, prefix, author }: LogFilter,
): readonly Row[] {
  const conditions: readonly (readonly [sql: string, ...values: SqliteValue[]])[] = [
    ["rev > ? AND rev <= ?", after, upTo],
    ...(key === undefined ? [] : [["key = ?", key] as const]),
    ...(prefix === undefined ? [] : [["substr(key, 1, ?) = ?", prefix.length, prefix] as const]),
    ...(author === undefined ? [] : [["author = ?", author] as const]),
  ]
  const where = conditions.map(([sql]) => sql).join(" AND ")
  return db
    .prepare<Row>(`SELECT ${COLUMNS} FROM log WHERE ${where} ORDER BY rev`)
    .rows(...conditions.flatMap(([, ...values]) => values))
}
