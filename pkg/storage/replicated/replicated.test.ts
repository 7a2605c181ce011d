import { describe, expect, test } from "bun:test"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { VirtualClock } from "../../clock/virtual.ts"
import { StorageError, type StorageEvent, type Write } from "../storage.ts"
import { FatalError } from "../../failure/fatal-error.ts"
import type { SharedLogObserver } from "./shared-log.ts"
import { MemoryLog, type Mishap } from "./memory-log.fixtures.ts"
import { ReplicatedStorage } from "./replicated.ts"

const object = (name: string, data: unknown = 1): KubeObject & { data: unknown } => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name },
  data,
})
const put = (key: string, value: KubeObject | null, expected?: number): Write => ({
  key,
  object: value,
  expected,
  time: 1000,
  author: "tester",
})
const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "ok",
    (err: unknown) => (err instanceof StorageError ? err.code : String(err)),
  )
const dataOf = (store: ReplicatedStorage, key: string): unknown =>
  (store.get(key)?.object as { data?: unknown } | undefined)?.data

const clock = new VirtualClock(0)
const serverOf = (log: MemoryLog) =>
  ReplicatedStorage.open({
    clock,
    frozen: true,
    log: log.connect(),
    parse: (_, json) => JSON.parse(json) as KubeObject,
  })

describe("servers that share a log", () => {
  test("end where a change of the log can be applied only in part", async () => {
    // given a store, and what its log calls
    const log = new MemoryLog().connect()
    let observer: SharedLogObserver | undefined
    const watch: typeof log.watch = (after, told) => log.watch(after, (observer = told))
    const store = await ReplicatedStorage.open({
      clock,
      log: Object.assign(Object.create(log) as typeof log, { watch }),
      parse: (_, json) => JSON.parse(json) as KubeObject,
    })
    // when the second of two changes cannot be applied
    const first = { key: "/a/1", revision: 1, value: undefined }
    const apply = () => observer!.advanced([first, undefined as never], 2)
    // then the error is one that nothing contains
    expect(apply).toThrow(FatalError)
    store.close()
  })

  test("report a change to all subscribers, although one of them throws", async () => {
    // given
    const failures: unknown[] = []
    const store = await ReplicatedStorage.open({
      clock,
      log: new MemoryLog().connect(),
      parse: (_, json) => JSON.parse(json) as KubeObject,
      onListenerError: (err) => failures.push(err),
    })
    const told: string[] = []
    store.subscribe(() => {
      throw new Error("a defect")
    })
    store.subscribe((events) => void told.push(...events.map(({ key }) => key)))
    // when
    await store.write(put("/a/1", object("1"), 0))
    await store.write(put("/a/2", object("2"), 0))
    // then
    expect(told).toEqual(["/a/1", "/a/2"])
    expect(failures).toEqual([new Error("a defect"), new Error("a defect")])
    store.close()
  })

  test("send their subscribers the same events in the same order, whichever server wrote", async () => {
    // given two servers, of which one opens when there are objects already
    const log = new MemoryLog()
    const one = await serverOf(log)
    await one.write(put("/a/1", object("1"), 0))
    await one.write(put("/a/2", object("2"), 0))
    const two = await serverOf(log)
    expect(two.list("/a/").map(({ object }) => object.metadata.resourceVersion)).toEqual(["1", "2"])
    const told: [string[], string[]] = [[], []]
    const note = (which: 0 | 1) => (events: readonly StorageEvent[]) =>
      void told[which].push(...events.map(({ type, key, stored }) => `${type} ${key} ${stored.revision}`))
    one.subscribe(note(0))
    two.subscribe(note(1))
    // when both write
    await one.write(put("/a/1", object("1", 2), 1))
    await two.freshen()
    await two.write(put("/a/1", null, 3))
    await one.freshen()
    await one.write(put("/a/3", object("3"), 0))
    await two.freshen()
    // then both have told the same
    expect(told[0]).toEqual(["update /a/1 3", "delete /a/1 4", "create /a/3 5"])
    expect(told[1]).toEqual(told[0])
    expect(two.list("/a/").map(({ object }) => object)).toEqual(one.list("/a/").map(({ object }) => object))
  })

  test("refuse a write if another server's write came first, and have that write in memory afterwards", async () => {
    const log = new MemoryLog()
    const [one, two] = [await serverOf(log), await serverOf(log)]
    await one.write(put("/a/1", object("1"), 0))
    await two.freshen()
    // when both update the same revision at the same time
    const both = [one.write(put("/a/1", object("1", "one"), 1)), two.write(put("/a/1", object("1", "two"), 1))]
    expect((await Promise.all(both.map(codeOf))).sort()).toEqual(["conflict", "ok"])
    // then the refused server has the other one's object in memory
    expect(dataOf(one, "/a/1")).toBe(dataOf(two, "/a/1"))
    expect([one.get("/a/1")?.revision, two.get("/a/1")?.revision]).toEqual([2, 2])
  })

  test("write without an expected revision, whatever another server has written meanwhile", async () => {
    const log = new MemoryLog()
    const [one, two] = [await serverOf(log), await serverOf(log)]
    await one.write(put("/a/1", object("1"), 0))
    await two.freshen()
    const both = [one.write(put("/a/1", object("1", "one"))), two.write(put("/a/1", object("1", "two")))]
    expect(await Promise.all(both.map(codeOf))).toEqual(["ok", "ok"])
  })

  test("report a commit that marks and deletes an object as one deletion", async () => {
    const store = await serverOf(new MemoryLog())
    await store.write(put("/a/1", object("1"), 0))
    const told: string[] = []
    store.subscribe((events) => told.push(...events.map(({ type, revision }) => `${type} ${revision}`)))
    const [, removed] = await store.writeAll([put("/a/1", object("1", "marked"), 1), put("/a/1", null)])
    expect(removed!.object).toMatchObject({ data: "marked", metadata: { resourceVersion: "2" } })
    expect(told).toEqual(["delete 2"])
  })
})

describe("a commit whose response was lost", () => {
  const outcomes: {
    title: string
    mishaps: Mishap[]
    write: Write
    wants: { outcome: string; data: unknown }
  }[] = [
    {
      title: "succeeds if its change comes from the log",
      mishaps: ["after"],
      write: put("/a/1", object("1", "new"), 1),
      wants: { outcome: "ok", data: "new" },
    },
    {
      title: "is sent again if its change does not come",
      mishaps: ["before", "before"],
      write: put("/a/1", object("1", "new"), 1),
      wants: { outcome: "ok", data: "new" },
    },
    {
      title: "succeeds if its change comes late and the second attempt is refused because of it",
      mishaps: ["late"],
      write: put("/a/1", object("1", "new"), 1),
      wants: { outcome: "ok", data: "new" },
    },
    {
      title: "has an unknown outcome if the log cannot be reached for the second attempt",
      mishaps: ["late", "unreached"],
      write: put("/a/1", object("1", "new"), 1),
      wants: { outcome: "unknown", data: 1 },
    },
    {
      title: "has an unknown outcome if it is a deletion and the object is gone",
      mishaps: ["after"],
      write: put("/a/1", null, 1),
      wants: { outcome: "unknown", data: undefined },
    },
  ]
  test.each(outcomes)("$title", async ({ mishaps, write, wants }) => {
    const log = new MemoryLog()
    const store = await serverOf(log)
    await store.write(put("/a/1", object("1"), 0))
    log.mishaps.push(...mishaps)
    expect(await codeOf(store.write(write))).toBe(wants.outcome)
    expect(dataOf(store, "/a/1")).toBe(wants.data)
  })

  test("is a conflict if another server's write came first", async () => {
    const log = new MemoryLog()
    const [one, two] = [await serverOf(log), await serverOf(log)]
    await one.write(put("/a/1", object("1"), 0))
    await two.freshen()
    log.mishaps.push("before")
    const lost = one.write(put("/a/1", object("1", "one"), 1))
    expect(await codeOf(two.write(put("/a/1", object("1", "two"), 1)))).toBe("ok")
    expect(await codeOf(lost)).toBe("conflict")
    expect(dataOf(one, "/a/1")).toBe("two")
  })
})

describe("while the log cannot be reached", () => {
  test("reads continue, writes and catching up fail, and the store reports it until the log is back", async () => {
    // given a store that has lost its log
    const log = new MemoryLog()
    const store = await serverOf(log)
    const other = await serverOf(log)
    await store.write(put("/a/1", object("1"), 0))
    log.lose()
    // then
    expect(dataOf(store, "/a/1")).toBe(1)
    expect(await codeOf(store.write(put("/a/2", object("2"), 0)))).toBe("unavailable")
    expect(await codeOf(store.freshen())).toBe("unavailable")
    expect(store.problem?.message).toBe("The store cannot be reached: no server answers")
    // when it comes back
    log.lost = undefined
    await clock.advance(5000)
    // then both servers go on, and the one that wrote nothing has missed no change
    expect(store.problem).toBeUndefined()
    await store.write(put("/a/2", object("2"), 0))
    await other.freshen()
    expect(other.list("/a/").map(({ key }) => key)).toEqual(["/a/1", "/a/2"])
  })

  test("a server whose missed changes were compacted reports the differences", async () => {
    // given two servers, of which one loses the log
    const log = new MemoryLog()
    const [one, two] = [await serverOf(log), await serverOf(log)]
    for (const name of ["1", "2", "3"]) await one.write(put(`/a/${name}`, object(name), 0))
    await two.freshen()
    const told: string[] = []
    two.subscribe((events) => told.push(...events.map(({ type, key }) => `${type} ${key}`)))
    log.lose()
    log.lost = undefined
    // when the other one writes and compacts before the log is back
    const three = await serverOf(log)
    await three.write(put("/a/1", null, 1))
    await three.write(put("/a/2", object("2", "new"), 2))
    await three.write(put("/a/4", object("4"), 0))
    log.compacted = log.revision
    await clock.advance(5000)
    await two.freshen()
    // then
    expect(told).toEqual(["update /a/2", "create /a/4", "delete /a/1"])
    expect(two.list("/a/").map(({ key }) => key)).toEqual(["/a/2", "/a/3", "/a/4"])
    expect(() => two.since(3)).toThrow("compacted")
  })
})

test("a store keeps the newest events within its limit of bytes", async () => {
  const store = await ReplicatedStorage.open({
    clock,
    log: new MemoryLog().connect(),
    parse: (_, json) => JSON.parse(json) as KubeObject,
    historyBytes: 10_000,
  })
  for (let i = 0; i < 40; i++) await store.write(put("/a/1", object("1", "x".repeat(1000)), i))
  const kept = 40 - store.compactedRevision
  expect(kept).toBeWithin(8, 16)
  expect(store.since(store.compactedRevision).length).toBe(kept)
  expect(() => store.since(store.compactedRevision - 1)).toThrow("compacted")
})
