import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../../clock/real.ts"
import { openSqlite, type SqliteDatabase, type SqliteValue } from "../../runtime/sqlite.ts"
import { SqliteStorage } from "./sqlite.ts"
import { reencryptRows } from "./reencrypt.ts"
import type { ValueTransformer } from "../value-transformer.ts"

let root = ""
beforeEach(() => (root = mkdtempSync(join(tmpdir(), "k3ts-reencrypt-"))))
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Writes a `k` before the JSON. */
const MARKING: ValueTransformer = {
  seal: (json) => Buffer.concat([Buffer.from("k"), json]),
  open: (value) => ({ json: value[0] === 107 ? value.subarray(1) : value, stale: value[0] !== 107 }),
}

/** A database that counts the bytes that are read from it. */
function counting(db: SqliteDatabase): SqliteDatabase & { bytes: number } {
  const counted = {
    ...db,
    bytes: 0,
    prepare<Row extends readonly SqliteValue[]>(sql: string) {
      const statement = db.prepare<Row>(sql)
      return {
        ...statement,
        rows(...values: SqliteValue[]) {
          const rows = statement.rows(...values)
          for (const value of rows.flat()) if (value instanceof Uint8Array) counted.bytes += value.length
          return rows
        },
      }
    },
  }
  return counted
}

test("large values are read once, although each is processed in its own step", async () => {
  // given a store with large objects
  const file = join(root, "state.db")
  const store = new SqliteStorage({ clock: realClock, file })
  const data = "x".repeat(600 * 1024)
  for (let i = 0; i < 6; i++)
    await store.write({
      key: `/registry/core/secrets/default/s${i}`,
      object: { apiVersion: "v1", kind: "Secret", metadata: { name: `s${i}` }, data } as never,
      expected: 0,
      time: 0,
      author: "test",
    })
  store.close()

  // when they are written anew
  const db = counting(openSqlite(file))
  const { signal } = new AbortController()
  const done = await reencryptRows({ db, file, clock: realClock, transformer: MARKING, signal })
  const { bytes } = db
  const values = db.prepare<readonly [Uint8Array]>("SELECT value FROM log").rows()
  db.close()

  // then no more has been read than there is
  expect(done).toEqual({ rewritten: 6, failed: 0, failures: [] })
  expect(values.map(([value]) => value[0])).toEqual([107, 107, 107, 107, 107, 107])
  expect(bytes).toBeLessThan(1.1 * 6 * data.length)
})
