import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { hasEtcd, startEtcd, type TestEtcd } from "../../../test/harness/etcd.ts"
import { hasPostgres, startPostgres, type TestPostgres } from "../../../test/harness/postgres.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { SelfSubjectAccessReview } from "../../../pkg/api/authorization/v1/selfsubjectaccessreview.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent } from "../../../pkg/log/log.ts"
import { createApiServer, type ApiServer } from "../apiserver.ts"

interface LeaseOfEtcd {
  readonly "granted-ttl": number
}

const ADMIN = { name: "admin", groups: ["system:masters"] }
const named = (name: string, data: Record<string, string> = {}) => ({
  metadata: { name, namespace: "default" },
  data,
})
const failure = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => {
      throw new Error("it was expected to fail")
    },
    (err: ApiError) => err,
  )

const stores = [
  { kind: "etcd", isInstalled: hasEtcd, start: () => startEtcd() },
  { kind: "PostgreSQL", isInstalled: hasPostgres, start: () => startPostgres() },
].filter(({ isInstalled }) => isInstalled)

describe.each(stores)("two API servers over one $kind", ({ kind, start }) => {
  let store: TestEtcd | TestPostgres
  let servers: readonly ApiServer[]
  let clients: readonly [Client, Client]

  beforeAll(async () => {
    store = await start()
    servers = [1, 2].map((seed) =>
      createApiServer(
        { clock: realClock, random: seededRandom(seed), log: silent },
        {
          datastore: { endpoints: [store.endpoint] },
          advertiseAddress: "127.0.0.1",
          serviceCidrs: ["10.43.0.0/16"],
          nodePorts: { first: 30000, last: 32767 },
          clusterDomain: "cluster.local",
          nodes: new NodeConnectors(),
          gateway: true,
          eventSeconds: 7200,
        },
      ),
    )
    // Both find nothing and write what every cluster begins with.
    await Promise.all(servers.map((server) => server.start(new AbortController().signal)))
    clients = servers.map((server) => newClient(server.transportFor(ADMIN))) as [Client, Client]
  }, 60_000)
  afterAll(async () => {
    for (const server of servers ?? []) await server.stop()
    await store?.[Symbol.asyncDispose]()
  })

  test("start at the same time, and each shows the bootstrap objects once", async () => {
    for (const client of clients) {
      const names = (await client.list(Namespace)).items.map(({ metadata }) => metadata.name)
      expect(names).toEqual(["default", "kube-node-lease", "kube-public", "kube-system"])
      expect((await client.get(Service, { namespace: "default", name: "kubernetes" })).spec.clusterIP).toBe("10.43.0.1")
    }
  })

  test("read what was written through the other server at once", async () => {
    const [one, two] = clients
    for (let i = 0; i < 20; i++) {
      const created = await one.create(ConfigMap, named("shared", { i: String(i) }))
      const read = await two.get(ConfigMap, { namespace: "default", name: "shared" })
      expect(read).toEqual(created)
      await two.delete(ConfigMap, { namespace: "default", name: "shared" })
      expect((await failure(one.get(ConfigMap, { namespace: "default", name: "shared" }))).reason).toBe("NotFound")
    }
  })

  test("send the same events to watches, and a watch can resume at the other server", async () => {
    const [one, two] = clients
    const told: [string[], string[]] = [[], []]
    const { metadata } = await one.list(ConfigMap, { namespace: "default" })
    const { promise, resolve } = Promise.withResolvers<void>()
    const watches = clients.map((client, i) =>
      client.watch(
        ConfigMap,
        { namespace: "default", resourceVersion: metadata.resourceVersion! },
        {
          onEvent(event) {
            if (event.type === "BOOKMARK" || event.type === "ERROR") return
            const { name, resourceVersion } = event.object.metadata
            told[i]!.push(`${event.type} ${name} ${resourceVersion}`)
            if (told.every((events) => events.length >= 9)) resolve()
          },
          onEnd: () => undefined,
        },
      ),
    )
    for (const name of ["a", "b", "c"]) {
      await one.create(ConfigMap, named(name))
      await two.update(ConfigMap, { ...(await two.get(ConfigMap, { namespace: "default", name })), data: { x: "y" } })
      await one.delete(ConfigMap, { namespace: "default", name })
    }
    await promise
    expect(told[0]!.map((event) => event.split(" ")[0]).slice(0, 3)).toEqual(["ADDED", "MODIFIED", "DELETED"])
    expect(told[1]).toEqual(told[0])
    for (const watch of watches) watch.close()
    // when a client goes on at the other server, after the fourth event
    const rest = Promise.withResolvers<void>()
    const late: string[] = []
    const resourceVersion = told[0]![3]!.split(" ")[2]!
    const watch = two.watch(
      ConfigMap,
      { namespace: "default", resourceVersion },
      {
        onEvent(event) {
          if (event.type !== "ERROR") late.push(`${event.type} ${event.object.metadata.name}`)
          if (late.length === 5) rest.resolve()
        },
        onEnd: () => undefined,
      },
    )
    await rest.promise
    expect(late).toEqual(told[0]!.slice(4).map((event) => event.split(" ").slice(0, 2).join(" ")))
    watch.close()
  })

  test.skipIf(kind !== "etcd")(
    "leave the expiry of Events to etcd, for new Events and for those that occurred again",
    async () => {
      const [one, two] = clients
      const event = (name: string) => ({
        metadata: { name, namespace: "default" },
        involvedObject: { kind: "Pod", namespace: "default", name: "web" },
        reason: "Started",
        type: "Normal",
      })
      for (const name of ["once", "twice"]) await one.create(Event, event(name))
      await two.patch(Event, { namespace: "default", name: "twice" }, { type: "merge", body: { count: 2 } })
      const { ctl } = store as TestEtcd
      // The time that the servers were given, and a minute, in which new Events share the lease.
      const granted = ctl("lease", "list")
        .match(/^[0-9a-f]{16}$/gm)!
        .map(
          (lease) => (JSON.parse(ctl("lease", "timetolive", lease, "--write-out=json")) as LeaseOfEtcd)["granted-ttl"],
        )
      expect(granted).toContain(7260)
      for (const lease of ctl("lease", "list").match(/^[0-9a-f]{16}$/gm)!) ctl("lease", "revoke", lease)
      for (const client of clients) expect((await client.list(Event, { namespace: "default" })).items).toEqual([])
    },
  )

  test("accept a bootstrap token at once that was created through the other server", async () => {
    for (let i = 0; i < 20; i++) {
      const [id, secret] = [`abcd${String(i).padStart(2, "0")}`, "0123456789abcdef"]
      const stringData = { "token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true" }
      const metadata = { name: `bootstrap-token-${id}`, namespace: "kube-system" }
      await clients[0].create(Secret, { metadata, type: "bootstrap.kubernetes.io/token", stringData })
      expect(await servers[1]!.bootstrapToken(`${id}.${secret}`)).toMatchObject({ id })
    }
  })

  test("let many concurrent writers of one object through both servers succeed in turn", async () => {
    const [one] = clients
    await one.create(ConfigMap, named("counted", { n: "0" }))
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        clients[i % 2]!.patch(
          ConfigMap,
          { namespace: "default", name: "counted" },
          {
            type: "merge",
            body: { data: { [`from-${i}`]: "x" } },
          },
        ),
      ),
    )
    const { data } = await one.get(ConfigMap, { namespace: "default", name: "counted" })
    expect(Object.keys(data ?? {}).length).toBe(21)
  })

  test("answer reads and access reviews while the store is dead, refuse writes, and report it in readyz", async () => {
    const [one] = clients
    await one.create(ConfigMap, named("kept"))
    await store.kill()
    const refused = await failure(one.create(ConfigMap, named("lost")))
    expect(["ServiceUnavailable", "Timeout"]).toContain(refused.reason)
    expect(refused.message).toContain("The store")
    expect((await one.get(ConfigMap, { namespace: "default", name: "kept" })).metadata.name).toBe("kept")
    const review = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } }
    expect((await one.create(SelfSubjectAccessReview, review)).status?.allowed).toBe(true)
    const { health } = servers[0]!
    expect(health.find("etcd-readiness")?.problem).toContain("The store cannot be reached")
    expect(health.find("etcd")?.problem).toBeUndefined()
    await store.restart()
    while (health.find("etcd-readiness")?.problem !== undefined) await Bun.sleep(20)
    await one.create(ConfigMap, named("again"))
  }, 60_000)
})
