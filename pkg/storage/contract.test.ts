import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubeObject } from "../apimachinery/resource.ts"
import { seededRandom } from "../clock/random.ts"
import { realClock } from "../clock/real.ts"
import { MemoryStorage } from "./memory.ts"
import { MemoryLog } from "./replicated/memory-log.fixtures.ts"
import { ReplicatedStorage } from "./replicated/replicated.ts"
import { SqliteStorage } from "./sqlite/sqlite.ts"
import { StorageError, type Storage, type StorageEvent, type Write } from "./storage.ts"

const directory = mkdtempSync(join(tmpdir(), "k3ts-storage-"))
afterAll(() => rmSync(directory, { recursive: true }))

let files = 0
const stores: Record<string, () => Storage | Promise<Storage>> = {
  memory: () => new MemoryStorage({ clock: realClock, frozen: true }),
  sqlite: () => new SqliteStorage({ clock: realClock, frozen: true, file: join(directory, `${files++}.db`) }),
  replicated: () =>
    ReplicatedStorage.open({
      clock: realClock,
      frozen: true,
      log: new MemoryLog().connect(),
      parse: (_, json) => JSON.parse(json) as KubeObject,
    }),
}

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
const parsed = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes))

describe.each(Object.keys(stores))("%s store", (kind) => {
  const open = stores[kind]!

  test("between returns the events of a range that a filter selects", async () => {
    // given writes of two users to objects of two resources
    const store = await open()
    await store.write({ ...put("/a/1", object("1")), author: "alice" })
    const { revision } = await store.write(put("/a/2", object("2")))
    await store.write({ ...put("/b/1", object("1")), author: "alice" })
    await store.write({ ...put("/a/1", null), author: "alice" })
    // when ranges are read
    const keys = (...[after, upTo, filter]: Parameters<Storage["between"]>) =>
      store.between(after, upTo, filter).map(({ type, key }) => `${type} ${key}`)
    // then a range begins after its first revision and ends with its last one
    expect(keys(0, store.revision)).toEqual(["create /a/1", "create /a/2", "create /b/1", "delete /a/1"])
    expect(keys(revision, store.revision, { prefix: "/a/" })).toEqual(["delete /a/1"])
    expect(keys(0, revision, { prefix: "/a/" })).toEqual(["create /a/1", "create /a/2"])
    expect(keys(0, store.revision, { key: "/a/1" })).toEqual(["create /a/1", "delete /a/1"])
    if (kind !== "replicated") expect(keys(0, store.revision, { author: "tester" })).toEqual(["create /a/2"])
    // and a part that was compacted is refused
    store.compact(revision)
    expect(() => store.between(0, store.revision)).toThrow("have been compacted")
  })

  test("gives each write the next revision, and its object that resourceVersion", async () => {
    const store = await open()
    const a = await store.write(put("/a/1", object("1"), 0))
    const b = await store.write(put("/a/2", object("2"), 0))
    expect([a.revision, b.revision, store.revision]).toEqual([1, 2, 2])
    expect(a.object.metadata.resourceVersion).toBe("1")
    expect(store.get("/a/2")).toBe(b)
    expect(parsed(b.json)).toEqual({ ...object("2"), metadata: { name: "2", resourceVersion: "2" } })
    store.close()
  })

  test("returns an image of all objects at one revision, which later writes do not change", async () => {
    // given objects of several kinds, of which one is seldom read
    const store = await open()
    for (let i = 0; i < 5; i++) await store.write(put(`/registry/core/a/${i}`, object(String(i)), 0))
    await store.write({ ...put("/registry/core/events/x/e", object("e"), 0), seldomRead: true })
    // when an image is taken, and everything is changed or deleted before it is read
    const { revision, objects, end } = store.image()
    for (let i = 0; i < 5; i++) await store.write(put(`/registry/core/a/${i}`, i % 2 === 0 ? null : object("new")))
    await store.write({ ...put("/registry/core/events/x/e", null), seldomRead: true })
    await store.write(put("/registry/core/a/later", object("later"), 0))
    store.compact(store.revision)
    // then it has what was there
    expect(revision).toBe(6)
    expect(new Set(objects.map(({ json }) => (parsed(json) as KubeObject).metadata.name))).toEqual(
      new Set(["0", "1", "2", "3", "4", "e"]),
    )
    end()
    store.close()
  })

  test("refuses a write whose expected revision is wrong, and returns the current one", async () => {
    const store = await open()
    await store.write(put("/a/1", object("1"), 0))
    expect(await codeOf(store.write(put("/a/1", object("1"), 0)))).toBe("exists")
    expect(await codeOf(store.write(put("/a/1", object("1"), 7)))).toBe("conflict")
    expect(await codeOf(store.write(put("/a/2", object("2"), 7)))).toBe("missing")
    expect(await codeOf(store.write(put("/a/2", null)))).toBe("missing")
    const refused = await store.write(put("/a/1", object("1"), 7)).catch((err: unknown) => err)
    expect((refused as StorageError).current?.revision).toBe(1)
    expect(store.revision).toBe(1)
    store.close()
  })

  test("checks a write against earlier ones of the same turn, which readers do not see yet", async () => {
    const store = await open()
    const first = store.write(put("/a/1", object("1"), 0))
    const second = store.write(put("/a/1", object("1"), 0))
    const third = store.write(put("/a/1", object("1", 2), 1))
    expect(store.get("/a/1")).toBeUndefined()
    expect(await Promise.all([codeOf(first), codeOf(second), codeOf(third)])).toEqual(["ok", "exists", "ok"])
    expect(store.get("/a/1")?.revision).toBe(2)
    store.close()
  })

  test("does all writes of writeAll or none", async () => {
    const store = await open()
    await store.write(put("/a/1", object("1"), 0))
    expect(await codeOf(store.writeAll([put("/a/2", object("2"), 0), put("/a/1", object("1"), 0)]))).toBe("exists")
    expect(store.get("/a/2")).toBeUndefined()
    const both = await store.writeAll([put("/a/2", object("2"), 0), put("/a/1", object("1", 2), 1)])
    expect(both.map(({ revision }) => revision)).toEqual([2, 3])
    store.close()
  })

  test("lists a prefix in the order of the keys", async () => {
    const store = await open()
    for (const name of ["b/2", "a/1", "b/1", "bb/1", "c/1"]) await store.write(put(`/x/${name}`, object(name), 0))
    expect(store.list("/x/b/").map(({ key }) => key)).toEqual(["/x/b/1", "/x/b/2"])
    expect(store.list("/x/").map(({ key }) => key)).toEqual(["/x/a/1", "/x/b/1", "/x/b/2", "/x/bb/1", "/x/c/1"])
    expect(store.list("/y/")).toEqual([])
    store.close()
  })

  test("shows some objects of a resource at a time, and how many follow", async () => {
    const store = await open()
    for (const name of ["b/2", "a/1", "b/1", "bb/1", "c/1"]) await store.write(put(`/x/y/p/${name}`, object(name), 0))
    const page = (prefix: string, after: string | undefined, limit: number) => {
      const { items, remaining } = store.page(prefix, after, limit)
      return [items.map(({ key }) => key), remaining]
    }
    expect(page("/x/y/p/", undefined, 2)).toEqual([["/x/y/p/a/1", "/x/y/p/b/1"], 3])
    expect(page("/x/y/p/", "/x/y/p/b/1", 2)).toEqual([["/x/y/p/b/2", "/x/y/p/bb/1"], 1])
    // also after a key that is no longer there
    expect(page("/x/y/p/", "/x/y/p/bb/0", 2)).toEqual([["/x/y/p/bb/1", "/x/y/p/c/1"], 0])
    expect(page("/x/y/p/b/", undefined, 1)).toEqual([["/x/y/p/b/1"], 1])
    expect(page("/x/y/p/b/", "/x/y/p/b/2", 1)).toEqual([[], 0])
    expect(page("/x/y/q/", undefined, 5)).toEqual([[], 0])
    expect(page("/x/y/p/", undefined, 0)).toEqual([[], 5])
    store.close()
  })

  test("reports commits to subscribers in order, before the writers continue", async () => {
    const store = await open()
    const seen: StorageEvent[] = []
    const stop = store.subscribe((events) => seen.push(...events))
    await store.write(put("/a/1", object("1"), 0))
    expect(seen.length).toBe(1)
    await Promise.all([store.write(put("/a/1", object("1", 2))), store.write(put("/a/1", null))])
    expect(seen.map(({ type, revision }) => `${type} ${revision}`)).toEqual(["create 1", "update 2", "delete 3"])
    expect(seen[2]!.stored.object.metadata.resourceVersion).toBe("3")
    expect(seen[2]!.previous?.revision).toBe(2)
    stop()
    await store.write(put("/a/2", object("2")))
    expect(seen.length).toBe(3)
    store.close()
  })

  test("reports only matching keys to a subscriber with prefixes, and refuses a prefix that is a part of a resource", async () => {
    // given subscribers to two resources, to a namespace of one, and to all
    const store = await open()
    const told: string[] = []
    const note = (name: string) => (events: readonly StorageEvent[]) =>
      told.push(`${name}: ${events.map(({ key }) => key).join(" ")}`)
    store.subscribe(note("resources"), ["/registry/core/pods/", "/registry/apps/jobs/"])
    store.subscribe(note("namespace"), ["/registry/core/pods/b/"])
    store.subscribe(note("all"))
    // when
    for (const key of ["/registry/core/pods/a/1", "/registry/core/podsets/b/1", "/registry/core/pods/b/1"])
      await store.write(put(key, object("1"), 0))
    // then
    expect(told).toEqual([
      "resources: /registry/core/pods/a/1",
      "all: /registry/core/pods/a/1",
      "all: /registry/core/podsets/b/1",
      "resources: /registry/core/pods/b/1",
      "namespace: /registry/core/pods/b/1",
      "all: /registry/core/pods/b/1",
    ])
    expect(() => store.subscribe(note("part"), ["/registry/core/"])).toThrow("expected the prefix of a resource")
    // and so it is where one commit changes several resources
    told.length = 0
    await store.writeAll(
      ["/registry/core/pods/a/2", "/registry/core/podsets/b/2", "/registry/core/pods/b/2"].map((key) =>
        put(key, object("1"), 0),
      ),
    )
    expect(told).toEqual([
      "resources: /registry/core/pods/a/2 /registry/core/pods/b/2",
      "namespace: /registry/core/pods/b/2",
      "all: /registry/core/pods/a/2 /registry/core/podsets/b/2 /registry/core/pods/b/2",
    ])
    store.close()
  })

  test("returns the log after a revision, and fails if that is compacted", async () => {
    const store = await open()
    await store.write(put("/a/1", object("1"), 0))
    await store.write(put("/b/1", object("1"), 0))
    await store.write(put("/a/1", object("1", 2)))
    expect(store.since(1, "/a/").map(({ revision }) => revision)).toEqual([3])
    expect(store.since(0).map(({ revision }) => revision)).toEqual([1, 2, 3])
    expect(store.since(3)).toEqual([])
    expect(store.history("/a/1").map(({ type }) => type)).toEqual(["create", "update"])
    store.compact(2)
    expect(store.compactedRevision).toBe(2)
    expect(() => store.since(1)).toThrow("compacted")
    expect(store.since(2).map(({ revision }) => revision)).toEqual([3])
    expect(store.get("/b/1")?.revision).toBe(2)
    store.close()
  })

  test("freezes objects deeply when asked", async () => {
    const store = await open()
    const { object: stored } = await store.write(put("/a/1", object("1", { inner: [1] }), 0))
    expect(() => ((stored as unknown as { data: { inner: number[] } }).data.inner[0] = 2)).toThrow()
    store.close()
  })

  test("behaves as a plain map with a log, whatever its history", async () => {
    // given a model and random writes, several a turn
    const random = seededRandom(7)
    const store = await open()
    const model = new Map<string, number>()
    let revision = 0
    const log: string[] = []
    const seen: string[] = []
    store.subscribe((events) => seen.push(...events.map(({ type, key, revision }) => `${type} ${key} ${revision}`)))
    // A log that servers share orders the writes of a turn as they come there, so a model cannot foretell the order.
    const most = kind === "replicated" ? 0 : 6
    for (let turn = 0; turn < 150; turn++) {
      const outcomes: Promise<string>[] = []
      const expectations: string[] = []
      for (let i = 0; i < 1 + random.next() * most; i++) {
        const key = `/k/${Math.floor(random.next() * 12)}`
        const current = model.get(key)
        const dice = random.next()
        const remove = random.next() < 0.3
        const expected = dice < 0.3 ? 0 : dice < 0.7 ? current : dice < 0.9 ? (current ?? 0) + 1 : undefined
        outcomes.push(codeOf(store.write(put(key, remove ? null : object(key, turn), expected))))
        const refusal =
          expected === 0
            ? current === undefined
              ? remove
                ? "missing"
                : undefined
              : "exists"
            : current === undefined
              ? expected !== undefined || remove
                ? "missing"
                : undefined
              : expected !== undefined && expected !== current
                ? "conflict"
                : undefined
        expectations.push(refusal ?? "ok")
        if (refusal !== undefined) continue
        revision++
        log.push(`${remove ? "delete" : current === undefined ? "create" : "update"} ${key} ${revision}`)
        if (remove) model.delete(key)
        else model.set(key, revision)
      }
      // when they have been committed
      expect(await Promise.all(outcomes)).toEqual(expectations)
      // then store and model agree
      expect(store.list("/k/").map(({ key, revision }) => [key, revision])).toEqual(
        [...model].sort(([a], [b]) => (a < b ? -1 : 1)),
      )
      if (turn === 75) store.compact(Math.floor(revision / 2))
    }
    expect(seen).toEqual(log)
    const from = store.compactedRevision
    expect(store.since(from).map(({ type, key, revision }) => `${type} ${key} ${revision}`)).toEqual(log.slice(from))
    store.close()
  })
})
