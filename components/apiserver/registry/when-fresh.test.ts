import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent } from "../../../pkg/log/log.ts"
import { MemoryLog } from "../../../pkg/storage/replicated/memory-log.fixtures.ts"
import { ReplicatedStorage } from "../../../pkg/storage/replicated/replicated.ts"
import { createApiServer, type ApiServer } from "../apiserver.ts"
import { parseStored } from "../store/parse-stored.ts"
import { GRANT } from "../call/grant.fixtures.ts"
import type { ApiRequest, Pipeline } from "../call/request.ts"

const ADMIN = { name: "admin", groups: ["system:masters"] }
interface Started {
  readonly server: ApiServer
  readonly storage: ReplicatedStorage
  readonly client: Client
  readonly pipeline: Pipeline
}
let log: MemoryLog
let one: Started
let two: Started

async function startServer(seed: number): Promise<Started> {
  const storage = await ReplicatedStorage.open({ log: log.connect(), clock: realClock, parse: parseStored })
  let pipeline: Pipeline | undefined
  const server = createApiServer(
    { clock: realClock, random: seededRandom(seed), log: silent },
    {
      storage,
      advertiseAddress: "127.0.0.1",
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
      intercept: (own) => (pipeline = own),
    },
  )
  await server.start(new AbortController().signal)
  return { server, storage, client: newClient(server.transportFor(ADMIN)), pipeline: pipeline! }
}

beforeEach(async () => {
  log = new MemoryLog()
  one = await startServer(1)
  two = await startServer(2)
})
afterEach(async () => {
  for (const { server, storage } of [one, two]) {
    await server.stop()
    storage.close()
  }
})

const create = (name: string) => one.client.create(ConfigMap, { metadata: { name, namespace: "default" } })
const get = (name: string, warnings: string[], options: ApiRequest["options"] = {}): ApiRequest => ({
  user: ADMIN,
  verb: "get",
  resource: ConfigMap as Resource,
  namespace: "default",
  name,
  options,
  grant: GRANT,
  warn: (text) => void warnings.push(text),
})

describe("a request to a server whose cache is behind the store", () => {
  test("waits for writes that another server has acknowledged, unless its resourceVersion does not require them", async () => {
    // given a change that has not come to the second server
    await create("first")
    await two.client.get(ConfigMap, { name: "first", namespace: "default" })
    const release = log.hold()
    const created = create("second")
    while (log.entries.get("/registry/core/configmaps/default/second") === undefined) await Promise.resolve()
    // when it is asked
    const waiting = Promise.resolve(two.pipeline.handle(get("second", [])))
    const atOnce = () => two.pipeline.handle(get("second", [], { resourceVersion: "0" }))
    // then only a read of whatever there is, is answered before the change comes
    expect(atOnce).toThrow("not found")
    release()
    expect(await waiting).toMatchObject({ kind: "object", object: { metadata: { name: "second" } } })
    await created
  })

  test("can start a watch from a revision that its client saw at another server", async () => {
    const release = log.hold()
    const created = create("second")
    while (log.entries.get("/registry/core/configmaps/default/second") === undefined) await Promise.resolve()
    const told: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const watch = two.client.watch(
      ConfigMap,
      { namespace: "default", resourceVersion: String(log.revision) },
      {
        onEvent(event) {
          if (event.type !== "ERROR") told.push(`${event.type} ${event.object.metadata.name}`)
          resolve()
        },
        onEnd: (error) => told.push(`ended: ${error?.message}`),
      },
    )
    release()
    await created
    await create("third")
    await promise
    watch.close()
    expect(told).toEqual(["ADDED third"])
  })
})

test("a read while the store is unreachable is answered from the cache, with a warning", async () => {
  await create("kept")
  await two.client.get(ConfigMap, { name: "kept", namespace: "default" })
  log.lose()
  const warnings: string[] = []
  expect(await two.pipeline.handle(get("kept", warnings))).toMatchObject({ object: { metadata: { name: "kept" } } })
  expect(warnings).toEqual([
    "the store that the servers share cannot be reached: this answer is from memory and may be old",
  ])
  const refused = await create("refused").catch((err: unknown) => err)
  expect(refused).toMatchObject({
    reason: "ServiceUnavailable",
    message: "The store cannot be reached: no server answers",
  })
})
