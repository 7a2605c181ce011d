import { expect, test } from "bun:test"
import { ConfigMap } from "../api/core/v1/configmap.ts"
import type { Informer, InformerHandlers, Informers } from "../client/informer.ts"
import { startCluster } from "../../components/cluster/testing/cluster.ts"
import { defineController } from "./controller.ts"
import { startController } from "./start.ts"

test("a controller that counts by events has seen all objects of a list when it works on the first", async () => {
  // given a controller that counts, and an informer that is told of objects by hand
  await using cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  let handlers: InformerHandlers<ConfigMap> = {}
  const informer = {
    resource: ConfigMap,
    revision: 0,
    whenSynced: () => Promise.resolve(),
    on: (given: InformerHandlers<ConfigMap>) => ((handlers = given), () => undefined),
  } as unknown as Informer<ConfigMap>
  const informers = { of: () => informer } as unknown as Informers
  let seen = 0
  const seenWhenWorking: number[] = []
  const controller = await startController(
    defineController<ConfigMap>({
      name: "test",
      reconciles: ConfigMap,
      concerns: () => ++seen > 0,
      reconcile: () => Promise.resolve(void seenWhenWorking.push(seen)),
    }),
    { ...cluster.contextFor("test"), informers },
  )
  // when the informer lists anew, and has several objects at once
  handlers.listing?.()
  for (const name of ["a", "b", "c"])
    handlers.added?.({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name } })
  handlers.listed?.()
  await cluster.settle()
  // then
  expect(seenWhenWorking).toEqual([3, 3, 3])
  await controller.stop()
})
