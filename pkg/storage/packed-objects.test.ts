import { describe, expect, test } from "bun:test"
import { seededRandom } from "../clock/random.ts"
import { realClock } from "../clock/real.ts"
import { MemoryStorage } from "./memory.ts"
import { PackedObjects } from "./packed-objects.ts"
import type { Write } from "./storage.ts"
import { StoredObject } from "./stored-object.ts"

const PREFIX = "/registry/core/events/"
const object = (name: string, data: number) => ({ apiVersion: "v1", kind: "Event", metadata: { name }, data })
const stored = (revision: number, name: string) =>
  new StoredObject(
    { key: PREFIX + name, revision, created: revision, time: 0, seldomRead: true },
    { object: object(name, revision) },
    false,
  )
const put = (name: string, data: number | null, expected?: number): Write => ({
  key: PREFIX + name,
  object: data === null ? null : object(name, data),
  expected,
  time: 1000,
  author: "tester",
  seldomRead: true,
})

describe("PackedObjects", () => {
  test("give back the JSON of each object, in any order", () => {
    const packed = new PackedObjects(500)
    const random = seededRandom(1)
    const batches = [0, 1, 2].map((batch) =>
      Array.from({ length: 300 }, (_, i) => stored(1 + batch * 300 + i, `${Math.floor(random.next() * 1e9)}`)),
    )
    for (const batch of batches) packed.add(batch)
    for (const { revision, json } of batches.flat().toSorted((a, b) => (a.key < b.key ? -1 : 1)))
      expect(packed.read(revision)).toEqual(json)
  })

  test("let go of what nobody asks for any more, and keep the rest", () => {
    const packed = new PackedObjects(1)
    const [first, second] = [stored(1, "a"), stored(2, "b")]
    packed.add([first])
    packed.add([second])
    packed.forget(1)
    expect(packed.read(2)).toEqual(second.json)
  })
})

describe("a store in memory that packs", () => {
  const MANY = 1000
  const name = (i: number) => `web-${(i * 79) % MANY}`

  async function packing(): Promise<MemoryStorage> {
    const store = new MemoryStorage({ clock: realClock, packed: 300 })
    await Promise.all(Array.from({ length: MANY }, (_, i) => store.write(put(name(i), i))))
    store.compact(store.revision)
    return store
  }

  test("reads, lists, changes and deletes objects as before", async () => {
    const store = await packing()
    const before = store.get(`${PREFIX}${name(5)}`)!
    expect([before.revision, before.object]).toMatchObject([6, object(name(5), 5)])
    // when one is written again and another deleted
    const listed = store.list(PREFIX)
    await store.write(put(name(5), -1, before.revision))
    await store.write(put(name(6), null))
    // then there is the new state, and what was read before still shows the old one
    expect(store.get(`${PREFIX}${name(5)}`)?.object).toMatchObject({ data: -1 })
    expect(store.get(`${PREFIX}${name(6)}`)).toBeUndefined()
    expect(listed.find(({ key }) => key === `${PREFIX}${name(6)}`)?.object).toMatchObject({ data: 6 })
    expect(before.object).toMatchObject({ data: 5 })
    const now = store.list(PREFIX)
    expect(now.map(({ key }) => key)).toEqual(now.map(({ key }) => key).toSorted())
    expect(now).toHaveLength(MANY - 1)
    expect(now.every(({ object, key }) => key === PREFIX + object.metadata.name!)).toBe(true)
    store.close()
  })

  test("shows an object that was read between a write and its commit", async () => {
    const store = await packing()
    const written = store.write(put(name(9), null))
    const between = store.get(`${PREFIX}${name(9)}`)!
    await written
    expect(between.object).toMatchObject({ data: 9 })
    store.close()
  })
})
