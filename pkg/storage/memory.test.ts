import { expect, test } from "bun:test"
import { realClock } from "../clock/real.ts"
import { MemoryStorage } from "./memory.ts"
import type { Write } from "./storage.ts"

const PREFIX = "/registry/core/events/"
const MANY = 300
const name = (i: number) => `web-${(i * 79) % MANY}`
const object = (name: string, data: number) => ({ apiVersion: "v1", kind: "Event", metadata: { name }, data })
const put = (name: string, data: number | null, expected?: number): Write => ({
  key: PREFIX + name,
  object: data === null ? null : object(name, data),
  expected,
  time: 1000,
  author: "tester",
  seldomRead: true,
})

async function packing(): Promise<MemoryStorage> {
  const store = new MemoryStorage({ clock: realClock, packs: true })
  await Promise.all(Array.from({ length: MANY }, (_, i) => store.write(put(name(i), i))))
  store.compact(store.revision)
  return store
}

test("a store in memory that packs reads, lists, changes and deletes objects as before", async () => {
  const store = await packing()
  const before = store.get(`${PREFIX}${name(5)}`)!
  expect([before.revision, before.object]).toMatchObject([6, object(name(5), 5)])
  // when one is written again and another deleted
  const listed = store.list(PREFIX)
  await store.write(put(name(5), -1, before.revision))
  await store.write(put(name(6), null))
  store.compact(store.revision)
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

test("a store in memory that packs shows an object that was read between a write and its commit", async () => {
  const store = await packing()
  const written = store.write(put(name(9), null))
  const between = store.get(`${PREFIX}${name(9)}`)!
  await written
  expect(between.object).toMatchObject({ data: 9 })
  store.close()
})
