import type { SqliteDatabase, SqliteValue } from "../../runtime/sqlite.ts"
import type { LogFilter } from "../storage.ts"
import { COLUMN, COLUMNS, type Row } from "./format.ts"

/** Larger values, in bytes, are read when they are used, so that many at once do not fill the memory. */
const LARGE = 16 * 1024

/** The columns of a row, without a value that is large. */
export const COLUMNS_WITHOUT_LARGE = COLUMNS.replace("value", `CASE WHEN length(value) <= ${LARGE} THEN value END`)

/** Whether a row was read with its value. */
export const hasValue = (row: Row): boolean => (row[COLUMN.value] as Uint8Array | null) !== null

/**
 * Returns the rows of the log after revision `after`, up to `upTo`, that the filter selects, oldest first, without
 * large values.
 */
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
    .prepare<Row>(`SELECT ${COLUMNS_WITHOUT_LARGE} FROM log WHERE ${where} ORDER BY rev`)
    .rows(...conditions.flatMap(([, ...values]) => values))
}
