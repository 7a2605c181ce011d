import { expect, test } from "bun:test"
import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import { Endpoints } from "../../pkg/api/core/v1/service/endpoints.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { silent } from "../../pkg/log/log.ts"
import { MemoryLog } from "../../pkg/storage/replicated/memory-log.fixtures.ts"
import { ReplicatedStorage } from "../../pkg/storage/replicated/replicated.ts"
import { createApiServer } from "./apiserver.ts"
import { parseStored } from "./store/parse-stored.ts"

/** Starts an API server at an address, over the log that servers share. */
async function serverAt(advertiseAddress: string, log: MemoryLog) {
  const storage = await ReplicatedStorage.open({ clock: realClock, log: log.connect(), parse: parseStored })
  const server = createApiServer(
    { clock: realClock, random: seededRandom(1), log: silent },
    {
      storage,
      advertiseAddress,
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
    },
  )
  await server.start(new AbortController().signal)
  const client = newClient(server.transportFor({ name: "admin", groups: ["system:masters"] }))
  return { storage, server, client }
}

test("a server that stops leaves the endpoints of the Service kubernetes at once", async () => {
  // given two servers, which both are endpoints
  const log = new MemoryLog()
  const one = await serverAt("192.0.2.1", log)
  const two = await serverAt("192.0.2.2", log)
  const told: (readonly string[])[] = []
  let changed = Promise.withResolvers<void>()
  const watch = one.client.watch(
    Endpoints,
    { namespace: "default" },
    {
      onEvent: (event) => {
        if (event.type === "BOOKMARK" || event.type === "ERROR") return
        told.push((event.object.subsets ?? []).flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)))
        changed.resolve()
      },
      onEnd: () => undefined,
    },
  )
  const until = async (addresses: readonly string[]) => {
    while (!Bun.deepEquals(told.at(-1), addresses)) {
      changed = Promise.withResolvers<void>()
      await changed.promise
    }
  }
  await until(["192.0.2.1", "192.0.2.2"])
  // when
  await two.server.stop()
  two.storage.close()
  // then
  await until(["192.0.2.1"])
  const leases = (await one.client.list(Lease, { namespace: "kube-system" })).items
  expect(leases.map(({ spec }) => spec.holderIdentity)).toEqual(["192.0.2.1"])
  watch.close()
  await one.server.stop()
  one.storage.close()
})
