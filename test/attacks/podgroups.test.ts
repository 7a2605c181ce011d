/** Groups of pods in numbers and shapes that are to stall the scheduler. */
import { describe, expect, test } from "bun:test"
import { Event, Pod, PodGroup, startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

const start = (nodes: number, inTopologies = false): Promise<Cluster> =>
  startCluster({
    nodes: Array.from({ length: nodes }, (_, i) => ({ name: `n${i}`, capacity: { cpu: "32", pods: "110" } })),
    features: { GenericWorkload: true, GangScheduling: true, TopologyAwareWorkloadScheduling: inTopologies },
    runtimeConfig: ["scheduling.k8s.io/v1alpha2=true"],
  })
const group = (cluster: Cluster, name: string, minCount: number, topology?: string) =>
  cluster.client.create(PodGroup, {
    metadata: { namespace: "default", name },
    spec: {
      schedulingPolicy: { gang: { minCount } },
      ...(topology === undefined ? {} : { schedulingConstraints: { topology: [{ key: topology }] } }),
    },
  })
const pod = (cluster: Cluster, name: string, podGroupName?: string, cpu = "1m") =>
  cluster.client.create(Pod, {
    metadata: { namespace: "default", name },
    spec: {
      ...(podGroupName === undefined ? {} : { schedulingGroup: { podGroupName } }),
      containers: [{ name: "c", image: "x", resources: { requests: { cpu } } }],
    },
  })
const placed = async (cluster: Cluster, prefix: string) =>
  (await cluster.client.list(Pod, { namespace: "default" })).items.filter(
    ({ metadata, spec }) => metadata.name!.startsWith(prefix) && spec.nodeName,
  ).length

test("10,000 groups that never get their pods keep nobody waiting", async () => {
  await using cluster = await start(1)
  // given groups of the largest size, some with a pod that waits
  for (let i = 0; i < 10_000; i++) await group(cluster, `g-${i}`, 2 ** 31 - 1)
  for (let i = 0; i < 500; i++) await pod(cluster, `waits-${i}`, `g-${i}`)
  // when others come
  await pod(cluster, "free")
  await group(cluster, "small", 2)
  for (let i = 0; i < 2; i++) await pod(cluster, `small-${i}`, "small")
  await cluster.settle()
  // then they have their nodes, and nothing turns round in place of the waiting ones
  expect([await placed(cluster, "free"), await placed(cluster, "small"), await placed(cluster, "waits")]).toEqual([
    1, 2, 0,
  ])
  const versions = async () =>
    (await cluster.client.list(Pod)).items
      .filter(({ metadata }) => metadata.name!.startsWith("waits"))
      .map(({ metadata }) => metadata.resourceVersion)
  const before = await versions()
  await cluster.advance("10m")
  expect(await placed(cluster, "waits")).toBe(0)
  expect(await versions()).toEqual(before)
}, 120_000)

test("a gang of 1,000 pods without room stalls nobody, and starts as one when there is room", async () => {
  await using cluster = await start(3)
  await group(cluster, "big", 1000)
  for (let i = 0; i < 1000; i++) await pod(cluster, `big-${i}`, "big", "100m")
  await cluster.settle()
  expect(await placed(cluster, "big")).toBe(0)
  for (let i = 0; i < 50; i++) await pod(cluster, `free-${i}`)
  await cluster.settle()
  expect(await placed(cluster, "free")).toBe(50)
  expect(await placed(cluster, "big")).toBe(0)
  for (let i = 0; i < 8; i++) await cluster.addNode({ name: `more-${i}`, capacity: { cpu: "32", pods: "110" } })
  await cluster.advance("30s")
  expect(await placed(cluster, "big")).toBe(1000)
}, 120_000)

describe("a gang that is tried in each of 300 domains", () => {
  const HOST = "kubernetes.io/hostname"

  test("keeps nobody waiting meanwhile: other pods get their nodes before its turn is over", async () => {
    await using cluster = await start(300, true)
    // given a gang of which each domain has room for all pods but one
    await group(cluster, "big", 111, HOST)
    for (let i = 0; i < 110; i++) await pod(cluster, `big-${i}`, "big")
    await cluster.settle()
    // when it is complete, and other pods come at the same moment
    const others = ["free-0", "free-1", "free-2"]
    await Promise.all([pod(cluster, "big-110", "big"), ...others.map((name) => pod(cluster, name))])
    await cluster.settle()
    // then they were bound before the gang was refused
    expect(await placed(cluster, "free")).toBe(3)
    expect(await placed(cluster, "big")).toBe(0)
    const { metadata } = await cluster.client.get(PodGroup, { namespace: "default", name: "big" })
    const { items } = await cluster.client.list(Event, { namespace: "default" })
    const bound = items.filter(({ reason }) => reason === "Scheduled")
    expect(new Set(bound.map(({ involvedObject }) => involvedObject.name))).toEqual(new Set(others))
    for (const event of bound)
      expect(Number(event.metadata.resourceVersion)).toBeLessThan(Number(metadata.resourceVersion))
  }, 120_000)

  test("gets its nodes where one has room that comes while it is tried, and loses a pod that is deleted", async () => {
    await using cluster = await start(300, true)
    await group(cluster, "big", 100, HOST)
    for (let i = 0; i < 100; i++) await pod(cluster, `big-${i}`, "big")
    for (let i = 100; i < 103; i++) await pod(cluster, `big-${i}`, "big")
    await cluster.client.delete(Pod, { namespace: "default", name: "big-0" })
    await cluster.settle()
    await cluster.advance("15s")
    const { items } = await cluster.client.list(Pod, { namespace: "default" })
    expect(items).toHaveLength(102)
    expect(Object.keys(Object.groupBy(items, ({ spec }) => spec.nodeName ?? "none"))).toHaveLength(1)
    expect(await placed(cluster, "big")).toBe(102)
  }, 120_000)
})

test.each(["../../pods/x", "a/b", "", "A", "a\u0000b", "%2e%2e", "x".repeat(300), "__proto__", "a\nb"])(
  "the name %j of a group is refused",
  async (name) => {
    await using cluster = await start(1)
    await expect(pod(cluster, "p", name)).rejects.toThrow("spec.schedulingGroup.podGroupName: Invalid value")
  },
)

test.each(["constructor", "prototype", "tostring", "0"])("a group may be named %s", async (name) => {
  await using cluster = await start(1)
  await group(cluster, name, 1)
  await pod(cluster, "p", name)
  await cluster.settle()
  expect(await placed(cluster, "p")).toBe(1)
})
