import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { silent } from "../../../pkg/log/log.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import type { RegistryContext } from "../registry/context.ts"
import { watch } from "../registry/verbs/watch.ts"
import { GRANT } from "../call/grant.fixtures.ts"
import type { ApiRequest, AuthorizedRequest, RequestOptions } from "../call/request.ts"
import { ClientHistory } from "./client-history.ts"
import type { WatchBatch, WatchFrame } from "../call/frame.ts"
import { handClock } from "./hand-clock.fixtures.ts"
import { WatchHub } from "./watch-hub.ts"

function stage() {
  const { clock, pass, timers } = handClock()
  const storage = new MemoryStorage({ clock, frozen: true })
  const history = new ClientHistory({ storage, clock })
  const hub = new WatchHub({ storage, clock, log: silent, history })
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
    onEnd: () => void = () => undefined,
  ) => {
    const seen: string[] = []
    const frames: WatchFrame[] = []
    let end: { error: ApiError | undefined } | undefined
    const handle = watch(
      { storage, hub } as unknown as RegistryContext,
      {
        user: { name: "x", groups: [] },
        grant: GRANT,
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
        end(error) {
          end = { error }
          onEnd()
        },
      },
    )
    return { seen, frames, handle, ended: () => end }
  }
  return { storage, hub, put, open, pass, timers, clock }
}

describe("a watch", () => {
  test("does not hold the objects with which it began", async () => {
    // given watches that have sent what there was
    const { storage, hub, put } = stage()
    const began = new Map<string, WeakRef<object>>()
    const sink = { send: () => true, end: () => undefined }
    const request = { user: { name: "x", groups: [] }, verb: "watch", resource: ConfigMap, options: {} }
    const open = () =>
      watch({ storage, hub } as unknown as RegistryContext, request as unknown as AuthorizedRequest, sink)
    for (let i = 0; i < 20; i++) {
      const { object } = await put(`c${i}`)
      began.set(`c${i}`, new WeakRef(object))
    }
    const handles = Array.from({ length: 5 }, open)
    // when each object is replaced, and the history that has the earlier ones is gone
    for (const name of began.keys()) await put(name, { changed: "yes" })
    storage.compact(storage.revision)
    const left = () => [...began.values()].filter((ref) => ref.deref() !== undefined).length
    // A collection that has begun before knows nothing of it.
    for (let tries = 0; left() >= 5 && tries < 50; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 0))
      Bun.gc(true)
    }
    // then all but a few, which the collector may take for referenced, are collected
    expect(left()).toBeLessThan(5)
    for (const handle of handles) handle.close()
  })

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

  test("whose receiver throws ends with an error, and all others get every event", async () => {
    // given three watches of the same objects, of which the second cannot take an event
    const { put, open } = stage()
    const first = open({ resourceVersion: "0" })
    const broken = open({ resourceVersion: "0" }, () => {
      throw new TypeError("a mistake in the encoder")
    })
    const selecting = open({ resourceVersion: "0", labelSelector: "app=web" })
    const last = open({ resourceVersion: "0" })
    // when
    await put("a", { app: "web" })
    await put("b", { app: "web" })
    // then
    for (const { seen, ended } of [first, selecting, last]) {
      expect(seen).toEqual(["ADDED a@1", "ADDED b@2"])
      expect(ended()).toBeUndefined()
    }
    expect(broken.seen).toEqual(["ADDED a@1"])
    expect(broken.ended()?.error).toMatchObject({ code: 500, reason: "InternalError" })
    // and it can begin again where it was
    expect(open({ resourceVersion: "1" }).seen).toEqual(["ADDED b@2"])
  })

  test("that begins with an object that cannot be sent ends with an error", async () => {
    // given
    const { storage, hub, put } = stage()
    await put("a")
    const ends: unknown[] = []
    const request = { user: { name: "x", groups: [] }, verb: "watch", resource: ConfigMap, options: {} }
    // when
    watch({ storage, hub } as unknown as RegistryContext, request as unknown as AuthorizedRequest, {
      sendFirst: (_frames, failed) => failed(new TypeError("a mistake in the encoder")),
      send: () => true,
      end: (error) => void ends.push(error),
    })
    // then
    expect(ends).toMatchObject([{ code: 500, reason: "InternalError" }])
    expect([...hub.counts().values()]).toEqual([])
  })

  test("whose receiver throws at the end keeps no other from its end", () => {
    // given
    const { hub, open } = stage()
    const first = open({}, undefined, undefined, {}, () => {
      throw new TypeError("a mistake about a socket")
    })
    const last = open({})
    // when
    hub.close()
    // then
    expect([first.ended(), last.ended()]).toEqual([{ error: undefined }, { error: undefined }])
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
