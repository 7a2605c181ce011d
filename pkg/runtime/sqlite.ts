import { pathToFileURL } from "node:url"
import { constants, Database, SQLiteError, type SQLQueryBindings } from "bun:sqlite"

/** What SQLite takes and gives: text, numbers (integers up to 2^53), bytes and null. */
export type SqliteValue = string | number | Uint8Array | null

/** A prepared statement; the same text returns the same one again. `Row` is the row as a tuple of its columns. */
export interface SqliteStatement<Row extends readonly SqliteValue[] = readonly SqliteValue[]> {
  run(...values: SqliteValue[]): void
  rows(...values: SqliteValue[]): Row[]
}

/** An open database file. Every method is synchronous and throws SqliteError. */
export interface SqliteDatabase {
  exec(sql: string): void
  prepare<Row extends readonly SqliteValue[] = readonly SqliteValue[]>(sql: string): SqliteStatement<Row>
  close(): void
}

/** A failure of SQLite. `code` is its name, e.g. SQLITE_FULL, SQLITE_BUSY, SQLITE_IOERR_WRITE. */
export class SqliteError extends Error {
  override readonly name = "SqliteError"
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * How a file is opened:
 *
 *  - write: the file is created if it is absent.
 *  - read: the file is not changed, but SQLite creates an index of the write-ahead log beside it.
 *  - frozen: no process has the file open and no write-ahead log is beside it, so nothing at all is written.
 */
export type SqliteMode = "write" | "read" | "frozen"

/** Opens a database file with Bun's SQLite. No other file imports that. */
export function openSqlite(path: string, mode: SqliteMode = "write"): SqliteDatabase {
  const db = guarded(() => {
    if (mode === "write") return new Database(path, { create: true, readwrite: true })
    if (mode === "read") return new Database(path, { readonly: true })
    const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants
    return new Database(`${pathToFileURL(path).href}?immutable=1`, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
  })
  // An unfinished statement would keep the file open, and locked, after `close`.
  const statements = new Map<string, ReturnType<typeof db.prepare<unknown, SQLQueryBindings[]>>>()
  return {
    exec: (sql) => guarded(() => void db.exec(sql)),
    prepare<Row extends readonly SqliteValue[]>(sql: string): SqliteStatement<Row> {
      const statement = statements.get(sql) ?? guarded(() => db.prepare<unknown, SQLQueryBindings[]>(sql))
      statements.set(sql, statement)
      return {
        run(...values) {
          try {
            statement.run(...values)
          } catch (err) {
            throw failureOf(err)
          }
        },
        rows: (...values) => guarded(() => statement.values(...values) as unknown as Row[]),
      }
    },
    close() {
      for (const statement of statements.values()) statement.finalize()
      guarded(() => db.close())
    },
  }
}

function guarded<T>(run: () => T): T {
  try {
    return run()
  } catch (err) {
    throw failureOf(err)
  }
}

const failureOf = (err: unknown): unknown =>
  err instanceof SQLiteError ? new SqliteError(err.code ?? "SQLITE_ERROR", err.message, { cause: err }) : err
