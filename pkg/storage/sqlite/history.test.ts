/** How much disk space the history of a store takes, and that a start does not read the history. */
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { crc32 } from "node:zlib"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { VirtualClock } from "../../clock/virtual.ts"
import { openSqlite } from "../../runtime/sqlite.ts"
import { SqliteStorage, type SqliteStorageOptions } from "./sqlite.ts"
import type { Write } from "../storage.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-history-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let number = 0
const newFile = () => join(root, `${number++}.db`)
const MIB = 2 ** 20

/** A store under a clock that is moved by hand. */
function open(options: Partial<SqliteStorageOptions> = {}) {
  const clock = new VirtualClock(0)
  clock.exact = true // the store's upkeep is what is looked at
  const file = options.file ?? newFile()
  const store = new SqliteStorage({ clock, frozen: true, file, ...options })
  const put = (key: string, text: string | null, highChurn = false): Write => ({
    key,
    object: text === null ? null : ({ apiVersion: "v1", kind: "Thing", metadata: {}, text } as unknown as KubeObject),
    expected: undefined,
    time: clock.now(),
    author: "tester",
    highChurn,
  })
  const write = (...write: Parameters<typeof put>) => store.write(put(...write))
  const writeMany = (count: number, of: (i: number) => Parameters<typeof put>) =>
    store.writeAll(Array.from({ length: count }, (_, i) => put(...of(i))))
  return { clock, file, store, write, writeMany }
}

describe("the history of a store on disk", () => {
  test("stays within its limit of bytes, however much is written, and the newest part is kept", async () => {
    // given a bound of 1 MiB
    const { store, clock, file, writeMany } = open({ historyBytes: MIB })
    // when one object is updated until 16 MB have been written
    for (let round = 0; round < 160; round++) {
      await writeMany(100, () => ["/a/one", "x".repeat(1000)])
      await clock.advance(100)
    }
    // then the file holds about as much as the bound, and that part of the history can be read
    expect(statSync(file).size).toBeLessThan(4 * MIB)
    const kept = store.since(store.compactedRevision).length
    expect(kept).toBe(store.revision - store.compactedRevision)
    expect(kept).toBeGreaterThan(700)
    expect(kept).toBeLessThan(1100)
    store.close()
  })

  test("releases its space when it is compacted, in small steps, and keeps all live rows", async () => {
    // given a large history, with objects that came to be in the midst of it and stay
    const { store, clock, file, writeMany } = open()
    for (let round = 0; round < 100; round++)
      await writeMany(100, (i) => [i === 0 ? `/a/stays-${round}` : `/a/${i}`, "x".repeat(1000)])
    await writeMany(98, (i) => [`/a/${i + 1}`, null])
    await clock.advance(1000)
    const live = store.list("/").map(({ key, revision }) => [key, revision])
    // A part of it is still in the log of changes.
    expect(statSync(file).size + statSync(`${file}-wal`).size).toBeGreaterThan(8 * MIB)
    // when all of it is compacted
    store.compact(store.revision)
    await clock.advance(10_000)
    store.close()
    // then the file is near what the live objects take
    expect(statSync(file).size).toBeLessThan(2.5 * MIB)
    const again = open({ file }).store
    expect(again.list("/").map(({ key, revision }) => [key, revision])).toEqual(live)
    again.close()
  })

  test("continues to be compacted after a start", async () => {
    const { store, file, writeMany } = open()
    for (let round = 0; round < 30; round++) await writeMany(100, () => ["/a/one", "x".repeat(1000)])
    store.compact(2900)
    store.close()
    const { store: again, clock } = open({ file })
    again.compact(2950)
    await clock.advance(10_000)
    expect([again.compactedRevision, again.history("/a/one").length]).toEqual([2950, 51])
    again.close()
  })

  test("is not read at a start: damage in it is noticed when it is read", async () => {
    // given an old state of an object whose bytes have changed on the disk
    const { store, file, write } = open()
    await write("/a/one", "here it is")
    for (let i = 0; i < 600; i++) await write("/a/one", "later")
    store.close()
    const bytes = readFileSync(file)
    bytes[bytes.indexOf("here it is")]! ^= 1
    writeFileSync(file, bytes)
    // when
    const again = open({ file }).store
    // then
    expect(again.get("/a/one")?.revision).toBe(601)
    expect(again.since(2)).toHaveLength(599)
    expect(() => again.since(0)).toThrow("revision 1 of /a/one does not match its checksum")
    again.close()
  })

  test("reports events that are missing", async () => {
    // given a row that is gone, with all others as they were
    const { store, file, write, writeMany } = open()
    for (const key of ["/a/1", "/a/2", "/a/1", "/a/3"]) await write(key, "x")
    await write("/a/3", null)
    await write("/a/1", "y")
    await writeMany(600, (i) => ["/lease/1", String(i), true])
    await write("/lease/1", "last", true)
    store.close()
    for (const missing of [1, 3, 5]) {
      const copy = newFile()
      writeFileSync(copy, readFileSync(file))
      const db = openSqlite(copy)
      db.prepare("DELETE FROM log WHERE rev = ?").run(missing)
      db.close()
      // when the log is read across it, or an event that names it as the state before, then that is noticed
      const again = open({ file: copy }).store
      expect(() => again.since(missing - 1)).toThrow(`revision ${missing} is missing`)
      if (missing === 3) expect(() => again.since(5)).toThrow("revision 3 is missing")
      expect(again.since(6)).toHaveLength(1)
      again.close()
    }
  })

  test("knows which rows are live after any number of writes, kills and starts", async () => {
    // given a store that is left as a kill leaves it, again and again, at all stages of the list of live rows
    let { store, file, write } = open()
    const model = new Map<string, number>()
    for (let round = 0; round < 12; round++) {
      for (let i = 0; i < 130; i += 10) {
        const keys = Array.from(
          { length: 10 },
          (_, j) => `/${j % 3 === 0 ? "lease" : "a"}/${((i + j) * 7 + round) % 40}`,
        )
        await Promise.all(
          keys.map(async (key, j) => {
            const remove = (i + j + round) % 11 === 0 && model.has(key)
            const { revision } = await write(key, remove ? null : `${round} ${i}`, j % 3 === 0)
            if (remove) model.delete(key)
            else model.set(key, revision)
          }),
        )
      }
      if (round % 4 === 3) store.compact(store.revision - 50)
      const copy = newFile()
      for (const end of ["", "-wal", ".acknowledged"]) writeFileSync(copy + end, readFileSync(file + end))
      store.close()
      // when it starts again
      ;({ store, file, write } = open({ file: copy }))
      // then
      expect(Object.fromEntries(store.list("/").map(({ key, revision }) => [key, revision]))).toEqual(
        Object.fromEntries(model),
      )
    }
    store.close()
  })
})

test("a store of format 1 is converted with its live objects, and its history counts as compacted", async () => {
  // given a file as an earlier version left it
  const file = newFile()
  const db = openSqlite(file)
  db.exec(`PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;
    CREATE TABLE log (rev INTEGER PRIMARY KEY, key TEXT NOT NULL, type INTEGER NOT NULL, created INTEGER NOT NULL, prev INTEGER NOT NULL, value BLOB NOT NULL, time INTEGER NOT NULL, author TEXT NOT NULL, sum INTEGER NOT NULL);
    CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    PRAGMA user_version = 1`)
  const insert = db.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, 1000, 'tester', ?)")
  const row = (rev: number, key: string, type: number, created: number, prev: number) => {
    const value = new TextEncoder().encode(`{"metadata":{"resourceVersion":"${rev}"}}`)
    const sum = crc32(`${rev} ${type} ${created} ${prev} 1000 ${key} tester`, crc32(value))
    insert.run(rev, key, type, created, prev, value, sum)
  }
  row(1, "/a/1", 0, 1, 0)
  row(2, "/a/2", 0, 2, 0)
  row(3, "/a/1", 1, 1, 1)
  row(4, "/a/3", 0, 4, 0)
  row(5, "/a/2", 2, 2, 2)
  db.close()

  // when
  const { store, write } = open({ file })

  // then
  expect(store.list("/").map(({ key, revision, created }) => [key, revision, created])).toEqual([
    ["/a/1", 3, 1],
    ["/a/3", 4, 4],
  ])
  expect([store.revision, store.compactedRevision]).toEqual([5, 5])
  expect((await write("/a/1", "new")).revision).toBe(6)
  expect(store.since(5).map(({ type, previous }) => [type, previous?.revision])).toEqual([["update", 3]])
  store.close()
  const again = open({ file }).store
  expect(again.list("/").map(({ revision }) => revision)).toEqual([6, 4])
  again.close()
})
