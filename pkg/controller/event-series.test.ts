import { expect, test } from "bun:test"
import { Event as CoreEvent } from "../api/core/v1/event/event.ts"
import { Pod } from "../api/core/v1/pod/pod.ts"
import { Event } from "../api/events/v1/event.ts"
import { startCluster } from "../../components/cluster/testing/cluster.ts"
import { createSeriesRecorder } from "./event-series.ts"

const told = (note: string) => ({ action: "Scheduling", note })

async function running() {
  const cluster = await startCluster({ components: { scheduler: false } })
  const pod = await cluster.client.create(Pod, {
    metadata: { name: "a", namespace: "default" },
    spec: { containers: [{ name: "c", image: "i" }] },
  })
  const written: string[] = []
  await cluster.faults.requests({
    error({ verb, resource, user }) {
      if (resource.group === "events.k8s.io" && user.name === "tester" && verb !== "get") written.push(verb)
      return undefined
    },
  })
  const recorder = createSeriesRecorder(cluster.contextFor("tester", ["system:masters"]), "tester", "host-1")
  return {
    cluster,
    pod,
    recorder,
    written,
    events: async () => (await cluster.client.list(Event, { namespace: "default" })).items,
    async [Symbol.asyncDispose]() {
      await recorder.stop()
      await cluster.stop()
    },
  }
}

test("an event has a reporting controller and instance, an action and a related object, and no older fields", async () => {
  await using given = await running()
  const { cluster, pod, recorder } = given
  // when
  recorder.event(pod, "Normal", "Preempted", { action: "Preempting", note: "by another", related: pod })
  await cluster.settle()
  // then
  expect(await given.events()).toMatchObject([
    {
      type: "Normal",
      reason: "Preempted",
      action: "Preempting",
      note: "by another",
      reportingController: "tester",
      reportingInstance: "tester-host-1",
      regarding: { kind: "Pod", name: "a", uid: pod.metadata.uid, resourceVersion: pod.metadata.resourceVersion },
      related: { kind: "Pod", name: "a" },
      deprecatedSource: {},
      deprecatedFirstTimestamp: null,
    },
  ])
  const [core] = (await cluster.client.list(CoreEvent, { namespace: "default" })).items
  expect([core!.reportingComponent, core!.source, core!.count]).toEqual(["tester", {}, undefined])
})

test("equal events are a series with the first note: its second is written, and its count when it is over", async () => {
  await using given = await running()
  const { cluster, pod, recorder, written } = given
  const say = async (note: string) => {
    recorder.event(pod, "Warning", "FailedScheduling", told(note))
    await cluster.settle()
  }
  // when
  await say("first")
  await cluster.advance("10s")
  await say("second")
  for (let i = 0; i < 5; i++) await say("further")
  // then
  expect(await given.events()).toMatchObject([{ note: "first", series: { count: 2 } }])
  expect(written).toEqual(["create", "patch"])
  // when nothing is reported for some minutes
  await cluster.advance("13m")
  // then
  expect(await given.events()).toMatchObject([{ note: "first", series: { count: 7 } }])
  expect(written).toEqual(["create", "patch", "patch"])
  // when it comes again, it is a new one
  await say("again")
  expect((await given.events()).map(({ note }) => note)).toEqual(["first", "again"])
})

test("an object that has changed has an event of its own", async () => {
  await using given = await running()
  const { cluster, pod, recorder } = given
  recorder.event(pod, "Warning", "FailedScheduling", told("one"))
  const changed = await cluster.client.patch(Pod, pod.metadata, {
    type: "merge",
    body: { metadata: { labels: { a: "b" } } },
  })
  recorder.event(changed, "Warning", "FailedScheduling", told("two"))
  await cluster.settle()
  expect((await given.events()).map(({ note }) => note)).toEqual(["one", "two"])
})

test("a series whose Event was deleted begins anew", async () => {
  await using given = await running()
  const { cluster, pod, recorder } = given
  recorder.event(pod, "Warning", "FailedScheduling", told("one"))
  await cluster.settle()
  await cluster.client.deleteCollection(Event, { namespace: "default" })
  recorder.event(pod, "Warning", "FailedScheduling", told("one"))
  await cluster.settle()
  expect(await given.events()).toMatchObject([{ note: "one", series: { count: 2 } }])
})

test("an event that the API cannot take is tried again", async () => {
  await using given = await running()
  const { cluster, pod, recorder } = given
  const fault = await cluster.faults.requests({
    resource: "events",
    error: "ServiceUnavailable",
  })
  recorder.event(pod, "Warning", "FailedScheduling", told("one"))
  await cluster.advance("5s")
  await fault.end()
  await cluster.advance("10s")
  expect(await given.events()).toMatchObject([{ note: "one" }])
})

test.each([
  ["that is as long as can be stays whole", "é".repeat(512), "é".repeat(512)],
  ["that is longer is cut at a character, and says so", "é".repeat(513), `${"é".repeat(510)} ...`],
  ["is cut before a character of which there is room for a part", `a${"é".repeat(600)}`, `a${"é".repeat(509)} ...`],
])("a note %s", async (_title, note, kept) => {
  await using given = await running()
  // when
  given.recorder.event(given.pod, "Warning", "FailedScheduling", told(note))
  await given.cluster.settle()
  // then
  expect((await given.events()).map(({ note: written }) => written)).toEqual([kept])
})
