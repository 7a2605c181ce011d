import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { isAlreadyExists, isConflict, isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { WatchEvent } from "../../pkg/client/client.ts"
import { createInformers } from "../../pkg/client/informers.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { silent } from "../../pkg/log/log.ts"
import { MemoryStorage } from "../../pkg/storage/memory.ts"
import { chainOf } from "./admission/admission.ts"
import { ClientHistory } from "./cacher/client-history.ts"
import { Objects } from "./cacher/objects.ts"
import { WatchHub } from "./cacher/watch-hub.ts"
import { createPipeline } from "./pipeline.ts"
import { TemplateSharing } from "./registry/template-sharing.ts"
import { inProcessTransport } from "./transport.ts"

function start(clock: Clock = realClock) {
  const random = seededRandom(1)
  const storage = new MemoryStorage({ clock, frozen: true })
  const history = new ClientHistory({ storage, clock })
  const hub = new WatchHub({ storage, clock, log: silent, history })
  const registry = {
    storage,
    hub,
    objects: new Objects(storage),
    history,
    clock,
    random,
    authorizer: { authorize: () => ({ allowed: true, reason: "" }) },
    admission: chainOf([]),
    hooks: () => undefined,
    checkRunning: () => {},
    sharing: new TemplateSharing(),
  }
  const pipeline = createPipeline(registry)
  const client = newClient(inProcessTransport(pipeline, { name: "tester", groups: [] }, clock))
  return {
    storage,
    pipeline,
    client,
    informers: createInformers({ client, clock, random, log: silent }),
    stop: () => (hub.close(), storage.close()),
  }
}
/** A clock that counts how often work waits for the end of a turn of the event loop. No step of it takes any time. */
function countedTurns() {
  let turns = 0
  const clock: Clock = {
    ...realClock,
    monotonic: () => 0,
    afterTurn(run) {
      turns++
      realClock.afterTurn(run)
    },
  }
  return { clock, turns: () => turns }
}
const pod = (name: string, spec: object = {}) => ({
  metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
})
const cm = (name: string, data: Record<string, string> = {}) => ({ metadata: { name, namespace: "default" }, data })

describe("the in-process client", () => {
  test("deletes a collection some objects at a time, so that other requests are served in between", async () => {
    // given
    const { client, storage, stop } = start()
    await Promise.all(Array.from({ length: 170 }, (_, i) => client.create(ConfigMap, cm(`c${i}`))))
    const commits: number[] = []
    storage.subscribe((events) => void commits.push(events.length))
    // when
    await client.deleteCollection(ConfigMap, { namespace: "default" })
    // then
    expect(commits).toEqual([50, 50, 50, 20])
    expect((await client.list(ConfigMap)).items).toEqual([])
    stop()
  })

  test("asks a selector of some objects at a time, so that other requests are served in between", async () => {
    // given
    const { clock, turns } = countedTurns()
    const { client, stop } = start(clock)
    const names = Array.from({ length: 1100 }, (_, i) => `c${i}`)
    await Promise.all(names.map((name) => client.create(ConfigMap, cm(name))))
    const ended: string[] = []
    const before = turns()
    // when a list begins, and another request after it
    const labelSelector = Array.from({ length: 4000 }, (_, i) => `!k${i}`).join(",")
    const list = client.list(ConfigMap, { namespace: "default", labelSelector }).then(({ items }) => {
      ended.push("list")
      return items
    })
    await client.get(ConfigMap, { namespace: "default", name: "c1" }).then(() => ended.push("other"))
    const items = await list
    // then
    expect(ended).toEqual(["other", "list"])
    expect(turns() - before).toBe(2)
    expect(items).toHaveLength(1100)
    stop()
  })

  test.each([
    { size: "large", isLarge: true, creation: 8, update: 6 },
    { size: "small", isLarge: undefined, creation: 0, update: 0 },
  ] as const)("gives others turns between the steps of a $size write: $creation, $update", async (wanted) => {
    const { isLarge } = wanted
    // given
    const { clock, turns: taken } = countedTurns()
    const { pipeline, storage, stop } = start(clock)
    let commits = 0
    storage.subscribe(() => void commits++)
    const write = async (verb: "create" | "update", body: object) => {
      const before = taken() - commits
      const name = verb === "update" ? { name: "a" } : {}
      const request = { verb, resource: ConfigMap, namespace: "default", ...name, options: {}, warn: () => undefined }
      await pipeline.handle({ ...request, user: { name: "u", groups: [] }, body, ...(isLarge && { isLarge }) })
      return taken() - commits - before
    }
    // when, then
    const body = { apiVersion: "v1", kind: "ConfigMap", ...cm("a") }
    expect(await write("create", body)).toBe(wanted.creation)
    expect(await write("update", { ...body, data: { a: "b" } })).toBe(wanted.update)
    stop()
  })

  test.each<{ title: string; spec: object; steps: readonly object[]; commits: string[][] }>([
    { title: "without a node", spec: {}, steps: [{}], commits: [["update 0"], ["delete 0"]] },
    {
      title: "with a node, by force",
      spec: { nodeName: "n" },
      steps: [{ gracePeriodSeconds: 0 }],
      commits: [["update 0"], ["delete 0"]],
    },
    {
      title: "that has been deleted with grace",
      spec: { nodeName: "n" },
      steps: [{}, { gracePeriodSeconds: 0 }],
      commits: [["update 30"], ["update 0", "delete 0"]],
    },
  ])("shows that a pod $title is being deleted before it is gone", async ({ spec, steps, commits }) => {
    // given
    const { client, storage, stop } = start()
    const { metadata } = await client.create(Pod, pod("a", spec))
    const seen: string[][] = []
    storage.subscribe((events) => {
      const shown = events.map(({ type, stored }) => `${type} ${stored.object.metadata.deletionGracePeriodSeconds}`)
      seen.push(shown)
    })
    // when
    for (const options of steps) await client.delete(Pod, metadata, options)
    // then
    expect(seen).toEqual(commits)
    expect((await client.list(Pod)).items).toEqual([])
    stop()
  })

  test.each([
    { title: "is removed", object: () => null },
    {
      title: "is changed",
      object: (marked: KubeObject) => ({ ...marked, metadata: { ...marked.metadata, labels: { a: "b" } } }),
    },
  ])("deletes a pod that $title by another while its deletion is shown", async ({ object }) => {
    // given a controller that acts on the mark at once
    const { client, storage, stop } = start()
    const { metadata } = await client.create(Pod, pod("a"))
    const ends: Promise<unknown>[] = []
    const end = storage.subscribe(([event]) => {
      end()
      const { key, stored } = event!
      ends.push(storage.write({ key, object: object(stored.object), expected: undefined, time: 0, author: "other" }))
    })
    // when
    await client.delete(Pod, metadata)
    // then
    expect(ends).toHaveLength(1)
    await Promise.all(ends)
    expect((await client.list(Pod)).items).toEqual([])
    stop()
  })

  test("creates, reads, lists, updates and deletes an object", async () => {
    const { client, stop } = start()
    const made = await client.create(ConfigMap, cm("a", { x: "1" }))
    expect(made).toMatchObject({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", namespace: "default", resourceVersion: "1" },
      data: { x: "1" },
    })
    expect(made.metadata.uid).toMatch(/^[0-9a-f-]{36}$/)
    expect(await client.get(ConfigMap, { name: "a", namespace: "default" })).toBe(made)
    expect(isAlreadyExists(await client.create(ConfigMap, cm("a")).catch((err: unknown) => err))).toBe(true)

    const changed = await client.update(ConfigMap, { ...made, data: { x: "2" } })
    expect(changed.metadata.resourceVersion).toBe("2")
    expect(isConflict(await client.update(ConfigMap, { ...made, data: { x: "3" } }).catch((err: unknown) => err))).toBe(
      true,
    )
    expect(await client.update(ConfigMap, changed)).toBe(changed)

    expect((await client.list(ConfigMap, { namespace: "default" })).items).toEqual([changed])
    await client.delete(ConfigMap, changed.metadata)
    expect(isNotFound(await client.get(ConfigMap, changed.metadata).catch((err: unknown) => err))).toBe(true)
    stop()
  })

  test("watches with selectors: objects are added when they begin to match, and deleted when they no longer match", async () => {
    const { client, stop } = start()
    const seen: string[] = []
    const watch = client.watch(
      ConfigMap,
      { labelSelector: "on=yes" },
      {
        onEvent: (event: WatchEvent<ConfigMap>) =>
          void ("object" in event && seen.push(`${event.type} ${event.object.metadata.resourceVersion}`)),
        onEnd: () => undefined,
      },
    )
    const made = await client.create(ConfigMap, cm("a"))
    const on = await client.update(ConfigMap, { ...made, metadata: { ...made.metadata, labels: { on: "yes" } } })
    const on2 = await client.update(ConfigMap, { ...on, data: { x: "1" } })
    await client.update(ConfigMap, { ...on2, metadata: { ...on2.metadata, labels: {} } })
    expect(seen).toEqual(["ADDED 2", "MODIFIED 3", "DELETED 4"])
    watch.close()
    stop()
  })

  test("lists in chunks that all show one revision", async () => {
    const { client, stop } = start()
    for (const name of ["a", "b", "c", "d"]) await client.create(ConfigMap, cm(name))
    const first = await client.list(ConfigMap, { namespace: "default", limit: 2 })
    expect(first.metadata.remainingItemCount).toBe(2)
    await client.delete(ConfigMap, { name: "c", namespace: "default" })
    const rest = await client.list(ConfigMap, { namespace: "default", limit: 2, continue: first.metadata.continue! })
    expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(["c", "d"])
    expect(rest.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion })
    stop()
  })

  test("keeps an informer up to date, and gives the informer the stored objects themselves, not copies", async () => {
    const { client, informers, storage, stop } = start()
    const before = await client.create(ConfigMap, cm("before"))
    const informer = informers.of(ConfigMap)
    const seen: string[] = []
    informer.on({
      added: (object) => seen.push(`+${object.metadata.name}`),
      updated: (object) => seen.push(`~${object.metadata.name}`),
      deleted: (object) => seen.push(`-${object.metadata.name}`),
    })
    await informers.whenSynced()
    expect(informer.get("default/before")).toBe(before)
    const made = await client.create(ConfigMap, cm("a"))
    await client.update(ConfigMap, { ...made, data: { x: "1" } })
    await client.delete(ConfigMap, made.metadata)
    expect(seen).toEqual(["+before", "+a", "~a", "-a"])
    expect(informer.revision).toBe(storage.revision)
    expect(informer.list("default")).toEqual([before])
    informers.stop()
    stop()
  })

  test("applies many concurrent patches of one object", async () => {
    const { client, storage, stop } = start()
    const made = await client.create(ConfigMap, cm("a"))
    await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        client.patch(ConfigMap, made.metadata, { type: "merge", body: { data: { [`k${i}`]: "1" } } }),
      ),
    )
    expect(Object.keys((await client.get(ConfigMap, made.metadata)).data ?? {}).length).toBe(300)
    expect(storage.revision).toBe(301)
    stop()
  })
})
