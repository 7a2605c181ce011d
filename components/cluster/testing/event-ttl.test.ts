import { describe, expect, test } from "bun:test"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { startCluster, type Cluster } from "./testing.ts"

const event = (name: string) => ({
  metadata: { name, namespace: "default" },
  involvedObject: { kind: "Pod", namespace: "default", name: "web" },
  reason: "Started",
  type: "Normal",
})
const names = async (cluster: Cluster): Promise<ReadonlySet<string | undefined>> =>
  new Set((await cluster.list(Event, { namespace: "default" })).map(({ metadata }) => metadata.name))

describe("Events", () => {
  test.each([
    { title: "are kept for an hour", options: {}, minutes: 60 },
    { title: "are kept for a shorter time", options: { eventTtl: "10m" }, minutes: 10 },
    { title: "are kept for a longer time", options: { eventTtl: "3d" }, minutes: 3 * 24 * 60 },
  ])("$title", async ({ options, minutes }) => {
    // given
    await using cluster = await startCluster(options)
    await cluster.client.create(Event, event("once"))
    await cluster.client.create(Event, event("again"))
    // when one of them is seen again
    await cluster.advance("5m")
    await cluster.client.patch(Event, { namespace: "default", name: "again" }, { type: "merge", body: { count: 2 } })
    // then the other one goes first, at most a minute after its time
    await cluster.advance((minutes - 5) * 60_000 - 1000)
    expect(await names(cluster)).toEqual(new Set(["again", "once"]))
    await cluster.advance("2m")
    expect(await names(cluster)).toEqual(new Set(["again"]))
    await cluster.advance("5m")
    expect(await names(cluster)).toEqual(new Set())
  })

  test("are kept for ever where their time is zero", async () => {
    await using cluster = await startCluster({ eventTtl: 0 })
    await cluster.client.create(Event, event("once"))
    await cluster.advance("30d")
    expect(await names(cluster)).toEqual(new Set(["once"]))
  })
})
