/** Several schedulers of one process. Source: upstream's test/integration/scheduler multiple profiles, plugins' args. */
import { describe, expect, test } from "bun:test"
import { Event, Pod, startCluster, type Cluster, type ClusterOptions } from "../cluster/testing/testing.ts"

const HEAD = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" }
const configured = (config: object, options: ClusterOptions = { nodes: 2 }) =>
  startCluster({ ...options, schedulerConfig: { ...HEAD, ...config } })
const podOf = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "web" }], ...spec },
})
const asking = (cpu: string, memory = "1Mi") => ({
  containers: [{ name: "c", image: "web", resources: { requests: { cpu, memory } } }],
})
const nodeOf = async (cluster: Cluster, name: string) => {
  await cluster.advance("1s")
  return (await cluster.client.get(Pod, { name, namespace: "default" })).spec.nodeName
}
const withArgs = (name: string, args: object, plugins: object = {}) => ({
  profiles: [{ plugins, pluginConfig: [{ name, args }] }],
})
const only = (plugin: string) => ({
  preScore: { disabled: [{ name: "*" }], enabled: [{ name: plugin }] },
  score: { disabled: [{ name: "*" }], enabled: [{ name: plugin }] },
})

describe("a scheduler with several profiles", () => {
  test("schedules each pod by the profile that it names, and leaves other pods alone", async () => {
    // given a profile that fills nodes beside the one by default, and one without filters for taints
    await using cluster = await configured(
      {
        profiles: [
          { schedulerName: "default-scheduler" },
          {
            schedulerName: "packing",
            plugins: only("NodeResourcesFit"),
            pluginConfig: [{ name: "NodeResourcesFit", args: { scoringStrategy: { type: "MostAllocated" } } }],
          },
          { schedulerName: "anywhere", plugins: { multiPoint: { disabled: [{ name: "TaintToleration" }] } } },
        ],
      },
      { nodes: [{}, {}, { taints: [{ key: "gpu", value: "", effect: "NoSchedule" }], labels: { gpu: "" } }] },
    )
    // when
    await cluster.apply(podOf("first", { ...asking("500m"), schedulerName: "packing" }))
    const first = await nodeOf(cluster, "first")
    await cluster.apply([
      podOf("packed", { ...asking("100m"), schedulerName: "packing" }),
      podOf("spread", asking("100m")),
      podOf("gpu", { schedulerName: "anywhere", nodeSelector: { gpu: "" } }),
      podOf("refused", { nodeSelector: { gpu: "" } }),
      podOf("foreign", { schedulerName: "theirs" }),
    ])
    await cluster.advance("5s")
    // then
    expect(await nodeOf(cluster, "packed")).toBe(first)
    expect(await nodeOf(cluster, "spread")).not.toBe(first)
    expect(await nodeOf(cluster, "gpu")).toBe("node-2")
    const [refused, foreign] = await Promise.all(
      ["refused", "foreign"].map((name) => cluster.client.get(Pod, { name, namespace: "default" })),
    )
    expect(refused!.status.conditions?.[0]?.message).toContain("node(s) had untolerated taint")
    expect(foreign!.status.conditions).toBeUndefined()
    // and each profile is the reporter of its Events
    const events = await cluster.list(Event)
    const reporter = (pod: string) =>
      events.find(({ reason, involvedObject }) => reason === "Scheduled" && involvedObject.name === pod)
        ?.reportingComponent
    expect([reporter("packed"), reporter("spread")]).toEqual(["packing", "default-scheduler"])
  })

  test("waits after a failure as long as the configuration says", async () => {
    await using cluster = await configured({ podInitialBackoffSeconds: 30, podMaxBackoffSeconds: 30 }, {})
    await cluster.apply(podOf("p"))
    await cluster.addNode()
    await cluster.advance("25s")
    expect((await cluster.client.get(Pod, { name: "p", namespace: "default" })).spec.nodeName).toBeUndefined()
    await cluster.advance("10s")
    expect(await nodeOf(cluster, "p")).toBe("node-0")
  })
})

describe("the arguments of a plugin decide", () => {
  test("to which nodes all pods of the profile may go", async () => {
    await using cluster = await configured(
      withArgs("NodeAffinity", {
        addedAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "tier", operator: "In", values: ["web"] }] }],
          },
        },
      }),
      { nodes: [{}, { labels: { tier: "web" } }] },
    )
    await cluster.apply([podOf("p"), podOf("q", { nodeSelector: { tier: "db" } })])
    await cluster.advance("1s")
    expect(await nodeOf(cluster, "p")).toBe("node-1")
    const { status } = await cluster.client.get(Pod, { name: "q", namespace: "default" })
    expect(status.conditions?.[0]?.message).toContain("1 node(s) didn't match scheduler-enforced node affinity")
  })

  test("which extended resources a node need not have", async () => {
    await using cluster = await configured(withArgs("NodeResourcesFit", { ignoredResourceGroups: ["example.com"] }))
    const limits = { "example.com/gpu": "1" }
    await cluster.apply(podOf("p", { containers: [{ name: "c", image: "web", resources: { limits } }] }))
    expect(await nodeOf(cluster, "p")).toStartWith("node-")
  })

  test("how used a node should be, by a shape", async () => {
    // given nodes of which one is used by half
    await using cluster = await configured(
      withArgs(
        "NodeResourcesFit",
        {
          scoringStrategy: {
            type: "RequestedToCapacityRatio",
            resources: [{ name: "cpu" }],
            requestedToCapacityRatio: {
              shape: [
                { utilization: 0, score: 0 },
                { utilization: 50, score: 10 },
                { utilization: 100, score: 0 },
              ],
            },
          },
        },
        only("NodeResourcesFit"),
      ),
      { nodes: [{ capacity: { cpu: "4" } }, { capacity: { cpu: "4" } }] },
    )
    await cluster.apply(podOf("half", { ...asking("1900m"), nodeName: "node-1" }))
    // when
    await cluster.apply(podOf("p", asking("100m")))
    // then
    expect(await nodeOf(cluster, "p")).toBe("node-1")
  })

  test("how pods without constraints are spread", async () => {
    await using cluster = await configured(
      withArgs("PodTopologySpread", {
        defaultingType: "List",
        defaultConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
      }),
      {
        nodes: [
          { labels: { zone: "a" } },
          { labels: { zone: "b" }, taints: [{ key: "x", value: "", effect: "NoSchedule" }] },
        ],
      },
    )
    const template = { metadata: { labels: { app: "web" } }, spec: podOf("x").spec }
    await cluster.apply({
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "web" },
      spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template },
    })
    await cluster.advance("5s")
    const pods = await cluster.list(Pod)
    expect(pods.filter(({ spec }) => spec.nodeName !== undefined)).toHaveLength(1)
    const waiting = pods.find(({ spec }) => spec.nodeName === undefined)
    expect(waiting?.status.conditions?.[0]?.message).toContain("didn't match pod topology spread constraints")
  })

  test("whether pods are preempted: not without DefaultPreemption", async () => {
    await using cluster = await configured(
      { profiles: [{ plugins: { postFilter: { disabled: [{ name: "DefaultPreemption" }] } } }] },
      { nodes: [{ capacity: { cpu: "1" } }] },
    )
    await cluster.apply([
      { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "high" }, value: 1000 },
      podOf("low", asking("800m")),
    ])
    await nodeOf(cluster, "low")
    await cluster.apply(podOf("high", { ...asking("800m"), priorityClassName: "high" }))
    await cluster.advance("5s")
    const { status } = await cluster.client.get(Pod, { name: "high", namespace: "default" })
    expect(status.conditions?.[0]?.message).toBe(
      "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate",
    )
  })
})

test("a filter whose preFilter is off fails for the pods that need it, and others are scheduled", async () => {
  await using cluster = await configured({
    profiles: [
      { schedulerName: "default-scheduler" },
      { schedulerName: "broken", plugins: { preFilter: { disabled: [{ name: "InterPodAffinity" }] } } },
    ],
  })
  await cluster.apply([podOf("p", { schedulerName: "broken" }), podOf("q")])
  await cluster.advance("1s")
  expect(await nodeOf(cluster, "q")).toStartWith("node-")
  const { status } = await cluster.client.get(Pod, { name: "p", namespace: "default" })
  expect(status.conditions?.[0]).toMatchObject({
    reason: "SchedulerError",
    message: 'running "InterPodAffinity" filter plugin: reading "PreFilterInterPodAffinity" from cycleState: not found',
  })
})

test("startCluster refuses a configuration with its field and the mend", async () => {
  const starting = configured({ profiles: [{ schedulerName: "a", pluginConfig: [{ name: "NodeName", args: {} }] }] })
  await expect(starting).rejects.toThrow(
    /Cannot use schedulerConfig: schedulerConfig:\d+: profiles\[0\]\.pluginConfig\[0\]\.name: .* this plugin has no arguments/,
  )
})
