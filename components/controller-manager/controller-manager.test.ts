import { expect, test } from "bun:test"
import { seededRandom } from "../../pkg/clock/random.ts"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { RESOURCES } from "../../pkg/api/resources.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Informers } from "../../pkg/client/informer.ts"
import { silent } from "../../pkg/log/log.ts"
import { createControllerManager } from "./controller-manager.ts"

test("controllers that become ready after the manager was stopped stop too", async () => {
  // given informers that have not synced
  const synced = Promise.withResolvers<void>()
  let subscribed = 0
  const informer = {
    whenSynced: () => synced.promise,
    list: () => [],
    by: () => [],
    get: () => undefined,
    on: () => {
      subscribed++
      return () => void subscribed--
    },
  }
  const clock = new VirtualClock(0)
  const manager = createControllerManager(
    {
      informers: { of: (resource: unknown) => ({ ...informer, resource }) } as unknown as Informers,
      client: {} as Client,
      clock,
      random: seededRandom(1),
      log: silent,
      spawn: (_name, run) => void run(),
    },
    {
      resources: () => RESOURCES,
      onResources: () => () => undefined,
      resourceOf: () => undefined,
      askMetrics: () => Promise.reject(new Error("nobody is asked here")),
      caPem: () => "",
      certify: () => "",
      signToken: () => "",
      clusterCidrs: ["10.42.0.0/16"],
      nodeMasks: [24],
      clientFor: () => ({}) as Client,
    },
  )
  const starting = manager.start(AbortSignal.timeout(60_000))
  // when the manager is stopped before
  await manager.stop()
  synced.resolve()
  await starting
  // then nothing listens
  expect([subscribed, clock.pending]).toEqual([0, 0])
})
