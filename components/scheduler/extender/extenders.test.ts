/** Source of the cases: upstream's pkg/scheduler/extender_test.go, test/integration/scheduler/extender. */
import { describe, expect, test } from "bun:test"
import {
  type Node,
  Pod,
  PriorityClass,
  startCluster,
  type Cluster,
  type ClusterOptions,
} from "../../cluster/testing/testing.ts"

type Args = Readonly<Record<string, unknown>>
type Answer = (verb: string, args: Args) => unknown

const podOf = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "c", image: "web" }], ...spec },
})
const pod = (cluster: Cluster, name: string) => cluster.client.get(Pod, { name, namespace: "default" })
async function nodeOf(cluster: Cluster, name: string): Promise<string | undefined> {
  await cluster.advance("2s")
  return (await pod(cluster, name)).spec.nodeName
}
const messageOf = async (cluster: Cluster, name: string) =>
  (await pod(cluster, name)).status.conditions?.find(({ type }) => type === "PodScheduled")?.message
/** Starts a cluster of three nodes with extenders `http://one`, `http://two` …, by their functions and settings. */
const withExtenders = (
  extenders: readonly (readonly [answer: Answer, settings: object])[],
  options: ClusterOptions = { nodes: 3 },
) => {
  const urls = ["http://one", "http://two", "http://three"]
  return startCluster({
    ...options,
    schedulerConfig: {
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      extenders: extenders.map(([, settings], i) => ({ urlPrefix: urls[i], ...settings })),
    },
    schedulerExtenders: Object.fromEntries(extenders.map(([answer], i) => [urls[i], answer])),
  })
}
const FILTER = { filterVerb: "filter" }
const CACHED = { ...FILTER, nodeCacheCapable: true }
const namesIn = (args: Args): readonly string[] =>
  (args["NodeNames"] as readonly string[] | null) ??
  (args["Nodes"] as { items: readonly Node[] }).items.map(({ metadata }) => metadata.name!)
/** Answers with the nodes that it keeps, in the form in which it was asked. */
const keeping =
  (keeps: (name: string) => boolean): Answer =>
  (_verb, args) => {
    const failed = Object.fromEntries(
      namesIn(args)
        .filter((name) => !keeps(name))
        .map((name) => [name, "not this one"]),
    )
    const { items = [] } = (args["Nodes"] ?? {}) as { items?: readonly Node[] }
    return args["NodeNames"] === null
      ? { Nodes: { items: items.filter(({ metadata }) => keeps(metadata.name!)) }, FailedNodes: failed }
      : { NodeNames: namesIn(args).filter(keeps), FailedNodes: failed }
  }

describe("an extender", () => {
  test.each([
    ["whole nodes", FILTER],
    ["names of nodes", CACHED],
  ])("filters nodes, and gets %s", async (_what, settings) => {
    await using cluster = await withExtenders([[keeping((name) => name === "node-1"), settings]])
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toBe("node-1")
  })

  test("gets what the one before it has left, and says why no node fits", async () => {
    const seen: (readonly string[])[] = []
    await using cluster = await withExtenders([
      [keeping((name) => name !== "node-0"), CACHED],
      [
        (verb, args) => {
          seen.push(namesIn(args))
          return keeping(() => false)(verb, args)
        },
        CACHED,
      ],
    ])
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toBeUndefined()
    expect(seen[0]).toEqual(["node-1", "node-2"])
    expect(await messageOf(cluster, "p")).toStartWith("0/3 nodes are available: 3 not this one.")
  })

  test("ranks nodes with its weight, and only adds to the other scores", async () => {
    const scores: Answer = () => [
      { Host: "node-0", Score: 1 },
      { Host: "node-2", Score: 10 },
      { Host: "elsewhere", Score: 10 },
    ]
    await using cluster = await withExtenders([[scores, { prioritizeVerb: "prioritize", weight: 5 }]])
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toBe("node-2")
  })

  test("is asked about pods with its resources only, which nodes then need not have", async () => {
    const asked: string[] = []
    const answer: Answer = (verb, args) => {
      asked.push((args["Pod"] as Pod).metadata.name!)
      return keeping((name) => name === "node-2")(verb, args)
    }
    const managedResources = [{ name: "example.com/fpga", ignoredByScheduler: true }]
    await using cluster = await withExtenders([[answer, { ...CACHED, managedResources }]])
    const limits = { "example.com/fpga": "1" }
    await cluster.apply([
      podOf("fpga", { containers: [{ name: "c", image: "web", resources: { limits } }] }),
      podOf("other"),
    ])
    expect(await nodeOf(cluster, "fpga")).toBe("node-2")
    expect(await nodeOf(cluster, "other")).toStartWith("node-")
    expect(new Set(asked)).toEqual(new Set(["fpga"]))
  })

  test("that fails keeps the pod waiting, unless it is ignorable", async () => {
    const fails: Answer = () => ({ Error: "out of order" })
    await using cluster = await withExtenders([[fails, FILTER]])
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toBeUndefined()
    expect(await messageOf(cluster, "p")).toBe("extender http://one: filter: out of order")
    await using other = await withExtenders([[fails, { ...FILTER, ignorable: true }]])
    await other.apply(podOf("p"))
    expect(await nodeOf(other, "p")).toStartWith("node-")
  })

  test("that fails to rank nodes keeps no pod from its node", async () => {
    await using cluster = await withExtenders([[() => "nonsense", { prioritizeVerb: "prioritize", weight: 1 }]])
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toStartWith("node-")
  })

  test("that hangs holds up the pods that need it only, each until its time is over", async () => {
    const managedResources = [{ name: "example.com/fpga", ignoredByScheduler: true }]
    await using cluster = await withExtenders([
      [() => new Promise(() => {}), { ...FILTER, managedResources, httpTimeout: "3s" }],
    ])
    const limits = { "example.com/fpga": "1" }
    await cluster.apply([
      podOf("fpga", { containers: [{ name: "c", image: "web", resources: { limits } }] }),
      podOf("other"),
    ])
    expect(await nodeOf(cluster, "other")).toStartWith("node-")
    await cluster.advance("2s")
    expect(await messageOf(cluster, "fpga")).toBe("extender http://one: filter has not answered within 3s")
  })

  test("binds the pods itself", async () => {
    const bound: Args[] = []
    const binds: Answer = async (_verb, args) => {
      bound.push(args)
      const {
        PodName: name,
        PodNamespace: namespace,
        PodUID: uid,
        Node: node,
      } = args as Readonly<Record<string, string>>
      await cluster.client.createSubresource(Pod, { name, namespace }, "binding", {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name, namespace, uid },
        target: { kind: "Node", name: node },
      } as never)
      return {}
    }
    await using cluster: Cluster = await withExtenders([[binds, { bindVerb: "bind" }]], { nodes: 1 })
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toBe("node-0")
    expect(bound).toMatchObject([{ PodName: "p", PodNamespace: "default", Node: "node-0" }])
  })

  test.each([
    ["that it has bound a pod", { bindVerb: "bind" }, () => ({})],
    ["that a node fits that nobody asked about", CACHED, () => ({ NodeNames: ["node-9"] })],
  ])("is not believed that says %s", async (_what, settings, answer) => {
    await using cluster = await withExtenders([[answer, settings]])
    await cluster.apply(podOf("p"))
    expect(await nodeOf(cluster, "p")).toBeUndefined()
  })

  test("chooses among the pods that preemption would end", async () => {
    const offered: Args[] = []
    const chooses: Answer = (verb, args) => {
      if (verb !== "preempt") return keeping(() => true)(verb, args)
      offered.push(args["NodeNameToMetaVictims"] as Args)
      return { NodeNameToMetaVictims: { "node-1": (args["NodeNameToMetaVictims"] as Args)["node-1"] } }
    }
    await using cluster = await withExtenders([[chooses, { ...CACHED, preemptVerb: "preempt" }]], {
      nodes: [{ capacity: { cpu: "1" } }, { capacity: { cpu: "1" } }],
    })
    const asking = (cpu: string) => ({ containers: [{ name: "c", image: "web", resources: { requests: { cpu } } }] })
    await cluster.client.create(PriorityClass, { metadata: { name: "high" }, value: 1000 })
    await cluster.apply([podOf("a", asking("800m")), podOf("b", asking("800m"))])
    await cluster.advance("2s")
    await cluster.apply(podOf("high", { ...asking("800m"), priorityClassName: "high" }))
    await cluster.advance("1m")
    expect(await nodeOf(cluster, "high")).toBe("node-1")
    expect(Object.keys(offered[0]!).toSorted()).toEqual(["node-0", "node-1"])
  })
})

test.each<[string, ClusterOptions["schedulerConfig"], string]>([
  ["that no extender has", { urlPrefix: "http://one" }, '"http://on"; did you mean http://one?'],
  ["without a configuration", undefined, '"http://on"'],
])("startCluster refuses the function of a URL %s", async (_what, extender, message) => {
  const schedulerConfig = extender && {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    extenders: [{ ...(extender as object), ...FILTER }],
  }
  await expect(
    startCluster({ ...(schedulerConfig && { schedulerConfig }), schedulerExtenders: { "http://on": () => ({}) } }),
  ).rejects.toThrow(`Cannot use schedulerExtenders: no extender of schedulerConfig has the urlPrefix ${message}`)
})
