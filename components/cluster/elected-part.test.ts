import { expect, test } from "bun:test"
import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { Clients } from "./clients.ts"
import { ElectedPart } from "./elected-part.ts"
import { Part } from "./part.ts"
import { startCluster, type Cluster } from "./testing/testing.ts"

const LEASE = { namespace: "kube-system", name: "proxy" }

/** Returns a candidate whose component starts as `start` says, and the clients that it was made with. */
function candidate(cluster: Cluster, identity: string, start: () => Promise<void>) {
  const failures: unknown[] = []
  const context: ComponentContext = {
    ...cluster.contextFor(),
    spawn: (_name, work) => void work().catch((err: unknown) => failures.push(err)),
  }
  const clients: Pick<Clients, "until" | "contextFor" | "release"> = {
    until: () => clients as Clients,
    contextFor: () => context,
    release: () => undefined,
  }
  const create = (): Component => ({ name: "proxy", start, stop: async () => undefined })
  const elected = new ElectedPart({
    name: "proxy",
    lease: LEASE.name,
    identity,
    clients: clients as Clients,
    user: { name: "proxy" },
    tools: context,
    part: (own) => new Part({ name: "proxy", clients: own, user: { name: "proxy" }, create }),
  })
  return { elected, failures }
}

test("a candidate that cannot start gives the Lease up to another one, and tries again later", async () => {
  // given
  await using cluster = await startCluster({ seed: 1 })
  const holder = async () => (await cluster.get(Lease, LEASE)).spec.holderIdentity
  let starts = 0
  const broken = candidate(cluster, "broken", () => (starts++, Promise.reject(new Error("no disk"))))
  const whole = candidate(cluster, "whole", () => Promise.resolve())
  // when
  await broken.elected.start()
  await cluster.eventually(() => starts > 0)
  await whole.elected.start()
  await cluster.eventually(async () => (await holder()) === "whole")
  // then
  expect(whole.elected.component).toBeDefined()
  // when
  await whole.elected.stop()
  const before = starts
  await cluster.eventually(() => starts > before)
  // then
  expect(broken.failures).toEqual([])
  await broken.elected.stop()
})
