import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../api/core/v1/configmap.ts"
import { ApiError } from "../apimachinery/errors.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import type { Clock } from "../clock/clock.ts"
import { seededRandom } from "../clock/random.ts"
import { silent } from "../log/log.ts"
import type { ApiCall, Transport, WatchHandlers, WatchOptions } from "./client.ts"
import { createInformers } from "./informers.ts"
import type { Index } from "./informer.ts"
import { newClient } from "./new-client.ts"

/** A clock that a test moves: timers are run by hand. */
function handClock() {
  let now = 0
  const timers: { at: number; run: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    afterTurn: (run) => void setImmediate(run),
    atRest: (run) => void setImmediate(run),
    setTimeout(run, ms) {
      const timer = { at: now + ms, run }
      timers.push(timer)
      return { cancel: () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1)) }
    },
  }
  const pass = (ms: number) => {
    now += ms
    for (const timer of timers.filter(({ at }) => at <= now)) {
      timers.splice(timers.indexOf(timer), 1)
      timer.run()
    }
  }
  return { clock, pass, waiting: () => timers.length }
}

const object = (name: string, version: number, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "n", uid: name, resourceVersion: String(version), labels },
})

/** A server whose lists and watches a test plays. */
function stage() {
  const lists: { version: number; items: KubeObject[] }[] = []
  const watches: { options: WatchOptions; handlers: WatchHandlers<KubeObject>; closed: boolean }[] = []
  const calls: ApiCall[] = []
  const transport: Transport = {
    async call(call) {
      calls.push(call)
      const list = lists.shift()
      if (list === undefined) throw new ApiError("ServiceUnavailable", "no server")
      return { metadata: { resourceVersion: String(list.version) }, items: list.items }
    },
    watch(_resource, options, handlers) {
      const watch = { options, handlers, closed: false }
      watches.push(watch)
      return { close: () => void (watch.closed = true) }
    },
  }
  const hand = handClock()
  const informers = createInformers({
    client: newClient(transport),
    clock: hand.clock,
    random: seededRandom(1),
    log: silent,
  })
  const seen: string[] = []
  const follow = () => {
    const informer = informers.of(ConfigMap)
    informer.on({
      added: ({ metadata }) => seen.push(`+${metadata.name}`),
      updated: ({ metadata }) => seen.push(`~${metadata.name}`),
      deleted: ({ metadata }) => seen.push(`-${metadata.name}`),
    })
    return informer
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return { lists, watches, calls, informers, follow, seen, turn, ...hand }
}

describe("an informer", () => {
  test("lists once, then watches from that revision, and resumes where a watch ended", async () => {
    const { lists, watches, calls, informers, follow, seen, pass } = stage()
    lists.push({ version: 5, items: [object("a", 3)] })
    const informer = follow()
    await informers.whenSynced()
    expect(watches[0]!.options.resourceVersion).toBe("5")
    watches[0]!.handlers.onEvent({ type: "MODIFIED", object: object("a", 6) })
    watches[0]!.handlers.onEvent({
      type: "BOOKMARK",
      object: { apiVersion: "v1", kind: "ConfigMap", metadata: { resourceVersion: "9" } },
    })
    expect(informer.revision).toBe(9)
    // when the server closes the watch after a while, as it does
    pass(60_000)
    watches[0]!.handlers.onEnd(undefined)
    expect([watches[1]!.options.resourceVersion, calls.length]).toEqual(["9", 1])
    expect(seen).toEqual(["+a", "~a"])
    informers.stop()
  })

  test("is pending until its first list is complete, or it is forgotten", async () => {
    const { lists, informers, follow } = stage()
    expect(informers.pending()).toEqual([])
    lists.push({ version: 5, items: [] })
    follow()
    expect(informers.pending()).toEqual(["configmaps"])
    // when its list has come
    await informers.whenSynced()
    expect(informers.pending()).toEqual([])
    // and when a new one, whose list fails, is forgotten
    informers.forget(ConfigMap)
    follow()
    expect(informers.pending()).toEqual(["configmaps"])
    informers.forget(ConfigMap)
    expect(informers.pending()).toEqual([])
    informers.stop()
  })

  test("lists again when its revision was compacted, and reports only differences", async () => {
    const { lists, watches, informers, follow, seen, turn } = stage()
    lists.push({ version: 5, items: [object("same", 1), object("gone", 2), object("changed", 3)] })
    follow().on({ listing: () => seen.push("("), listed: () => seen.push(")") })
    await informers.whenSynced()
    lists.push({ version: 20, items: [object("same", 1), object("changed", 15), object("new", 16)] })
    watches[0]!.handlers.onEnd(new ApiError("Expired", "too old resource version"))
    await turn()
    expect(seen.slice(5)).toEqual(["(", "~changed", "+new", "-gone", ")"])
    expect(watches[1]!.options.resourceVersion).toBe("20")
    informers.stop()
  })

  test("shows a whole list to the first handler that is called for one of its objects", async () => {
    // given
    const { lists, watches, informers, follow, turn } = stage()
    lists.push({ version: 5, items: [object("gone", 1)] })
    const informer = follow()
    await informers.whenSynced()
    const shown: unknown[] = []
    informer.on({ added: () => shown.push([informer.revision, informer.list().map(({ metadata }) => metadata.name)]) })
    shown.length = 0
    // when
    lists.push({ version: 20, items: [object("a", 15), object("b", 16)] })
    watches[0]!.handlers.onEnd(new ApiError("Expired", "too old resource version"))
    await turn()
    // then
    expect(shown).toEqual([
      [20, ["a", "b"]],
      [20, ["a", "b"]],
    ])
    informers.stop()
  })

  test("waits before the next list if even the revision of the last list was compacted", async () => {
    // given a server that forgets what it has just listed
    const { lists, watches, calls, informers, follow, turn, pass } = stage()
    for (const version of [5, 6, 7]) lists.push({ version, items: [] })
    follow()
    await informers.whenSynced()
    const forget = async () => {
      watches.at(-1)!.handlers.onEnd(new ApiError("Gone", "too old resource version"))
      await turn()
    }
    await forget()
    expect(calls.length).toBe(2)
    // when
    await forget()
    // then
    expect(calls.length).toBe(2)
    pass(1600)
    await turn()
    expect([calls.length, watches.at(-1)!.options.resourceVersion]).toEqual([3, "7"])
    informers.stop()
  })

  test("retries with growing delays while there is no server, and is synced once there is one", async () => {
    const { lists, calls, informers, follow, turn, pass, waiting } = stage()
    const informer = follow()
    await turn()
    expect([calls.length, waiting(), informer.synced]).toEqual([1, 1, false])
    pass(1600)
    await turn()
    pass(1600)
    expect(calls.length).toBe(2)
    lists.push({ version: 5, items: [object("a", 3)] })
    pass(1600)
    await informers.whenSynced()
    expect(informer.get("n/a")?.metadata.name).toBe("a")
    informers.stop()
  })

  test("retries at once when it is notified that a server responds again", async () => {
    // given an informer that has failed often, so that its next attempt is half a minute away
    const { lists, calls, informers, follow, turn, pass } = stage()
    const informer = follow()
    await turn()
    for (let i = 0; i < 6; i++) {
      pass(60_000)
      await turn()
    }
    const before = calls.length
    // when
    lists.push({ version: 5, items: [object("a", 3)] })
    informers.retryNow()
    // then
    await informers.whenSynced()
    expect([informer.get("n/a")?.metadata.name, calls.length]).toEqual(["a", before + 1])
    // and one that works is left alone
    informers.retryNow()
    pass(120_000)
    await turn()
    expect(calls.length).toBe(before + 1)
    informers.stop()
  })

  test("keeps indexes up to date, and other handlers run although one throws", async () => {
    const { lists, watches, informers, follow, seen } = stage()
    const byColour: Index<ConfigMap> = {
      name: "colour",
      of: ({ metadata }) => (metadata.labels?.["colour"] === undefined ? [] : [metadata.labels["colour"]]),
    }
    lists.push({ version: 5, items: [object("a", 3, { colour: "red" })] })
    const informer = informers.of(ConfigMap)
    const fails = () => {
      throw new Error("a bug")
    }
    informer.on({ updated: fails, listing: fails, listed: fails })
    let underWay = 0
    follow().on({ listing: () => underWay++, listed: () => underWay-- })
    await informers.whenSynced()
    expect(underWay).toBe(0)
    expect(informer.by(byColour, "red").map(({ metadata }) => metadata.name)).toEqual(["a"])
    watches[0]!.handlers.onEvent({ type: "MODIFIED", object: object("a", 6, { colour: "blue" }) })
    expect([informer.by(byColour, "red").length, informer.by(byColour, "blue").length]).toEqual([0, 1])
    expect(seen).toEqual(["+a", "~a"])
    watches[0]!.handlers.onEvent({ type: "DELETED", object: object("a", 7, { colour: "blue" }) })
    expect([informer.by(byColour, "blue").length, informer.list().length]).toEqual([0, 0])
    informers.stop()
    expect(watches[0]!.closed).toBe(true)
  })
})
