import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { realClock } from "../../clock/real.ts"
import { VirtualClock } from "../../clock/virtual.ts"
import { SqliteStorage } from "./sqlite.ts"
import type { StorageEvent, Write } from "../storage.ts"
import { errorOf, object, put } from "./store.fixtures.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-sqlite-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let number = 0
const newFile = () => join(root, `${number++}.db`)
const open = (file: string) => new SqliteStorage({ clock: realClock, frozen: true, file })

describe("a store in a file", () => {
  test("commits the writes of a few turns together, and a single write at once", async () => {
    // given a clock whose turns are ended by hand
    const ended: (() => void)[] = []
    const endTurn = () => ended.splice(0).forEach((run) => run())
    const store = new SqliteStorage({
      clock: { ...realClock, afterTurn: (run) => void ended.push(run) },
      frozen: true,
      file: newFile(),
    })
    const commits: string[][] = []
    store.subscribe((events) => commits.push(events.map(({ key }) => key)))

    // when writes come in in two turns, and then none
    const writes = ["/a/1", "/a/2"].map((key) => store.write(put(key, object("x"), 0)))
    endTurn()
    writes.push(store.write(put("/a/3", object("x"), 0)))
    endTurn()
    expect(commits).toEqual([])
    endTurn()
    // and one comes alone
    writes.push(store.write(put("/a/4", object("x"), 0)))
    endTurn()

    // then
    expect(commits).toEqual([["/a/1", "/a/2", "/a/3"], ["/a/4"]])
    await Promise.all(writes)

    // when every turn brings more
    for (let i = 0; i < 6; i++) {
      writes.push(store.write(put(`/b/${i}`, object("x"), 0)), store.write(put(`/c/${i}`, object("x"), 0)))
      endTurn()
    }

    // then the first do not wait for ever
    expect(commits[2]).toHaveLength(10)
    store.close()
    await Promise.all(writes)
  })

  test("has its content after reopening, and continues with the next revision", async () => {
    const file = newFile()
    const first = open(file)
    await first.write(put("/a/1", object("1"), 0))
    await first.write(put("/a/2", object("2"), 0))
    await first.write(put("/a/1", object("1", 2), 1))
    await first.write(put("/a/2", null))
    first.close()

    const again = open(file)
    expect(again.revision).toBe(4)
    expect(again.list("/a/").map(({ object }) => object)).toEqual([
      { ...object("1", 2), metadata: { name: "1", resourceVersion: "3" } } as KubeObject,
    ])
    expect(again.get("/a/1")!.created).toBe(1)
    expect(again.since(1).map(({ type, previous }) => [type, previous?.revision])).toEqual([
      ["create", undefined],
      ["update", 1],
      ["delete", 2],
    ])
    expect((await again.write(put("/a/3", object("3"), 0))).revision).toBe(5)
    again.close()
  })

  test("keeps its revision when everything is compacted, and removes only superseded rows", async () => {
    const file = newFile()
    const store = open(file)
    await Promise.all(Array.from({ length: 1200 }, (_, i) => store.write(put("/a/1", object("1", i)))))
    await store.write(put("/a/2", object("2"), 0))
    await store.write(put("/a/2", null))
    store.compact(1202)
    while (store.history("/a/1").length > 1) await new Promise((resolve) => setImmediate(resolve))
    while (store.history("/a/2").length > 1) await new Promise((resolve) => setImmediate(resolve))
    store.close()
    const again = open(file)
    expect([again.revision, again.compactedRevision]).toEqual([1202, 1202])
    expect(again.get("/a/1")?.revision).toBe(1200)
    expect(() => again.since(1201)).toThrow("compacted")
    again.close()
  })

  test("returns all events since a revision, also of large objects, of which memory has only the last", async () => {
    const store = open(newFile())
    const large = "x".repeat(1_000_000)
    for (let i = 0; i < 40; i++) await store.write(put("/a/1", object("1", large)))
    expect(store.since(0).map(({ revision }) => revision)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
    expect(store.since(38).map(({ type, revision }) => [type, revision])).toEqual([
      ["update", 39],
      ["update", 40],
    ])
    store.close()
  })

  test("keeps only the newest row of objects that change all the time", async () => {
    const store = open(newFile())
    for (let i = 0; i < 5; i++) await store.write(put("/lease/1", object("1", i), undefined, true))
    expect(store.history("/lease/1").map(({ revision }) => revision)).toEqual([5])
    store.close()
  })

  test("keeps rarely read objects only on disk, and still returns them", async () => {
    // given an object of that sort and another one
    const file = newFile()
    const options = { clock: realClock, frozen: true, file }
    const store = new SqliteStorage(options)
    const event = (data: unknown, value: KubeObject | null = object("event", data)): Write => ({
      ...put("/event/1", value),
      seldomRead: true,
    })
    await store.write(event(1))
    await store.write(put("/a/1", object("1"), 0))
    const inMemory = (key: string, of = store) => {
      const first = of.get(key)
      return of.get(key) === first
    }
    // then it is read from the file each time
    expect([inMemory("/event/1"), inMemory("/a/1")]).toEqual([false, true])
    expect(store.get("/event/1")!.object).toMatchObject(object("event", 1))
    expect(store.list("/event/").map(({ object }) => object.metadata.resourceVersion)).toEqual(["1"])

    // and when it is superseded, then watchers are told of the state before
    const seen: StorageEvent[] = []
    store.subscribe((events) => seen.push(...events))
    await store.write(event(2))
    expect(seen[0]).toMatchObject({ type: "update", previous: { object: object("event", 1) } })

    // and after a start it is on disk only, and can be deleted
    store.close()
    const again = new SqliteStorage(options)
    expect([inMemory("/event/1", again), inMemory("/a/1", again)]).toEqual([false, true])
    expect(again.list("/").map(({ key }) => key)).toEqual(["/a/1", "/event/1"])
    again.subscribe((events) => seen.push(...events))
    await again.write(event(2, null))
    expect(seen[1]).toMatchObject({ type: "delete", stored: { object: object("event", 2) } })
    expect(again.get("/event/1")).toBeUndefined()
    again.close()
  })

  test("returns the content of a list although the objects have changed, until that is compacted", async () => {
    // given objects that are on disk only, and a reader that has not come to their content yet
    const clock = new VirtualClock(0)
    clock.exact = true
    const store = new SqliteStorage({ clock, frozen: true, file: newFile() })
    const write = (name: string, value: KubeObject | null): Write => ({
      ...put(`/registry/core/events/a/${name}`, value),
      seldomRead: true,
    })
    const names = Array.from({ length: 300 }, (_, i) => `event-${1000 + i}`)
    await Promise.all(names.map((name) => store.write(write(name, object(name)))))
    const listed = [
      store.list("/registry/core/events/"),
      store.list("/registry/core/events/a/"),
      store.page("/registry/core/events/", undefined, 500).items,
    ]
    // when they are changed and deleted
    await Promise.all(names.map((name, i) => store.write(write(name, i % 2 === 0 ? null : object("new")))))
    await clock.advance(120_000)
    // then the reader gets what was there, and others get what is there now
    for (const list of listed) expect(list.map((stored) => stored.object.metadata.name)).toEqual(names)
    expect(store.list("/registry/core/events/").map((stored) => stored.object.metadata.name)).toEqual(
      Array.from({ length: 150 }, () => "new"),
    )
    // and once the history is compacted, the reader is told so
    store.compact(store.revision)
    await clock.advance(1000)
    expect(() => listed[0]![0]!.object).toThrow("it has been compacted")
    expect(store.list("/registry/core/events/")[0]!.object.metadata.name).toBe("new")
    store.close()
  })

  test("keeps superseded states while an image is read, and deletes them afterwards", async () => {
    // given two images of an object that is on disk only
    const clock = new VirtualClock(0)
    clock.exact = true
    const store = new SqliteStorage({ clock, frozen: true, file: newFile() })
    const write = (data: number): Write => ({
      ...put("/registry/core/events/a/1", object("1", data)),
      seldomRead: true,
    })
    await store.write(write(1))
    const [first, second] = [store.image(), store.image()]
    // when it is changed and the history compacted, and one image is ended, twice
    await store.write(write(2))
    store.compact(store.revision)
    first.end()
    first.end()
    await clock.advance(1000)
    // then the other can be read until it is ended, too
    expect(second.objects[0]!.object).toMatchObject(object("1", 1))
    second.end()
    await clock.advance(1000)
    expect(() => second.objects[0]!.object).toThrow("it has been compacted")
    store.close()
  })

  test("shows rarely read objects and others of a resource some at a time, in one order", async () => {
    // given objects that are on disk only, and others between them
    const store = open(newFile())
    const prefix = "/registry/core/events/a/"
    for (let i = 0; i < 60; i++)
      await store.write({ ...put(`${prefix}event-${1000 + i}`, object(`${i}`)), seldomRead: i % 3 !== 0 })
    // when they are read, seven at a time
    const names: (string | undefined)[] = []
    const left: number[] = []
    for (let after: string | undefined; left.at(-1) !== 0;) {
      const { items, remaining } = store.page(prefix, after, 7)
      names.push(...items.map((stored) => stored.object.metadata.name))
      left.push(remaining)
      after = items.at(-1)!.key
    }
    // then each was there once, and the rest was counted
    expect(names).toEqual(Array.from({ length: 60 }, (_, i) => `${i}`))
    expect(left).toEqual([53, 46, 39, 32, 25, 18, 11, 4, 0])
    expect(store.list(prefix).map((stored) => stored.object.metadata.name)).toEqual(names)
    expect(store.page(prefix, undefined, 0)).toEqual({ items: [], remaining: 60 })
    expect(store.image().objects).toHaveLength(60)
    store.close()
  })

  test("sends watchers the previous state of a rarely read object, even if the write itself trims memory", async () => {
    // given an object of that sort, and so many writes staged after the next one to it that memory is trimmed with them
    const store = open(newFile())
    const event = (data: number): Write => ({
      ...put("/event/1", object("event", data)),
      seldomRead: true,
    })
    const others = (round: number) =>
      Array.from({ length: 2000 }, (_, i) => store.write(put(`/a/${round}-${i}`, object("other"), 0)))
    await store.write(event(1))
    await Promise.all(others(1))
    await Promise.all(others(2))
    const before: unknown[] = []
    store.subscribe((events) => before.push(...events.flatMap(({ previous }) => (previous ? [previous.object] : []))))
    // when
    await Promise.all([store.write(event(2)), ...others(3)])
    // then
    expect(before).toMatchObject([object("event", 1)])
    store.close()
  })

  test("rejects every write of a batch that does not fit on the disk, and works again when there is room", async () => {
    // given a store that may not grow: SQLite's own limit of pages stands for a full disk
    const file = newFile()
    const store = open(file)
    await store.write(put("/a/1", object("1"), 0))
    store.limitPages(10)
    // when a batch is too large for it
    const big = "x".repeat(200_000)
    const outcomes = await Promise.all([
      errorOf(store.write(put("/a/2", object("2", big), 0))),
      errorOf(store.write(put("/a/3", object("3"), 0))),
    ])
    // then nothing of it has happened
    expect(outcomes.map(({ code }) => code)).toEqual(["full", "full"])
    expect([store.revision, store.get("/a/3")]).toEqual([1, undefined])
    expect(store.problem?.code).toBe("full")
    // and when there is room, writing goes on with the next revision
    store.limitPages(1_000_000)
    expect((await store.write(put("/a/2", object("2", big), 0))).revision).toBe(2)
    expect(store.problem).toBeUndefined()
    store.close()
  })

  test("notices by itself when there is room again, even without writes", async () => {
    // given a store whose last write did not fit, under a clock that is moved by hand
    const clock = new VirtualClock(0)
    const store = new SqliteStorage({ clock, file: newFile() })
    await store.write(put("/a/1", object("1"), 0))
    store.limitPages(10)
    expect((await errorOf(store.write(put("/a/2", object("2", "x".repeat(200_000)), 0)))).code).toBe("full")
    // when time passes and there is no room, then the problem stays
    await clock.advance(60_000)
    expect(store.problem?.code).toBe("full")
    // when there is room, then it ends within seconds
    store.limitPages(1_000_000)
    await clock.advance(5000)
    expect(store.problem).toBeUndefined()
    store.close()
  })
})
