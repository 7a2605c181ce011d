import { describe, expect, test } from "bun:test"
import { web } from "./cluster.fixtures.ts"
import { ConfigMap, Deployment, Node, Pod, startCluster, type Cluster } from "./testing.ts"

const condition = async (cluster: Cluster, node: string, type: string) =>
  (await cluster.get(Node, node)).status.conditions?.find((one) => one.type === type)?.status
const runningOn = async (cluster: Cluster, node: string) =>
  (await cluster.list(Pod, { phase: "Running", fields: `spec.nodeName=${node}` })).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  ).length

describe("a node", () => {
  test("that is lost is noticed, its pods are replaced, and it comes back", async () => {
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

  test("that is partitioned goes on, and learns what it missed", async () => {
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
  ] as const)("%s is under %s while it lasts", async (fault, type) => {
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

test("an image that cannot be pulled is backed off from, told of, and pulled when it can be", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  const fault = await cluster.faults.imagePull("nginx", { message: "registry is down" })
  await cluster.apply(web(1))
  // when
  await cluster.advance("1m")
  // then
  const [pod] = await cluster.list(Pod)
  expect((await cluster.explain(pod!)).reasons.join()).toContain("registry is down")
  expect(pod!.status.containerStatuses![0]!.state.waiting?.reason).toBe("ImagePullBackOff")
  await fault.end()
  await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1, { within: "5m" })
})

describe("requests", () => {
  test("are refused by a rule, and controllers try again", async () => {
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

  test("fail so many times and are delayed so long as the rule says", async () => {
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

test("watches that are dropped are taken up again", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  // when all connections are lost
  expect(cluster.faults.dropWatches()).toBeGreaterThan(10)
  await cluster.apply(web(2))
  // then the cluster goes on
  await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 2)
})

test.each(["scheduler", "controller-manager", "apiserver"] as const)(
  "a crash of the %s is mended by its restart",
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

test("a kubelet that restarts adopts its pods", async () => {
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
