import { expect, test } from "bun:test"
import { APIService, availability } from "../../pkg/api/apiregistration/v1/apiservice.ts"
import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import { servingNamesOf } from "../../pkg/api/coordination/v1/server-lease.ts"
import { Endpoints } from "../../pkg/api/core/v1/service/endpoints.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { silent } from "../../pkg/log/log.ts"
import { MemoryLog } from "../../pkg/storage/replicated/memory-log.fixtures.ts"
import { ReplicatedStorage } from "../../pkg/storage/replicated/replicated.ts"
import type { ExtensionServer } from "./aggregator/extension-server.ts"
import { createApiServer } from "./apiserver.ts"
import { parseStored } from "./store/parse-stored.ts"

/** Starts an API server at an address, over the log that servers share. */
async function serverAt(advertiseAddress: string, log: MemoryLog, extension?: ExtensionServer) {
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
      extensionServers: () => extension,
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
  expect(servingNamesOf(leases[0]!)).toContain("kubernetes.default.svc")
  watch.close()
  await one.server.stop()
  one.storage.close()
})

test("if two servers disagree about an extension server, only the first live one writes the APIService's condition", async () => {
  // given a server that reaches the extension server, and one that does not
  const log = new MemoryLog()
  const kinds = { kind: "APIResourceList", apiVersion: "v1", groupVersion: "things.example.com/v1", resources: [] }
  const one = await serverAt("192.0.2.1", log, () => Response.json(kinds))
  const { promise: hasTried, resolve } = Promise.withResolvers<void>()
  let tries = 0
  const two = await serverAt("192.0.2.2", log, () => {
    if (++tries === 30) resolve()
    // Servers that overwrite each other's findings without end let the event loop come to nothing else.
    if (tries > 500) return new Promise<Response>(() => undefined)
    return new Response("away", { status: 500 })
  })
  const told: (string | undefined)[] = []
  const { promise: isAway, resolve: away } = Promise.withResolvers<void>()
  const watch = two.client.watch(
    APIService,
    { fieldSelector: "metadata.name=v1.things.example.com" },
    {
      onEvent(event) {
        if (event.type === "BOOKMARK" || event.type === "ERROR") return
        const found = availability(event.object.status)
        told.push(found?.status)
        if (found?.status === "False") away()
      },
      onEnd: () => undefined,
    },
  )
  // when
  await one.client.create(APIService, {
    metadata: { name: "v1.things.example.com" },
    spec: {
      group: "things.example.com",
      version: "v1",
      groupPriorityMinimum: 100,
      versionPriority: 1,
      insecureSkipTLSVerify: true,
      service: { namespace: "default", name: "things", port: 443 },
    },
  })
  await hasTried
  // then
  expect(told).toEqual([undefined, "True"])
  // when
  await one.server.stop()
  one.storage.close()
  // then
  await isAway
  expect(told).toEqual([undefined, "True", "False"])
  watch.close()
  await two.server.stop()
  two.storage.close()
})
