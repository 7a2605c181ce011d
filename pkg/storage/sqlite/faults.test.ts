/**
 * A disk that fails at any moment: nothing that was acknowledged is lost, nothing that was refused appears, and writing
 * goes on when the disk does.
 */
import { afterAll, expect, test } from "bun:test"
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seededRandom } from "../../clock/random.ts"
import { VirtualClock } from "../../clock/virtual.ts"
import { openSqlite, SqliteError, type SqliteDatabase } from "../../runtime/sqlite.ts"
import { checkStore } from "./check.ts"
import { SqliteStorage } from "./sqlite.ts"
import { StorageError } from "../storage.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-faults-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/**
 * A database whose statements that write fail while `fault` says so, as SQLite reports a full disk or a failing one.
 */
function failing(path: string, fault: (sql: string) => string | undefined): SqliteDatabase {
  const db = openSqlite(path)
  const guard = <T>(sql: string, run: () => T): T => {
    const code = /^\s*(SELECT|ROLLBACK|PRAGMA (?!incremental))/i.test(sql) ? undefined : fault(sql)
    if (code !== undefined) throw new SqliteError(code, "the disk failed")
    return run()
  }
  return {
    exec: (sql) => guard(sql, () => db.exec(sql)),
    prepare(sql) {
      const { run, rows } = db.prepare(sql)
      return { run: (...values) => guard(sql, () => run(...values)), rows: rows as never }
    },
    close: () => db.close(),
  }
}

test.each(["SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR"])(
  "%s at any statement leaves the store in its acknowledged state, and the store recovers",
  async (code) => {
    const random = seededRandom(Number(process.env["K3TS_SEED"] ?? 1))
    for (let round = 0; round < 3; round++) {
      // given a store with a small history, so that all kinds of its work come up, on a disk that fails now and then
      // for a while
      const file = join(root, `${code}-${round}.db`)
      const clock = new VirtualClock(0)
      clock.exact = true
      let statements = 0
      let [from, to] = [0, 0]
      let doomed = false
      const failSoon = (within: number) => {
        from = statements + Math.floor(random.next() * within)
        to = from + 1 + Math.floor(random.next() * 30)
      }
      const fault = (sql: string) => {
        // What is rare among the statements fails as often as the rest, but not each time: the list of live rows,
        // compaction, giving space back.
        if (sql.startsWith("BEGIN")) doomed = random.next() < 0.5
        if (++statements > to && doomed && /live|meta|vacuum/.test(sql)) {
          failSoon(100)
          doomed = false
        }
        return statements >= from && statements < to ? code : undefined
      }
      const store = new SqliteStorage({
        clock,
        file,
        frozen: true,
        historyBytes: 200_000,
        openDatabase: (path) => failing(path, fault),
      })
      const model = new Map<string, string>()
      let refused = 0
      for (let turn = 0; turn < 250; turn++) {
        if (statements > to && random.next() < 0.2) failSoon(40)
        // when several writes come in, some of them together
        await Promise.all(
          Array.from({ length: 1 + Math.floor(random.next() * 12) }, async (_, i) => {
            const key = i === 1 ? `/a/once-${turn}` : `/${i % 4 === 0 ? "lease" : "a"}/${i}-${turn % 7}`
            const remove = random.next() < 0.2 && model.has(key)
            const text = `${turn}:${"x".repeat(random.next() * 1500)}`
            try {
              await store.write({
                key,
                object: remove ? null : ({ apiVersion: "v1", kind: "T", metadata: {}, text } as never),
                expected: undefined,
                time: clock.now(),
                author: "tester",
                highChurn: i % 8 === 4,
                seldomRead: i % 8 === 0,
              })
              if (remove) model.delete(key)
              else model.set(key, text)
            } catch (err) {
              refused++
              // then whoever was refused is told that it was the disk
              expect(err instanceof StorageError && err.code).toBe("full")
            }
          }),
        )
        await clock.advance(turn % 40 === 0 ? 40_000 : 20)
        if (turn % 50 === 49) store.compact(store.revision - 100)
      }
      expect(refused).toBeGreaterThan(0)
      const textsOf = (of: SqliteStorage) =>
        Object.fromEntries(of.list("/").map(({ key, object }) => [key, (object as unknown as { text: string }).text]))
      const wanted = Object.fromEntries(model)
      expect(textsOf(store)).toEqual(wanted)

      // and a server that is killed now finds just that
      const copy = `${file}.copy`
      for (const end of ["", "-wal", ".acknowledged"]) if (existsSync(file + end)) copyFileSync(file + end, copy + end)
      expect(checkStore(copy).problems).toEqual([])
      const again = new SqliteStorage({ clock, file: copy, frozen: true })
      expect(textsOf(again)).toEqual(wanted)
      again.close()

      // and when the disk is well again, it takes writes without anybody's doing
      to = Number.POSITIVE_INFINITY
      from = to
      await clock.advance(10_000)
      expect(store.problem).toBeUndefined()
      store.close()
    }
  },
  60_000,
)
