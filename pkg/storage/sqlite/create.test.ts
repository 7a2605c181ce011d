import { afterAll, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { VirtualClock } from "../../clock/virtual.ts"
import { checkStore } from "./check.ts"
import { createStore, type KeptObject } from "./create.ts"
import { readObject, readStore } from "./read.ts"
import { SqliteStorage } from "./sqlite.ts"

const directory = mkdtempSync(join(tmpdir(), "k3ts-create-"))
afterAll(() => rmSync(directory, { recursive: true }))
let file = ""
let files = 0
beforeEach(() => (file = join(directory, `${files++}.db`)))

const kept = (revision: number, name: string, more: Partial<KeptObject> = {}): KeptObject => ({
  key: `/registry/core/things/${name}`,
  revision,
  created: revision,
  time: 1000,
  transient: false,
  seldomRead: false,
  value: Buffer.from(
    `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"${name}","resourceVersion":"${revision}"}}`,
  ),
  ...more,
})
async function* given(...objects: readonly KeptObject[]): AsyncGenerator<KeptObject> {
  yield* await Promise.resolve(objects)
}

describe("a store that was created from objects", () => {
  test("is complete, has the objects with their revisions, and no history before its own revision", async () => {
    // given objects of every sort
    const objects = [
      kept(3, "first"),
      kept(7, "changed", { created: 4 }),
      kept(8, "lease", { transient: true }),
      kept(9, "event", { transient: true, seldomRead: true }),
    ]

    // when a store is made of them
    await createStore(file, 1000, "restorer", given(...objects))

    // then it is whole, and read as it was written
    expect(checkStore(file)).toMatchObject({ problems: [], objects: 4, revision: 1000 })
    expect(readStore(file)).toEqual({ revision: 1000, objects })
    expect(readObject(file, objects[1]!.key)).toEqual(objects[1])

    // and a server goes on with it
    const clock = new VirtualClock(0)
    const store = new SqliteStorage({ file, clock })
    expect([store.revision, store.compactedRevision]).toEqual([1000, 1000])
    expect(() => store.since(9)).toThrow(/compacted/)
    const lease = store.get("/registry/core/things/lease")!
    const write = { object: lease.object, expected: 8, time: 0, author: "x", highChurn: true }
    expect((await store.write({ ...write, key: lease.key })).revision).toBe(1001)
    const first = { key: "/registry/core/things/first", object: null, expected: 3, time: 0, author: "x" }
    await store.write(first)
    store.close()
    expect(checkStore(file)).toMatchObject({ problems: [], objects: 3, revision: 1002, rows: 5 })
  })

  test("is refused if the objects are out of order, or later than its revision", async () => {
    const wrong = [
      [kept(5, "a"), kept(4, "b")],
      [kept(5, "a"), kept(5, "b")],
      [kept(11, "a")],
      [kept(5, "a", { created: 6 })],
    ]
    for (const [i, objects] of wrong.entries())
      await expect(createStore(`${file}.${i}`, 10, "x", given(...objects))).rejects.toThrow(/is out of order/)
  })
})

test("a store with lost writes cannot be read for a backup", async () => {
  // given a store whose file was put back to an earlier state
  const write = { key: "/a/1", object: { apiVersion: "v1", kind: "T", metadata: { name: "1" } }, time: 0, author: "x" }
  const store = new SqliteStorage({ file, clock: new VirtualClock(0) })
  await store.write({ ...write, expected: 0 })
  store.close()
  const earlier = readFileSync(file)
  const later = new SqliteStorage({ file, clock: new VirtualClock(0) })
  await later.write({ ...write, expected: 1 })
  later.close()
  writeFileSync(file, earlier)

  // then reading it says so
  expect(() => readStore(file)).toThrow(/revision 2 was acknowledged/)
})
