import { describe, expect, test } from "bun:test"
import { web } from "../cluster.fixtures.ts"
import { ConfigMap, Deployment, Node, Pod, startCluster, type Cluster } from "../testing.ts"

const condition = async (cluster: Cluster, node: string, type: string) =>
  (await cluster.get(Node, node)).status.conditions?.find((one) => one.type === type)?.status
const runningOn = async (cluster: Cluster, node: string) =>
  (await cluster.list(Pod, { phase: "Running", fields: `spec.nodeName=${node}` })).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  ).length

describe("a node", () => {
  test("that is lost becomes NotReady, its pods are replaced, and it becomes Ready again", async () => {
    // given pods on two nodes
    await using cluster = await startCluster({ nodes: 2 })
    await cluster.apply(web(4))
    expect(await runningOn(cluster, "node-0")).toBeGreaterThan(0)
    // when one node is lost
    const fault = await cluster.faults.nodeLost("node-0")
    // then it counts as lost after its grace period, and its pods run elsewhere when their tolerations have run out
    await cluster.eventually(async () => (await condition(cluster, "node-0", "Ready")) === "Unknown", { within: "60s" })
    await cluster.eventually(async () => (await runningOn(cluster, "node-1")) === 4, { within: "10m" })
    // and when it is back it is ready, and nothing runs there that should not
    await fault.end()
    await cluster.eventually(async () => (await condition(cluster, "node-0", "Ready")) === "True")
    await cluster.eventually(async () => (await cluster.list(Pod)).length === 4)
  })

  test("that is partitioned keeps its containers running, and stops those of deleted pods afterwards", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(web(1))
    const [pod] = await cluster.list(Pod)
    const container = cluster.container(pod!)!
    // when it is cut off and its pod deleted meanwhile
    const fault = await cluster.faults.nodePartitioned("node-0")
    await cluster.delete(Deployment, "web")
    await cluster.advance("30s")
    // then the container runs on
    expect(container.running).toBe(true)
    // until the node is back
    await fault.end()
    await cluster.eventually(async () => (await cluster.list(Pod)).length === 0)
    expect(container.running).toBe(false)
  })

  test.each([
    ["nodeOutOfMemory", "MemoryPressure"],
    ["nodeOutOfDisk", "DiskPressure"],
  ] as const)("during the fault %s the node has the condition %s", async (fault, type) => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    // when
    const begun = await cluster.faults[fault]("node-0")
    // then
    await cluster.eventually(async () => (await condition(cluster, "node-0", type)) === "True")
    await begun.end()
    await cluster.advance("10m")
    expect(await condition(cluster, "node-0", type)).toBe("False")
  })

  test("that is slow takes longer to start a pod", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1, images: { app: { pullMs: 100, startMs: 50 } } })
    await using _slow = await cluster.faults.nodeSlow("node-0", 10)
    // when
    await cluster.apply(web(1, "app:1"))
    const began = cluster.now.getTime()
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
    // then
    expect(cluster.now.getTime() - began).toBeGreaterThanOrEqual(1500)
  })
})

test("the pull of an image that fails is retried with back-off and Events, and succeeds when the fault ends", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  const fault = await cluster.faults.imagePull("nginx", { message: "registry is down" })
  await cluster.apply(web(1))
  // when
  await cluster.advance("1m")
  // then
  const [pod] = await cluster.list(Pod)
  expect(String(await cluster.explain(pod!))).toContain("registry is down")
  expect(pod!.status.containerStatuses![0]!.state.waiting?.reason).toBe("ImagePullBackOff")
  await fault.end()
  await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1, { within: "5m" })
})

describe("requests", () => {
  test("that a rule refuses are retried by controllers", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    const fault = await cluster.faults.requests({ verb: "create", resource: "pods", error: "ServiceUnavailable" })
    // when
    await cluster.apply(web(2))
    await cluster.advance("10s")
    expect(await cluster.list(Pod)).toHaveLength(0)
    await fault.end()
    // then
    await cluster.eventually(async () => (await cluster.list(Pod, { phase: "Running" })).length === 2, { within: "5m" })
  })

  test("fail as often and are delayed as long as the rule says", async () => {
    // given
    await using cluster = await startCluster()
    await using _conflict = await cluster.faults.requests({
      verb: "create",
      resource: "configmaps",
      name: "once",
      error: "Conflict",
      times: 1,
    })
    const create = (name: string) => cluster.client.create(ConfigMap, { metadata: { namespace: "default", name } })
    await using _slow = await cluster.faults.requests({
      user: "system:admin",
      verb: "get",
      resource: "configmaps",
      delay: "3s",
    })
    await cluster.settle()
    // when
    const late = cluster.client.get(ConfigMap, { namespace: "kube-public", name: "kube-root-ca.crt" })
    let done = false
    void late.then(() => (done = true))
    await cluster.advance("2s")
    // then
    expect(done).toBe(false)
    await cluster.advance("1s")
    expect(done).toBe(true)
    expect((await create("twice")).metadata.name).toBe("twice")
  })
})

test("watches that are dropped are resumed", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  // when all connections are lost
  expect(cluster.faults.dropWatches()).toBeGreaterThan(10)
  await cluster.apply(web(2))
  // then the cluster goes on
  await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 2)
})

test.each(["scheduler", "controller-manager", "apiserver"] as const)(
  "after a crash of the %s its restart completes the work",
  async (component) => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(web(1))
    // when it crashes, and the Deployment is scaled as soon as that is possible
    const fault = await cluster.faults.crashed(component)
    if (component !== "apiserver") await cluster.apply(web(3))
    await cluster.advance("5s")
    if (component !== "apiserver") expect(await cluster.list(Pod, { phase: "Running" })).toHaveLength(1)
    await fault.end()
    if (component === "apiserver") await cluster.apply(web(3))
    // then
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 3, { within: "2m" })
  },
)

test("a kubelet that restarts adopts its running pods", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.apply(web(2))
  const before = (await cluster.list(Pod)).map(({ status }) => status.containerStatuses?.[0]?.containerID)
  // when
  await using fault = await cluster.faults.crashed({ kubelet: "node-0" })
  await cluster.advance("5s")
  await fault.end()
  await cluster.advance("1m")
  // then
  expect((await cluster.list(Pod)).map(({ status }) => status.containerStatuses?.[0]?.containerID)).toEqual(before)
})

describe("faults that overlap", () => {
  test("on one node keep the node away until the last fault has ended", async () => {
    // given a node that is lost, whose kubelet crashes as well, twice
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(web(1))
    const lost = await cluster.faults.nodeLost("node-0")
    const first = await cluster.faults.crashed({ kubelet: "node-0" })
    const second = await cluster.faults.crashed({ kubelet: "node-0" })
    // when all but one have ended, one of them twice
    await first.end()
    await first.end()
    await lost.end()
    await cluster.advance("2m")
    // then the node is still away
    expect(await condition(cluster, "node-0", "Ready")).toBe("Unknown")
    // until the last has
    await second.end()
    await cluster.eventually(async () => (await condition(cluster, "node-0", "Ready")) === "True", { within: "1m" })
  })

  test.each(["scheduler", "controller-manager", "apiserver"] as const)(
    "on the %s start it once, after the last fault has ended",
    async (component) => {
      // given
      await using cluster = await startCluster({ nodes: 1 })
      const first = await cluster.faults.crashed(component)
      const second = await cluster.faults.crashed(component)
      // when
      await Promise.all([first.end(), second.end(), second.end()])
      await cluster.apply(web(2))
      // then
      await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 2)
      expect(cluster.history({ kind: "Pod" }).filter(({ type }) => type === "create")).toHaveLength(2)
    },
  )

  test("on a node's speed and disk apply until each fault has ended", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    const { faults } = cluster.machine("node-0")
    const [slow, slower] = [await cluster.faults.nodeSlow("node-0", 2), await cluster.faults.nodeSlow("node-0", 10)]
    const [full, fuller] = [await cluster.faults.nodeOutOfDisk("node-0"), await cluster.faults.nodeOutOfDisk("node-0")]
    // when, then
    expect([faults.slowness, faults.shortage.disk]).toEqual([10, true])
    await Promise.all([slower.end(), full.end()])
    expect([faults.slowness, faults.shortage.disk]).toEqual([2, true])
    await Promise.all([slow.end(), fuller.end()])
    expect([faults.slowness, faults.shortage.disk]).toEqual([1, false])
  })
})

test("a kubelet that has crashed sends no probes, and the cluster stops without errors", async () => {
  // given a pod whose probes are under way when its kubelet crashes
  let asked = 0
  await using cluster = await startCluster({
    nodes: 1,
    images: {
      api: {
        startMs: 500,
        listensAfterMs: 3000,
        http: () => {
          asked++
          return new Response("ok")
        },
      },
    },
  })
  const probe = { httpGet: { path: "/", port: 80 }, periodSeconds: 1 }
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: {
      containers: [{ name: "c", image: "api", startupProbe: probe, readinessProbe: probe, livenessProbe: probe }],
    },
  })
  for (const ms of [200, 600, 2900, 3000, 5000]) {
    await cluster.advance(ms)
    await using _dead = await cluster.faults.crashed({ kubelet: "node-0" })
    // when
    const before = asked
    await cluster.advance("1m")
    // then
    expect(asked).toBe(before)
  }
})

test("a jump of the wall clock does not change delays", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  const before = cluster.now.getTime()
  // when
  await cluster.faults.clockJump("1h")
  await cluster.apply(web(1))
  await cluster.faults.clockJump(-60_000)
  await cluster.advance("1s")
  // then
  expect(cluster.now.getTime() - before).toBe(3_600_000 - 60_000 + 1000)
  await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
})

test("a jump of the wall clock does not shorten timeouts", async () => {
  // given a request that takes ten seconds
  await using cluster = await startCluster({ nodes: 1 })
  await using _slow = await cluster.faults.requests({ user: "system:admin", verb: "get", delay: "10s" })
  const answer = cluster.get(Node, "node-0")
  // when the clock is set forward by more than anybody waits
  await cluster.faults.clockJump("1h")
  // then
  expect((await answer).metadata.name).toBe("node-0")
})

describe("faults of one node that overlap", () => {
  const FAULTS = {
    "node lost": (cluster: Cluster) => cluster.faults.nodeLost("node-0"),
    "node partitioned": (cluster: Cluster) => cluster.faults.nodePartitioned("node-0"),
    "kubelet crashed": (cluster: Cluster) => cluster.faults.crashed({ kubelet: "node-0" }),
    "API server crashed": (cluster: Cluster) => cluster.faults.crashed("apiserver"),
  } as const
  const names = Object.keys(FAULTS) as (keyof typeof FAULTS)[]
  const pairs = names.flatMap((first) =>
    names.filter((second) => second !== first).map((second) => [first, second] as const),
  )

  test.each(pairs.flatMap((pair) => [[...pair, "first"] as const, [...pair, "last"] as const]))(
    "%s, then %s: both end, that which began %s ends first, and the node is Ready again",
    async (first, second, ending) => {
      // given
      await using cluster = await startCluster({ nodes: 1 })
      const begun = [await FAULTS[first](cluster), await FAULTS[second](cluster)]
      await cluster.advance("1m")
      // when
      for (const fault of ending === "first" ? begun : begun.toReversed()) await fault.end()
      // then
      await cluster.eventually(async () => (await condition(cluster, "node-0", "Ready")) === "True", { within: "2m" })
    },
  )
})
