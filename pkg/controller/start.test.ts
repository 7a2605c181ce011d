import { describe, expect, test } from "bun:test"
import { ApiError } from "../apimachinery/errors.ts"
import { ConfigMap } from "../api/core/v1/configmap.ts"
import { Event } from "../api/core/v1/event/event.ts"
import { sleep } from "../clock/clock.ts"
import { silent, type LogFields, type Logger } from "../log/log.ts"
import { startCluster, type Cluster } from "../../components/cluster/testing/cluster.ts"
import { defineController, type Controller } from "./controller.ts"
import { createEventRecorder } from "./event-recorder.ts"
import { containedFailures, type Place } from "../failure/contain.ts"
import { startController, terminal } from "./start.ts"

const quiet = () => startCluster({ components: { scheduler: false, controllers: false } })
const start = (
  cluster: Cluster,
  controller: Partial<Controller<ConfigMap>> & Pick<Controller<ConfigMap>, "reconcile">,
) =>
  startController(
    defineController<ConfigMap>({
      name: "test",
      reconciles: ConfigMap,
      concerns: ({ metadata }) => metadata.namespace === "default",
      ...controller,
    }),
    cluster.contextFor("test", ["system:masters"]),
  )
const create = ({ client }: Cluster, name: string, data: Record<string, string> = {}) =>
  client.create(ConfigMap, { metadata: { name, namespace: "default" }, data })

describe("the loop that runs a controller", () => {
  test("reads its own writes before it runs again for the same key", async () => {
    await using cluster = await quiet()
    // given a controller that counts up to three, one step a run, by what it reads in the informer
    const read: number[] = []
    const controller = await start(cluster, {
      async reconcile(key, { informers, client }) {
        const object = informers.of(ConfigMap).get(key)!
        const count = Number(object.data?.["count"] ?? 0)
        read.push(count)
        if (count < 3) await client.update(ConfigMap, { ...object, data: { count: String(count + 1) } })
      },
    })
    // when
    await create(cluster, "a")
    await cluster.settle()
    // then no count was read twice before the last
    expect(read).toEqual([0, 1, 2, 3])
    await controller.stop()
  })

  test("goes on with other keys when a reconcile or a mapping throws, and retries the key ever more seldom", async () => {
    await using cluster = await quiet()
    // given a controller with a mistake that one object shows, and another one that a second object shows
    const seen: string[] = []
    const badAt: number[] = []
    const controller = await start(cluster, {
      concerns({ metadata: { namespace, name } }) {
        if (name === "unmappable") throw new TypeError("undefined is not an object")
        return namespace === "default"
      },
      async reconcile(key, { clock }) {
        if (key !== "default/bad") return void seen.push(key)
        badAt.push(clock.now())
        throw new TypeError("undefined is not a function")
      },
    })
    const contained = () => ["reconcile", "informer handler"].map((at) => containedFailures().get(at as Place) ?? 0)
    const [reconciles, mappings] = contained()
    // when
    for (const name of ["a", "bad", "unmappable", "z"]) await create(cluster, name)
    await cluster.advance("10m")
    // then the others are reconciled
    expect(seen).toEqual(["default/a", "default/z"])
    // and each wait of the bad one is twice as long as the one before
    const waits = badAt.slice(1).map((at, i) => at - badAt[i]!)
    expect(badAt.length).toBeLessThan(20)
    for (const [i, wait] of waits.slice(1).entries()) expect(wait).toBeGreaterThanOrEqual(1.5 * waits[i]!)
    // and each is counted
    expect(contained()).toEqual([reconciles! + badAt.length, mappings! + 1])
    // and the loop goes on
    await create(cluster, "later")
    await cluster.settle()
    expect(seen.at(-1)).toBe("default/later")
    await controller.stop()
  })

  test("reports the end of an object that it does not select only for keys with a pending requeue", async () => {
    await using cluster = await quiet()
    // given a controller that looks again at one of two objects, neither of which concerns it any more
    const looks: string[] = []
    const controller = await start(cluster, {
      concerns: ({ data }) => data?.["matters"] === "yes",
      async reconcile(key) {
        looks.push(key)
        return { requeueAfter: 60_000 }
      },
    })
    await create(cluster, "a", { matters: "yes" })
    await create(cluster, "b", { matters: "no" })
    await cluster.settle()
    for (const name of ["a", "b"])
      await cluster.client.patch(
        ConfigMap,
        { name, namespace: "default" },
        { type: "merge", body: { data: { matters: "no" } } },
      )
    await cluster.settle()
    expect(looks).toEqual(["default/a"])
    // when both go
    for (const name of ["a", "b"]) await cluster.client.delete(ConfigMap, { name, namespace: "default" })
    await cluster.settle()
    // then
    expect(looks).toEqual(["default/a", "default/a"])
    await controller.stop()
  })

  test("never works on one key twice at the same time", async () => {
    await using cluster = await quiet()
    let running = 0
    let most = 0
    let runs = 0
    const controller = await start(cluster, {
      async reconcile(_key, { clock }) {
        most = Math.max(most, ++running)
        runs++
        await sleep(clock, 100)
        running--
      },
    })
    const object = await create(cluster, "a")
    await cluster.settle()
    // when it changes while it is worked on
    await cluster.client.update(ConfigMap, { ...object, data: { x: "1" } })
    await cluster.advance(1000)
    // then
    expect([most, runs]).toEqual([1, 2])
    await controller.stop()
  })

  test("retries with growing delays after an error, and not after a terminal error", async () => {
    await using cluster = await quiet()
    const begun = cluster.now.getTime()
    const at: number[] = []
    const controller = await start(cluster, {
      async reconcile(key) {
        at.push(cluster.now.getTime() - begun)
        throw key.endsWith("hopeless") ? terminal(new Error("no use")) : new Error("not yet")
      },
    })
    await create(cluster, "hopeless")
    await cluster.advance(100)
    expect(at).toHaveLength(1)
    at.length = 0
    // when
    await create(cluster, "later")
    await cluster.advance(40)
    // then
    expect(at.map((time) => time - at[0]!)).toEqual([0, 5, 15, 35])
    await controller.stop()
  })

  test("tells in the log once a minute, with how often, that a key fails for the same reason", async () => {
    await using cluster = await quiet()
    // given a controller that fails at each change of an object, and once for another reason
    const warned: [at: number, fields: LogFields][] = []
    const context = cluster.contextFor("test", ["system:masters"])
    const began = context.clock.now()
    const warn = (message: string, fields: LogFields = {}) => {
      if (message === "Reconcile failed; will retry") warned.push([context.clock.now() - began, fields])
    }
    const log: Logger = { ...silent, warn, child: () => log }
    let runs = 0
    let reason = "the server is away"
    const controller = await startController(
      defineController<ConfigMap>({
        name: "test",
        reconciles: ConfigMap,
        concerns: ({ metadata }) => metadata.namespace === "default",
        reconcile() {
          runs++
          return Promise.reject(new ApiError("ServiceUnavailable", reason))
        },
      }),
      { ...context, log },
    )
    // when
    await create(cluster, "a")
    await cluster.advance("10s")
    reason = "the server is overloaded"
    controller.enqueue("default/a")
    await cluster.settle()
    reason = "the server is away"
    await cluster.advance("90s")
    // then
    const told = warned.map(([, { err, key, times }]) => [key, (err as Error).message, times])
    expect(told).toHaveLength(3)
    expect(told.slice(0, 2)).toEqual([
      ["default/a", "the server is away", 1],
      ["default/a", "the server is overloaded", 1],
    ])
    expect(told[2]!.slice(0, 2)).toEqual(["default/a", "the server is away"])
    expect(warned[2]![0] - warned[0]![0]).toBeGreaterThanOrEqual(60_000)
    expect(told[2]![2]).toBeGreaterThan(5)
    expect(runs).toBeGreaterThan(10)
    await controller.stop()
  })

  test("tells in the log of each key that fails, though others have failed for the same reason", async () => {
    await using cluster = await quiet()
    // given a controller that fails at each object alike
    const warned: unknown[] = []
    const warn = (message: string, { key }: LogFields = {}) => {
      if (message === "Reconcile failed; will retry") warned.push(key)
    }
    const log: Logger = { ...silent, warn, child: () => log }
    const controller = await startController(
      defineController<ConfigMap>({
        name: "test",
        reconciles: ConfigMap,
        concerns: ({ metadata }) => metadata.namespace === "default",
        reconcile: () => Promise.reject(new ApiError("ServiceUnavailable", "the server is away")),
      }),
      { ...cluster.contextFor("test", ["system:masters"]), log },
    )
    // when
    for (const name of ["a", "b", "c"]) await create(cluster, name)
    await cluster.advance("30s")
    // then
    expect(warned).toEqual(["default/a", "default/b", "default/c"])
    await controller.stop()
  })

  test("runs again if a controller ignored the failure of its write", async () => {
    await using cluster = await quiet()
    // given a controller to which an object that it cannot find is one that is gone, and an API that errs once
    const controller = await start(cluster, {
      async reconcile(key, { informers, client }) {
        const object = informers.of(ConfigMap).get(key)
        if (object !== undefined) await client.delete(ConfigMap, object.metadata).catch(() => undefined)
      },
    })
    await cluster.faults.requests({ user: "test", verb: "delete", error: "NotFound", times: 2 })
    // when
    await create(cluster, "a")
    await cluster.advance("1s")
    // then
    expect(await cluster.find(ConfigMap, "a")).toBeUndefined()
    await controller.stop()
  })

  test("runs again after the delay that a reconcile returned", async () => {
    await using cluster = await quiet()
    let runs = 0
    const controller = await start(cluster, {
      reconcile: async () => (++runs < 3 ? { requeueAfter: 60_000 } : undefined),
    })
    await create(cluster, "a")
    await cluster.advance(180_000)
    expect(runs).toBe(3)
    await controller.stop()
  })
})

describe("events", () => {
  test("are counted if they are equal, and aggregated if only their messages differ", async () => {
    await using cluster = await quiet()
    const about = await create(cluster, "a")
    const recorder = createEventRecorder(cluster.contextFor("test", ["system:masters"]), "tester")
    // when
    for (let i = 0; i < 3; i++) recorder.event(about, "Normal", "Seen", "again")
    for (let i = 0; i < 12; i++) recorder.event(about, "Warning", "Failed", `try ${i}`)
    await cluster.settle()
    // then
    const { items } = await cluster.client.list(Event, { namespace: "default" })
    expect(items.filter(({ reason }) => reason === "Seen").map(({ count, message }) => [count, message])).toEqual([
      [3, "again"],
    ])
    const failed = items.filter(({ reason }) => reason === "Failed")
    expect(failed.map(({ message }) => message)).toContain("(combined from similar events): try 11")
    expect(failed).toHaveLength(10)
    await recorder.stop()
  })

  test("are counted while many others are recorded before the higher count is written", async () => {
    // given an Event, and others whose records push its own out of those at hand
    await using cluster = await quiet()
    const about = await create(cluster, "a")
    const recorder = createEventRecorder(cluster.contextFor("test", ["system:masters"]), "tester")
    const tell = (uid = about.metadata.uid) =>
      recorder.event({ ...about, metadata: { ...about.metadata, uid } }, "Normal", "Seen", "again")
    tell()
    await cluster.settle()
    // when
    tell()
    for (let i = 0; i < 80; i++) tell(`other-${i}`)
    await cluster.settle()
    tell()
    await cluster.settle()
    // then
    const { items } = await cluster.client.list(Event, { namespace: "default" })
    const own = items.filter(({ involvedObject }) => involvedObject.uid === about.metadata.uid)
    expect(own.map(({ count }) => count)).toEqual([3])
    await recorder.stop()
  })

  test("are all written when several reporters record one for the same object in the same millisecond", async () => {
    await using cluster = await quiet()
    const about = await create(cluster, "a")
    const recorders = ["first", "second", "third"].map((name) =>
      createEventRecorder(cluster.contextFor(name, ["system:masters"]), name),
    )
    for (const recorder of recorders) recorder.event(about, "Normal", "Seen", "once")
    await cluster.settle()
    expect(
      new Set(
        (await cluster.client.list(Event, { namespace: "default" })).items.map(({ source }) => source?.component),
      ),
    ).toEqual(new Set(["first", "second", "third"]))
    await Promise.all(recorders.map((recorder) => recorder.stop()))
  })

  test("are dropped if every name is in use", async () => {
    // given an API that says of every name that it is taken
    await using cluster = await quiet()
    let asked = 0
    await cluster.faults.requests({
      verb: "create",
      resource: "events",
      error: () => {
        asked++
        return new ApiError("AlreadyExists", "there is one")
      },
    })
    const about = await create(cluster, "a")
    const recorder = createEventRecorder(cluster.contextFor(), "test")
    // when
    recorder.event(about, "Normal", "Told", "something happened")
    await recorder.stop()
    // then
    expect(asked).toBe(100)
  })

  test("that occur again after the Event has expired start with a count of 1", async () => {
    await using cluster = await quiet()
    const about = await create(cluster, "a")
    const recorder = createEventRecorder(cluster.contextFor("test", ["system:masters"]), "tester")
    recorder.event(about, "Normal", "Seen", "again")
    await cluster.advance(3 * 3600_000)
    expect((await cluster.client.list(Event, { namespace: "default" })).items).toEqual([])
    recorder.event(about, "Normal", "Seen", "again")
    await cluster.settle()
    expect(
      (await cluster.client.list(Event, { namespace: "default" })).items.map(({ count, firstTimestamp }) => [
        count,
        firstTimestamp,
      ]),
    ).toEqual([[1, "2026-01-01T03:00:00Z"]])
    await recorder.stop()
  })

  test("are written when the API can take them again, each with its time and count", async () => {
    await using cluster = await quiet()
    const about = await create(cluster, "a")
    // given a server whose disk is full
    const full = await cluster.faults.requests({
      verb: "create",
      resource: "events",
      error: () => new ApiError("InternalError", "the disk is full"),
    })
    const recorder = createEventRecorder(cluster.contextFor("test", ["system:masters"]), "tester")
    recorder.event(about, "Warning", "Failed", "no space left on device")
    await cluster.advance(20_000)
    recorder.event(about, "Warning", "Failed", "no space left on device")
    await cluster.advance(1000)
    // when there is room
    await full.end()
    await cluster.advance(60_000)
    // then
    expect(
      (await cluster.client.list(Event, { namespace: "default" })).items.map(({ count, message, firstTimestamp }) => [
        count,
        message,
        firstTimestamp,
      ]),
    ).toEqual([[2, "no space left on device", "2026-01-01T00:00:00Z"]])
    await recorder.stop()
  })

  test("are given up when the API cannot take them for minutes, and do not delay the end of their reporter", async () => {
    await using cluster = await quiet()
    const about = await create(cluster, "a")
    let tries = 0
    await cluster.faults.requests({
      verb: "create",
      resource: "events",
      error: () => {
        tries++
        return new ApiError("InternalError", "the disk is full")
      },
    })
    const recorder = createEventRecorder(cluster.contextFor("test", ["system:masters"]), "tester")
    recorder.event(about, "Warning", "Failed", "one")
    await cluster.advance("1h")
    expect(tries).toBe(12)
    recorder.event(about, "Warning", "Failed", "two")
    await cluster.settle()
    await recorder.stop()
    expect(tries).toBe(14)
  })

  test("are limited for each object", async () => {
    await using cluster = await quiet()
    const about = await create(cluster, "a")
    const recorder = createEventRecorder(cluster.contextFor("test", ["system:masters"]), "tester")
    for (let i = 0; i < 40; i++) recorder.event(about, "Normal", `Reason${i}`, "x")
    await cluster.settle()
    expect((await cluster.client.list(Event, { namespace: "default" })).items).toHaveLength(25)
    await recorder.stop()
  })
})
