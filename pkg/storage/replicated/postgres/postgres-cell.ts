import { PostgresSession, type PostgresOptions } from "../../../postgres/session.ts"
import type { Cell, CellValue } from "../../../cell/cell.ts"
import { revisionIn } from "./rows.ts"
import { ensureSchema, SETUP } from "./schema.ts"

const TIMEOUT_MS = 10_000

const READ = "SELECT revision, value FROM k3ts.cells WHERE key = $1"
const WRITE = `
WITH written AS (
  INSERT INTO k3ts.cells AS cell (key, revision, value)
  SELECT $1, $3::bigint + 1, $2::bytea WHERE $3 = 0 OR EXISTS (SELECT FROM k3ts.cells WHERE key = $1)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision WHERE cell.revision = $3
  RETURNING 1
) SELECT count(*)::integer AS count FROM written`

/**
 * A cell that is one row in PostgreSQL. Its methods throw PostgresError; when `write` throws, the value may have been
 * written.
 */
export class PostgresCell implements Cell {
  readonly #session: PostgresSession
  readonly #key: string

  constructor(options: PostgresOptions, key: string) {
    this.#session = new PostgresSession(options, SETUP)
    this.#key = key
  }

  async read(): Promise<CellValue | undefined> {
    const connection = await this.#session.connect()
    await ensureSchema(connection)
    const [row] = await connection.ask({ text: READ, values: [this.#key] }, TIMEOUT_MS)
    return row && { value: row["value"] as Uint8Array, revision: revisionIn(row["revision"]) }
  }

  async write(value: Uint8Array, revision: number): Promise<boolean> {
    const values = [this.#key, Buffer.from(value), revision]
    const connection = await this.#session.connect()
    await ensureSchema(connection)
    const [row] = await connection.ask({ text: WRITE, values }, TIMEOUT_MS)
    return row?.["count"] === 1
  }

  close(): void {
    this.#session.close()
  }
}
