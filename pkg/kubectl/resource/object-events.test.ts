import { expect, test } from "bun:test"
import { seededRandom } from "../../clock/random.ts"
import { VirtualClock } from "../../clock/virtual.ts"
import { StatusError } from "../errors/status-error.ts"
import type { WatchEvent } from "../rest/watch-events.ts"
import type { ListOptions } from "./helper.ts"
import { objectEvents } from "./object-events.ts"

const pod = (resourceVersion: string) => ({ kind: "Pod", metadata: { name: "a", resourceVersion } })
const event = (type: string, resourceVersion: string): WatchEvent => ({ type, object: pod(resourceVersion) })
const end = (resourceVersion: string): WatchEvent => ({
  type: "BOOKMARK",
  object: { metadata: { resourceVersion, annotations: { "k8s.io/initial-events-end": "true" } } },
})
const gone: WatchEvent = { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } }

/** Follows an object through watches with these events, and returns what is told and what was asked for. */
async function follow(watches: readonly (readonly WatchEvent[] | StatusError)[], list: object = { items: [] }) {
  const asked: ListOptions[] = []
  const told: string[] = []
  const clock = new VirtualClock(0)
  const over = new AbortController()
  const helper = {
    list: () => Promise.resolve({ metadata: { resourceVersion: "9" }, ...list }),
    async *watch(_namespace: string, options: ListOptions = {}) {
      await Promise.resolve()
      const next = watches[asked.length]
      asked.push(options)
      if (next === undefined) over.abort(new Error("the end of the test"))
      if (next instanceof StatusError) throw next
      yield* next ?? []
    },
  }
  const events = objectEvents(
    { helper, namespace: "default", name: "a" },
    { environment: { clock, random: seededRandom(1) }, signal: over.signal },
  )
  const reading = (async () => {
    for await (const { type, object } of events) told.push(`${type} ${object?.metadata?.resourceVersion ?? "none"}`)
  })().catch(() => undefined)
  while (!over.signal.aborted) await clock.advance(1000)
  await reading
  return { told, asked }
}

test("a watch that ends is taken up where it ended", async () => {
  // given a watch that ends after a change, and another one
  const { told, asked } = await follow([
    [event("ADDED", "1"), end("2"), event("MODIFIED", "3")],
    [event("MODIFIED", "4"), event("DELETED", "5")],
  ])

  // then every change is told once
  expect(told).toEqual(["SYNCED 1", "ADDED 1", "MODIFIED 3", "MODIFIED 4", "DELETED 5"])
  expect(asked[0]).toMatchObject({ initialEvents: true, fieldSelector: "metadata.name=a" })
  expect(asked[1]).toMatchObject({ resourceVersion: "3" })
})

test("the object is read again when the server has forgotten the version", async () => {
  // given an object that is deleted between two watches, and then another one of the name
  const { told } = await follow([
    [event("ADDED", "1"), end("2"), gone],
    [end("7"), event("ADDED", "8"), gone],
    [event("ADDED", "9"), end("9")],
  ])

  // then the difference is told
  expect(told).toEqual(["SYNCED 1", "ADDED 1", "DELETED 1", "ADDED 8", "MODIFIED 9"])
})

test("an old server is asked for a list before the watch", async () => {
  // given a server that refuses to send what there is as events
  const { told, asked } = await follow([new StatusError({ code: 422, reason: "Invalid" }), [event("MODIFIED", "10")]], {
    items: [pod("8")],
  })

  // then the list says what there is, and the watch begins after it
  expect(told).toEqual(["SYNCED 8", "ADDED 8", "MODIFIED 10"])
  expect(asked[1]).toMatchObject({ resourceVersion: "9" })
})

test("a server whose store cannot tell how far a watch is is asked for a list too", async () => {
  // given the answer of a kube-apiserver 1.36 over an etcd before 3.4.31
  const message =
    "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
  const refusal: WatchEvent = { type: "ERROR", object: { kind: "Status", message, reason: "InternalError", code: 500 } }
  const { told, asked } = await follow([[refusal], [event("MODIFIED", "10")]], { items: [pod("8")] })

  // then the list says what there is, and the watch begins after it
  expect(told).toEqual(["SYNCED 8", "ADDED 8", "MODIFIED 10"])
  expect(asked[1]).toMatchObject({ resourceVersion: "9" })
})
