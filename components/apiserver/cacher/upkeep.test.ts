import { describe, expect, spyOn, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { silent } from "../../../pkg/log/log.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { StorageError } from "../../../pkg/storage/storage.ts"
import { handClock } from "./hand-clock.fixtures.ts"
import { startUpkeep } from "./upkeep.ts"

function stage() {
  const { clock, pass, timers } = handClock()
  const storage = new MemoryStorage({ clock, frozen: true })
  const put = (name: string) =>
    storage.write({
      key: `/registry/core/configmaps/default/${name}`,
      object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } },
      expected: undefined,
      time: clock.now(),
      author: "x",
    })
  return { storage, put, clock, pass, timers }
}

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

  test("look at a part of the objects at a time, so that requests are served in between", async () => {
    // given many objects, of which the last two are old
    const { storage, put, clock, pass, timers } = stage()
    await put("y")
    await put("z")
    pass(30_000)
    for (let i = 0; i < 2200; i++) await put(String(i))
    const resources = [{ ...ConfigMap, ttlSeconds: 90 }]
    const stop = startUpkeep({ storage, clock, log: silent, resources, historyMs: 3_600_000 })
    const found: number[] = []
    const [{ page }, list] = [storage, spyOn(storage, "list")]
    storage.page = (prefix, after, limit) => {
      const answer = page.call(storage, prefix, after, limit)
      found.push(answer.items.length)
      return answer
    }
    const passing = async (ms: number) => {
      pass(ms)
      await new Promise((resolve) => setImmediate(resolve))
    }
    // when
    await passing(60_000)
    for (let i = 0; i < 3; i++) await passing(1)
    // then the last turn looks whether there are others
    expect(found).toEqual([1000, 1000, 202, 1])
    expect(list).not.toHaveBeenCalled()
    expect(storage.get("/registry/core/configmaps/default/y")).toBeUndefined()
    expect(storage.get("/registry/core/configmaps/default/z")).toBeUndefined()
    expect(storage.get("/registry/core/configmaps/default/0")).toBeDefined()
    stop()
    expect(timers.size).toBe(0)
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
