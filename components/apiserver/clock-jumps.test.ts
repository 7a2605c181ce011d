import { expect, test } from "bun:test"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { silent } from "../../pkg/log/log.ts"
import { createApiServer } from "./apiserver.ts"

const DAY_MS = 86_400_000

test("revisions rise, watches continue and no event is lost when the clock is set back and forward", async () => {
  // given a server, and a watch on it
  let set = 0
  const clock: Clock = { ...realClock, now: () => realClock.now() + set }
  const server = createApiServer(
    { clock, random: systemRandom, log: silent },
    {
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
      frozen: true,
    },
  )
  await server.start(new AbortController().signal)
  const client = newClient(server.transportFor({ name: "system:admin", groups: ["system:masters"] }))
  const seen: string[] = []
  const last = Promise.withResolvers<void>()
  const watch = client.watch(
    ConfigMap,
    { namespace: "default" },
    {
      onEvent(event) {
        if (event.type !== "ADDED") return
        seen.push(event.object.metadata.name!)
        if (seen.at(-1) === "c4") last.resolve()
      },
      onEnd: (error) => last.reject(error ?? new Error("the watch ended")),
    },
  )
  await client.create(Lease, {
    metadata: { namespace: "default", name: "held" },
    spec: { holderIdentity: "me", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000000Z" },
  })

  // when the clock jumps between writes
  const revisions: number[] = []
  const times: number[] = []
  for (const [i, jump] of [0, -DAY_MS, 400 * DAY_MS, -30 * 365 * DAY_MS, 0].entries()) {
    set = jump
    const made = await client.create(ConfigMap, { metadata: { namespace: "default", name: `c${i}` } })
    const again = await client.update(ConfigMap, { ...made, data: { i: String(i) } })
    revisions.push(Number(made.metadata.resourceVersion), Number(again.metadata.resourceVersion))
    times.push(Date.parse(made.metadata.creationTimestamp!))
  }

  // then revisions rise all the same, the watch has told of each, and all is there
  expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
  expect(new Set(revisions).size).toBe(10)
  expect(times[1]).toBeLessThan(times[0]!)
  await last.promise
  expect(seen.filter((name) => /^c\d$/.test(name))).toEqual(["c0", "c1", "c2", "c3", "c4"])
  expect((await client.list(ConfigMap, { namespace: "default" })).items.map(({ metadata }) => metadata.name)).toEqual(
    expect.arrayContaining(["c0", "c4"]),
  )
  expect((await client.get(Lease, { namespace: "default", name: "held" })).spec.holderIdentity).toBe("me")
  watch.close()
  await server.stop()
})
