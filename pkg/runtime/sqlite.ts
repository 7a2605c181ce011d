import { Database, SQLiteError, type SQLQueryBindings } from "bun:sqlite"

/** What SQLite takes and gives: text, numbers (integers up to 2^53), bytes and null. */
export type SqliteValue = string | number | Uint8Array | null

/** A prepared statement; the same text gives the same one again. `Row` is the row as a tuple of its columns. */
export interface SqliteStatement<Row extends readonly SqliteValue[] = readonly SqliteValue[]> {
  run(...values: SqliteValue[]): void
  rows(...values: SqliteValue[]): Row[]
}

/** A database file. Every method is synchronous and throws SqliteError. */
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

/** Opens the file, and makes it if it is absent unless it is only to be read. SQLite on Bun; this file is the only one that knows. */
export function openSqlite(path: string, { readonly = false }: { readonly readonly?: boolean } = {}): SqliteDatabase {
  const db = guarded(() => new Database(path, readonly ? { readonly } : { create: true, readwrite: true }))
  // An unfinished statement would keep the file open, and locked, after `close`.
  const statements = new Map<string, ReturnType<typeof db.prepare<unknown, SQLQueryBindings[]>>>()
  return {
    exec: (sql) => guarded(() => void db.exec(sql)),
    prepare<Row extends readonly SqliteValue[]>(sql: string): SqliteStatement<Row> {
      const statement = statements.get(sql) ?? guarded(() => db.prepare<unknown, SQLQueryBindings[]>(sql))
      statements.set(sql, statement)
      return {
        run: (...values) => guarded(() => void statement.run(...values)),
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
    if (err instanceof SQLiteError) throw new SqliteError(err.code ?? "SQLITE_ERROR", err.message, { cause: err })
    throw err
  }
}
