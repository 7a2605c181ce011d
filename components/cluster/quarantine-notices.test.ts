import { expect, test } from "bun:test"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { quarantineNotices } from "./quarantine-notices.ts"
import { startCluster, type Cluster } from "./testing/testing.ts"

const ASIDE = { place: "kubelet", key: "default/web", since: "2026-01-01T00:00:00Z", why: "it was slow" }

/** Starts the notices of a start that follows three failed ones. Returns what /readyz?verbose says. */
async function noted(cluster: Cluster, more: Partial<ComponentContext> = {}): Promise<() => string | undefined> {
  let said: () => string | undefined = () => undefined
  const context = { ...cluster.contextFor(), ...more }
  const notices = quarantineNotices(
    { failedStarts: 3, setAside: [ASIDE] },
    {
      apiServer: { health: { addNote: (_, note) => void (said = note) } },
      clients: { contextFor: () => context, release: () => undefined },
    },
  )
  await notices.start(new AbortController().signal)
  return () => said()
}

test("the notice that controllers are off ends with their start, and that of what is set aside stays", async () => {
  // given
  await using cluster = await startCluster()
  const said = await noted(cluster)
  const aside = "kubelet skips default/web, because it was slow"
  expect(said()).toMatch(/^3 starts in a row have failed, so controllers, .* are off for 2 minutes\..*; kubelet skips /)
  const events = await cluster.list(Event, { namespace: "default" })
  expect(events.filter(({ reason }) => reason === "ControllersOff")).toHaveLength(1)
  // when
  await cluster.advance("2m")
  // then
  expect(said()).toBe(aside)
})

test("a server starts although the Event that controllers are off cannot be written", async () => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster.contextFor()
  const get = () => Promise.reject(new Error("the store is full"))
  const failing = Object.assign(Object.create(client) as typeof client, { get })
  // when
  const said = await noted(cluster, { client: failing })
  // then
  expect(said()).toContain("controllers, scheduler and manifests are off")
})
