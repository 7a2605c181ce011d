import { expect, test } from "bun:test"
import {
  ConfigMap,
  EndpointSlice,
  Lease,
  Pod,
  ResourceQuota,
  Secret,
  Service,
  startCluster,
  type Cluster,
} from "../testing.ts"

const web = (replicas: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "web" }] } },
  },
})

const running = (cluster: Cluster, count: number) =>
  cluster.eventually(Pod, { labels: "app=web", phase: "Running" }, (pods) => pods.length === count)

const holderOf = async (cluster: Cluster, name: string) =>
  (await cluster.get(Lease, { name, namespace: "kube-system" })).spec.holderIdentity ?? ""

test("a read through one server finds at once what was written through another", async () => {
  // given
  await using cluster = await startCluster({ servers: 3, seed: 1 })
  expect(cluster.servers).toEqual(["server-0", "server-1", "server-2"])
  // when
  await cluster.through("server-0").create(ConfigMap, { metadata: { name: "a" }, data: { from: "0" } })
  // then
  expect((await cluster.through("server-2").get(ConfigMap, "a")).data).toEqual({ from: "0" })
})

test("controllers and scheduler continue on another server within ten seconds after their server is lost", async () => {
  // given
  await using cluster = await startCluster({ servers: 3, nodes: 2, seed: 1 })
  await cluster.apply(web(2))
  await running(cluster, 2)
  const leader = await holderOf(cluster, "kube-controller-manager")
  // when
  await using lost = await cluster.faults.serverLost(leader)
  await cluster.apply(web(4))
  const from = cluster.now.getTime()
  await running(cluster, 4)
  // then
  expect(cluster.now.getTime() - from).toBeLessThan(10_000)
  expect(await holderOf(cluster, "kube-controller-manager")).not.toBe(leader)
  await lost.end()
  await cluster.advance("1m")
})

test("the endpoints of the Service kubernetes are the servers that are running", async () => {
  // given
  await using cluster = await startCluster({ servers: 3, seed: 1 })
  const addresses = async () => {
    const slice = await cluster.get(EndpointSlice, "kubernetes")
    return (slice.endpoints ?? []).flatMap(({ addresses }) => addresses)
  }
  await cluster.eventually(async () => (await addresses()).length === 3)
  expect(await addresses()).toEqual(["172.30.0.2", "172.30.0.3", "172.30.0.4"])
  // when
  await using lost = await cluster.faults.serverLost("server-1")
  // then
  await cluster.advance("25s")
  expect(await addresses()).toEqual(["172.30.0.2", "172.30.0.4"])
  await lost.end()
  await cluster.eventually(async () => (await addresses()).length === 3)
  // and nothing is written while nothing changes
  const written = cluster.history({ kind: "EndpointSlice" }).length
  await cluster.advance("2m")
  expect(cluster.history({ kind: "EndpointSlice" })).toHaveLength(written)
})

test("a cluster ends cleanly while the calls of a node wait for another try at all servers", async () => {
  // given a node that reaches one server only, which has no majority
  const cluster = await startCluster({ servers: 3, nodes: 5 })
  const parted = await cluster.faults.partitioned(["server-0", "node-0"], ["server-1", "server-2"])
  // when it has just tried to renew its lease
  await cluster.advance("30s")
  await cluster.through("server-1").create(ConfigMap, { metadata: { name: "a" } })
  await parted.end()
  // then nothing is left
  await cluster.stop()
})

test("a server without a majority refuses writes, and catches up after the partition has ended", async () => {
  // given
  await using cluster = await startCluster({ servers: 3, nodes: 3, seed: 1 })
  await using parted = await cluster.faults.partitioned(
    ["server-0", "node-0"],
    ["server-1", "server-2", "node-1", "node-2"],
  )
  // when
  const refused = await cluster
    .through("server-0")
    .create(ConfigMap, { metadata: { name: "a" } })
    .catch((err: unknown) => err)
  await cluster.advance("5s")
  await cluster.through("server-1").create(ConfigMap, { metadata: { name: "b" } })
  // then
  expect(String(refused)).toContain("store")
  await parted.end()
  await cluster.advance("10s")
  expect((await cluster.through("server-0").get(ConfigMap, "b")).metadata.name).toBe("b")
})

test("a watch ends with Expired when its server has missed changes that were compacted meanwhile", async () => {
  // given a watch through a server that is cut off, and changes that the others make and forget
  await using cluster = await startCluster({ servers: 3, seed: 1 })
  const told: string[] = []
  cluster.through("server-1").watch(
    ConfigMap,
    { namespace: "default", resourceVersion: String(cluster.history().at(-1)!.revision) },
    {
      onEvent: ({ type }) => told.push(type),
      onEnd: (error) => told.push(error?.reason ?? "closed"),
    },
  )
  await using parted = await cluster.faults.partitioned(["server-1"], ["server-0", "server-2"])
  const writer = cluster.through("server-0")
  await writer.create(ConfigMap, { metadata: { name: "a" } })
  await writer.delete(ConfigMap, "a")
  await writer.create(ConfigMap, { metadata: { name: "a" } })
  cluster.faults.forgetHistory()
  await cluster.advance("1s")
  // when
  await parted.end()
  await cluster.advance("10s")
  // then it is not told of one object what has happened to two
  expect(told).toEqual(["Expired"])
})

test.each([
  {
    title: "Service address",
    spec: { clusterIP: "10.43.0.77", ports: [{ port: 80 }] },
    refusal: "provided IP is already allocated",
  },
  {
    title: "node port",
    spec: { type: "NodePort" as const, ports: [{ port: 80, nodePort: 30077 }] },
    refusal: "provided port is already allocated",
  },
  {
    title: "port of health checks",
    spec: {
      type: "LoadBalancer" as const,
      externalTrafficPolicy: "Local" as const,
      healthCheckNodePort: 30077,
      ports: [{ port: 80 }],
    },
    refusal: "provided port is already allocated",
  },
])("two servers allocate a $title to one Service only", async ({ spec, refusal }) => {
  // given two Services that ask two servers for the same at the same time
  await using cluster = await startCluster({ servers: 3, seed: 1 })
  // when
  const outcomes = await Promise.all(
    ["server-1", "server-2"].map((server) =>
      cluster
        .through(server)
        .create(Service, { metadata: { name: server }, spec })
        .then(
          () => "created",
          (err: unknown) => String(err),
        ),
    ),
  )
  // then
  expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1)
  expect(outcomes.find((outcome) => outcome !== "created")).toContain(refusal)
  expect(await cluster.list(Service)).toHaveLength(2)
})

test("a node port that a Service has released can be allocated by another server", async () => {
  // given
  await using cluster = await startCluster({ servers: 3, seed: 1 })
  const service = (name: string, nodePort: number) => ({
    metadata: { name },
    spec: { type: "NodePort" as const, ports: [{ port: 80, nodePort }] },
  })
  const [one, two] = [cluster.through("server-1"), cluster.through("server-2")]
  const moved = await one.create(Service, service("moved", 30077))
  await two.create(Service, service("gone", 30078))
  // when
  await two.update(Service, { ...moved, spec: { ...moved.spec, ports: [{ port: 80, nodePort: 30079 }] } })
  await one.delete(Service, { namespace: "default", name: "gone" })
  // then
  await one.create(Service, service("first", 30077))
  await two.create(Service, service("second", 30078))
  expect((await cluster.list(Service)).map(({ metadata }) => metadata.name)).toEqual([
    "first",
    "kubernetes",
    "moved",
    "second",
  ])
})

test("servers that create objects at the same time do not exceed a quota", async () => {
  // given
  await using cluster = await startCluster({ servers: 3, seed: 1 })
  await cluster.client.create(ResourceQuota, { metadata: { name: "few" }, spec: { hard: { secrets: "5" } } })
  // when
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      cluster
        .through(cluster.servers[i % 3]!)
        .create(Secret, { metadata: { name: `secret-${i}` } })
        .then(
          () => "created",
          (err: unknown) => String(err),
        ),
    ),
  )
  // then
  expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(5)
  expect(outcomes.filter((outcome) => outcome.includes("exceeded quota: few"))).toHaveLength(7)
  expect(await cluster.list(Secret)).toHaveLength(5)
  expect((await cluster.get(ResourceQuota, "few")).status.used).toEqual({ secrets: "5" })
})

test("several servers have the same history with the same seed", async () => {
  const run = async () => {
    await using cluster = await startCluster({ servers: 3, nodes: 2, seed: 7 })
    await cluster.apply(web(3))
    await using parted = await cluster.faults.partitioned(["server-0"], ["server-1", "server-2"])
    await cluster.advance("1m")
    await parted.end()
    await cluster.advance("1m")
    return cluster
      .history()
      .map((entry) => JSON.stringify(entry))
      .join("\n")
  }
  const first = await run()
  expect(first.length).toBeGreaterThan(10_000)
  expect((await run()) === first).toBe(true)
})
