/** The file of a history alone, on a clock that the test advances. */
import { afterAll, afterEach, expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubeObject } from "../../../apimachinery/resource.ts"
import { VirtualClock } from "../../../clock/virtual.ts"
import { openSqlite } from "../../../runtime/sqlite.ts"
import type { StoredObject } from "../../stored-object.ts"
import { IDENTITY, type ValueTransformer } from "../../value-transformer.ts"
import { SharedObjects } from "../shared-object.ts"
import { HistoryFile } from "./history-file.ts"

const folder = mkdtempSync(join(tmpdir(), "k3ts-history-file-"))
afterAll(() => rmSync(folder, { recursive: true }))
const opened: HistoryFile[] = []
afterEach(() => opened.splice(0).forEach((history) => history.close()))
let files = 0

const MINUTE = 60_000
const KEY = "/registry/core/secrets/a"

/** Turns all bits of a value over. */
const TURNING: ValueTransformer = {
  seal: (json) => json.map((byte) => ~byte),
  open: (value) => ({ json: value.map((byte) => ~byte), stale: false }),
}

function given({ maxBytes = 2 ** 30, transformer = IDENTITY } = {}) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  clock.exact = true
  const file = join(folder, `${++files}.db`)
  const failures: unknown[] = []
  const objects = new SharedObjects({ parse: (_, json) => JSON.parse(json) as KubeObject, transformer })
  const history = new HistoryFile(
    {
      ...{ file, clock, maxBytes, maxAgeMs: 48 * MINUTE },
      isTransient: () => false,
      failed: (err) => failures.push(err),
    },
    objects,
  )
  opened.push(history)
  let last: StoredObject | undefined
  let revision = 0
  const change = (type: "create" | "update" | "delete", data: string) => {
    revision++
    const time = clock.now()
    const object = { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data } as KubeObject
    const identity = { key: KEY, revision, created: last?.created ?? revision, time, seldomRead: false }
    const stored = type === "delete" ? objects.deleted(identity, last!) : objects.own(identity, object)
    const value = type === "delete" ? undefined : objects.seal(KEY, objects.json(object))
    history.note({ type, revision, key: KEY, stored, previous: last, time, author: "" }, value)
    last = type === "delete" ? undefined : stored
  }
  /** An object that is there before the history has anything. */
  const before = (data: string) => {
    const identity = { key: KEY, revision: ++revision, created: revision, time: clock.now(), seldomRead: false }
    last = objects.own(identity, { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data } as KubeObject)
  }
  const rows = () => {
    const db = openSqlite(file, "read")
    const found = db.prepare<readonly [number, Uint8Array]>("SELECT rev, value FROM log ORDER BY rev").rows()
    db.close()
    return found
  }
  const revisions = () => rows().map(([rev]) => rev)
  return { clock, file, failures, history, change, before, rows, revisions }
}

test("has encrypted what is encrypted in the log, and the state before the first change too", () => {
  // given
  const { history, change, before, rows } = given({ transformer: TURNING })
  before("old-password")
  // when
  change("update", "new-password")
  // then
  expect(history.between(0, 9, {})[0]?.previous?.object).toMatchObject({ data: "old-password" })
  expect(rows()).toHaveLength(2)
  for (const [, value] of rows()) expect(Buffer.from(value).toString("latin1")).not.toContain("password")
})

test("writes changes within a second", async () => {
  const { clock, change, revisions } = given()
  change("create", "1")
  change("update", "2")
  await clock.advance(1000)
  expect(revisions()).toEqual([1, 2])
})

test("deletes states that are too old, and objects that were deleted then", async () => {
  // given an object that was made, changed and deleted, and one of the same name that is changed later
  const { clock, history, change, revisions } = given()
  for (const [type, data] of [
    ["create", "1"],
    ["update", "2"],
    ["delete", ""],
    ["create", "3"],
  ] as const)
    change(type, data)
  await clock.advance(50 * MINUTE)
  // when
  change("update", "4")
  await clock.advance(MINUTE)
  // then the state before the last change is there, and nothing older
  expect(history.begins).toBe(4)
  expect(revisions()).toEqual([4, 5])
  expect(history.between(4, 5, {})[0]?.previous?.object).toMatchObject({ data: "3" })
})

test("deletes old states where it has grown too large", async () => {
  // given
  const { clock, history, change, revisions } = given({ maxBytes: 200_000 })
  change("create", "")
  // when
  for (let i = 0; i < 2000; i++) change("update", "x".repeat(1000))
  await clock.advance(10_000)
  // then what is left is below the limit, and has no hole
  expect(revisions().length).toBeLessThan(200)
  expect(revisions().length).toBeGreaterThan(50)
  expect(revisions()[0]).toBe(history.begins)
  expect(history.between(history.begins, history.last, {})).toHaveLength(history.last - history.begins)
})

test("tells which revision was the newest at a time", async () => {
  // given
  const { clock, history, change } = given()
  const begin = clock.now()
  await clock.advance(MINUTE)
  change("create", "1")
  change("update", "2")
  await clock.advance(MINUTE)
  change("update", "3")
  // then
  const at = (minutes: number) => history.revisionAt(begin + minutes * MINUTE)
  expect([0.5, 1, 1.5, 2, 3].map(at)).toEqual([0, 2, 2, 3, 3])
})

test("ends when the file cannot be written, and says so once", async () => {
  // given
  const { clock, file, failures, history, change } = given()
  const other = openSqlite(file)
  other.exec("BEGIN IMMEDIATE")
  // when
  change("create", "1")
  await clock.advance(1000)
  other.exec("ROLLBACK")
  other.close()
  change("update", "2")
  await clock.advance(1000)
  // then
  expect(failures).toHaveLength(1)
  expect(history.covers(0)).toBe(false)
})
