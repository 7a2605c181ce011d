import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { StorageError } from "../../../pkg/storage/storage.ts"
import type { RegistryContext } from "../registry/context.ts"
import { watch } from "../registry/verbs/watch.ts"
import type { ApiRequest, RequestOptions } from "../request.ts"
import { ClientHistory } from "./client-history.ts"
import type { WatchBatch, WatchFrame } from "./frame.ts"
import { startUpkeep } from "./upkeep.ts"
import { WatchHub } from "./watch-hub.ts"

/** A clock whose time the test advances, while turns of the event loop are real. */
function handClock() {
  let now = 0
  const timers = new Set<{ at: number; run: () => void }>()
  const clock: Clock = {
    ...realClock,
    now: () => now,
    monotonic: () => now,
    setTimeout(run, ms) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return { cancel: () => void timers.delete(timer) }
    },
  }
  const pass = (ms: number) => {
    for (const end = now + ms; ;) {
      const next = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) return void (now = end)
      timers.delete(next)
      now = next.at
      next.run()
    }
  }
  return { clock, pass, timers }
}

function stage() {
  const { clock, pass, timers } = handClock()
  const storage = new MemoryStorage({ clock, frozen: true })
  const history = new ClientHistory({ storage, clock })
  const hub = new WatchHub({ storage, clock, history })
  const put = (name: string, labels: Record<string, string> = {}) =>
    storage.write({
      key: `/registry/core/configmaps/default/${name}`,
      object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default", labels } },
      expected: undefined,
      time: clock.now(),
      author: "x",
    })
  const open = (
    options: RequestOptions,
    accept: (batch: WatchBatch) => boolean = () => true,
    namespace?: string,
    more: Partial<ApiRequest> = {},
  ) => {
    const seen: string[] = []
    const frames: WatchFrame[] = []
    let end: { error: ApiError | undefined } | undefined
    const handle = watch(
      { storage, hub } as unknown as RegistryContext,
      {
        user: { name: "x", groups: [] },
        verb: "watch",
        resource: ConfigMap,
        namespace,
        options,
        warn: () => undefined,
        ...more,
      },
      {
        send(sent) {
          for (const frame of sent.frames) {
            frames.push(frame)
            const { name, resourceVersion, annotations } = frame.stored.object.metadata
            seen.push(
              `${frame.type} ` +
                `${name ?? ""}@${resourceVersion}${annotations?.["k8s.io/initial-events-end"] === "true" ? " end" : ""}`,
            )
          }
          return accept(sent)
        },
        end: (error) => void (end = { error }),
      },
    )
    return { seen, frames, handle, ended: () => end }
  }
  return { storage, hub, put, open, pass, timers, clock }
}

describe("a watch", () => {
  test("begins with the existing objects, or after a revision", async () => {
    const { put, open } = stage()
    await put("a")
    await put("b")
    expect(open({}).seen).toEqual(["ADDED a@1", "ADDED b@2"])
    expect(open({ resourceVersion: "0" }).seen).toEqual(["ADDED a@1", "ADDED b@2"])
    expect(open({ resourceVersion: "1" }).seen).toEqual(["ADDED b@2"])
    const late = open({ resourceVersion: "2" })
    await put("b")
    expect(late.seen).toEqual(["MODIFIED b@3"])
  })

  test("marks the end of its initial events when bookmarks may come", async () => {
    const { put, open } = stage()
    await put("a")
    expect(
      open({ sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: true }).seen,
    ).toEqual(["ADDED a@1", "BOOKMARK @1 end"])
    for (const resourceVersion of [undefined, "0"])
      expect(open({ ...(resourceVersion && { resourceVersion }), allowWatchBookmarks: true }).seen).toEqual([
        "ADDED a@1",
        "BOOKMARK @1 end",
      ])
    expect(open({ sendInitialEvents: false, resourceVersionMatch: "NotOlderThan" }).seen).toEqual([])
    expect(() => open({ sendInitialEvents: true })).toThrow(
      "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    )
  })

  test("ends with 410 when the log has been compacted beyond its revision, and is refused for a revision in the future", async () => {
    const { put, open, storage } = stage()
    for (const name of ["a", "b", "c"]) await put(name)
    storage.compact(2)
    expect(open({ resourceVersion: "1" }).ended()?.error).toMatchObject({
      code: 410,
      reason: "Expired",
      message: "too old resource version: 1 (2)",
    })
    expect(() => open({ resourceVersion: "99" })).toThrow("Too large resource version: 99, current: 3")
  })

  test("gets bookmarks with the current revision, the last one when its timeout is due", async () => {
    const { put, open, storage, pass, timers } = stage()
    await put("a")
    const watch = open({ resourceVersion: "1", allowWatchBookmarks: true, timeoutSeconds: 90 })
    await storage.write({
      key: "/registry/core/secrets/default/s",
      object: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } },
      expected: 0,
      time: 0,
      author: "x",
    })
    pass(60_000)
    expect(watch.seen).toEqual(["BOOKMARK @2"])
    pass(30_000)
    expect(watch.ended()).toEqual({ error: undefined })
    expect(timers.size).toBe(0)
  })

  test("of this process gets bookmarks seldom, but often enough to resume within the kept history", async () => {
    const { open, storage, pass, timers } = stage()
    const near = open({ resourceVersion: "0", allowWatchBookmarks: true }, () => true, undefined, { inProcess: true })
    await storage.write({
      key: "/registry/core/secrets/default/s",
      object: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } },
      expected: 0,
      time: 0,
      author: "x",
    })
    // when
    pass(14 * 60_000)
    const early = near.seen.length
    pass(60_000)
    // then
    expect([early, near.seen]).toEqual([1, ["BOOKMARK @0 end", "BOOKMARK @1"]])
    near.handle.close()
    expect(timers.size).toBe(0)
  })

  test("is closed when its client reads too slowly, and other watches continue", async () => {
    const { put, open } = stage()
    const slow = open({ resourceVersion: "0" }, () => false)
    const quick = open({ resourceVersion: "0" })
    await put("a")
    await put("b")
    expect(slow.seen).toEqual(["ADDED a@1"])
    expect(slow.ended()).toBeDefined()
    expect(quick.seen).toEqual(["ADDED a@1", "ADDED b@2"])
  })

  test("shares the encoded bytes of an event with all watches that get the same event", async () => {
    const { put, open } = stage()
    const [one, two, some] = [open({}), open({}), open({ labelSelector: "x=1" })]
    await put("a", { x: "1" })
    expect(one.frames[0]!.line).toBe(two.frames[0]!.line)
    expect(new TextDecoder().decode(some.frames[0]!.line)).toBe(
      `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","labels":{"x":"1"},"resourceVersion":"1"}}}\n`,
    )
  })

  test("gets only events of its own namespace, with and without a selector", async () => {
    const { hub, put, open } = stage()
    // given watches of everything, of one namespace and of another
    const [all, here, some, elsewhere] = [
      open({}),
      open({}, undefined, "default"),
      open({ labelSelector: "x=1" }, undefined, "default"),
      open({}, undefined, "other"),
    ]
    expect(hub.counts()).toEqual(new Map([["/registry/core/configmaps/", 4]]))
    // when objects of the one change
    await Promise.all([put("a"), put("b", { x: "1" })])
    // then those who see that namespace hear of it, until they are closed
    expect([all, here, some, elsewhere].map(({ seen }) => seen)).toEqual([
      ["ADDED a@1", "ADDED b@2"],
      ["ADDED a@1", "ADDED b@2"],
      ["ADDED b@2"],
      [],
    ])
    for (const watch of [all, here, some]) watch.handle.close()
    await put("a")
    expect(here.seen).toHaveLength(2)
    expect(hub.counts()).toEqual(new Map([["/registry/core/configmaps/", 1]]))
    elsewhere.handle.close()
    expect(hub.counts()).toEqual(new Map())
  })
})

describe("compaction and expiry", () => {
  test("compact revisions older than the window, and delete expired objects", async () => {
    const { storage, put, clock, pass, timers } = stage()
    const stop = startUpkeep({
      storage,
      clock,
      log: silent,
      resources: [{ ...ConfigMap, ttlSeconds: 3600 }],
      historyMs: 4000,
    })
    await put("old")
    await put("b")
    pass(3000)
    expect(storage.compactedRevision).toBe(0)
    pass(3000)
    expect(storage.compactedRevision).toBe(2)
    // an hour later the one that was written again in between stays
    await put("b")
    pass(3_600_000 - 2000)
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(storage.list("/registry/core/configmaps/").map(({ key }) => key)).toEqual([
      "/registry/core/configmaps/default/b",
    ])
    stop()
    expect(timers.size).toBe(0)
  })

  test("leave expired objects for ten minutes to a store that deletes them by itself", async () => {
    const { storage, put, clock, pass } = stage()
    await put("a")
    const resources = [{ ...ConfigMap, ttlSeconds: 3600 }]
    const store = Object.assign(storage, { expires: true })
    const stop = startUpkeep({ storage: store, clock, log: silent, resources, historyMs: 3_600_000 })
    pass(4_200_000 - 1)
    await new Promise((resolve) => setImmediate(resolve))
    expect(storage.list("/registry/core/configmaps/")).toHaveLength(1)
    pass(60_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect(storage.list("/registry/core/configmaps/")).toEqual([])
    stop()
  })

  test("delete any number of expired objects within moments, in several parts", async () => {
    const { storage, put, clock, pass } = stage()
    for (let i = 0; i < 500; i++) await put(String(i))
    const resources = [{ ...ConfigMap, ttlSeconds: 60 }]
    const stop = startUpkeep({ storage, clock, log: silent, resources, historyMs: 3_600_000 })
    pass(60_000)
    for (let i = 0; i < 20; i++) {
      pass(1)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(storage.list("/registry/core/configmaps/")).toHaveLength(0)
    stop()
  })

  test("try again a minute later when the store fails to delete expired objects", async () => {
    // given more expired objects than are deleted at once, and a store that takes no writes
    const { storage, put, clock, pass, timers } = stage()
    for (let i = 0; i < 300; i++) await put(String(i))
    let attempts = 0
    storage.write = () => {
      attempts++
      return Promise.reject(new StorageError("unavailable", "the store is away"))
    }
    const resources = [{ ...ConfigMap, ttlSeconds: 60 }]
    const stop = startUpkeep({ storage, clock, log: silent, resources, historyMs: 3_600_000 })
    const passing = async (ms: number) => {
      pass(ms)
      await new Promise((resolve) => setImmediate(resolve))
    }
    // when
    await passing(60_000)
    for (let i = 0; i < 10; i++) await passing(1000)
    // then
    expect(attempts).toBe(200)
    await passing(60_000)
    expect(attempts).toBe(400)
    stop()
    expect(timers.size).toBe(0)
  })
})
