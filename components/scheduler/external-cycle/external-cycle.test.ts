import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { definePlugin } from "../../../pkg/scheduler-plugin/scheduler.ts"
import { Pod, PriorityClass, startCluster, type Cluster, type ClusterOptions } from "../../cluster/testing/testing.ts"
import type { External } from "../external/external.ts"
import { ExternalBinding } from "../external/external-binding.ts"
import { nodeOf, place, podOf } from "../schedule-one.fixtures.ts"
import type { ExternalTools } from "../externals.ts"
import { unschedulable } from "../framework.ts"
import type { Profile } from "../profile.ts"
import { consult } from "./consult.ts"
import { ExternalCycle } from "./external-cycle.ts"

const podWith = (name: string, cpu = "100m", spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "c", image: "web", resources: { requests: { cpu } } }], ...spec },
})
const podIn = (cluster: Cluster, name: string) => cluster.client.get(Pod, { name, namespace: "default" })

/** Starts a cluster of one node whose cpu a pod of low priority has, and creates a pod of high priority. */
async function withNoRoom(options: ClusterOptions): Promise<Cluster> {
  const cluster = await startCluster({ nodes: [{ capacity: { cpu: "1" } }], ...options })
  await cluster.client.create(PriorityClass, { metadata: { name: "high" }, value: 1000 })
  await cluster.apply(podWith("low", "800m"))
  await cluster.advance("2s")
  await cluster.apply(podWith("high", "800m", { priorityClassName: "high" }))
  await cluster.advance("1m")
  return cluster
}

describe("preemption for a pod of which a plugin has a say", () => {
  test.each([
    { accepts: true, node: "node-0" },
    { accepts: false, node: undefined },
  ])("ends pods only where the plugin accepts the node without them: $accepts", async ({ accepts, node }) => {
    // given a plugin that would rather see the node empty, or does not want it at all
    const plugin = definePlugin({
      name: "Choosy",
      filter: ({ metadata }, { pods }) =>
        metadata.name === "low" || (accepts && pods.length === 0) ? undefined : "node(s) were not nice",
    })
    await using cluster = await withNoRoom({ schedulerPlugins: [plugin] })
    // then
    expect((await podIn(cluster, "high")).spec.nodeName).toBe(node)
    const left = await cluster.list(Pod)
    expect(left.some(({ metadata }) => metadata.name === "low")).toBe(!accepts)
  })

  test("nominates no node that only an extender refused", async () => {
    const isLow = (args: Readonly<Record<string, unknown>>) => (args["Pod"] as Pod).metadata.name === "low"
    await using cluster = await withNoRoom({
      nodes: [{ capacity: { cpu: "4" } }],
      schedulerConfig: {
        apiVersion: "kubescheduler.config.k8s.io/v1",
        kind: "KubeSchedulerConfiguration",
        extenders: [{ urlPrefix: "http://one", filterVerb: "filter", nodeCacheCapable: true }],
      },
      schedulerExtenders: {
        "http://one": (_verb, args) => (isLow(args) ? { NodeNames: args["NodeNames"] } : { FailedNodes: {} }),
      },
    })
    const { spec, status } = await podIn(cluster, "high")
    expect([spec.nodeName, status.nominatedNodeName]).toEqual([undefined, undefined])
  })
})

test("of pods that wait for the same plugin, each is decided when the one before has its node", async () => {
  const plugin = definePlugin({
    name: "Alone",
    filter: async (_pod, { pods }) => (pods.length > 0 ? "node(s) had a pod" : undefined),
  })
  await using cluster = await startCluster({ nodes: 2, schedulerPlugins: [plugin] })
  {
    await using _down = await cluster.faults.crashed("scheduler")
    await cluster.apply(["a", "b", "c"].map((name) => podWith(name)))
  }
  await cluster.advance("2s")
  const nodes = (await cluster.list(Pod)).map(({ spec }) => spec.nodeName ?? "none")
  expect(nodes.toSorted()).toEqual(["node-0", "node-1", "none"])
})

test("a pod that is deleted while a plugin thinks about it reserves nothing", async () => {
  const reserved: string[] = []
  const plugin = definePlugin({
    name: "Slow",
    async filter({ metadata }) {
      if (metadata.name === "gone") await cluster.client.delete(Pod, { name: "gone", namespace: "default" })
    },
    reserve: ({ metadata }) => void reserved.push(metadata.name!),
  })
  await using cluster: Cluster = await startCluster({ nodes: 1, schedulerPlugins: [plugin] })
  await cluster.apply([podWith("gone"), podWith("stays")])
  await cluster.advance("5s")
  expect(reserved).toEqual(["stays"])
})

/** An external that notes what it is asked, and accepts everything. */
function noting(name: string, notes: string[], sees: External["sees"] = "all"): External {
  const note = (what: string) => async () => void notes.push(`${what} ${name}`)
  return {
    name,
    queueing: { name },
    ignorable: false,
    sees,
    concerns: () => true,
    does: (point) => point === "filter" || point === "reserve",
    filter: async (_attempt, nodes) => (notes.push(...nodes.map((node) => node.name)), { refused: new Map() }),
    score: async () => new Map(),
    postFilter: async () => undefined,
    reserve: note("reserve"),
    unreserve: note("unreserve"),
    permit: async () => ({ code: "Success", reasons: [] }),
    preBind: note("preBind"),
    bind: async () => false,
    postBind: note("postBind"),
    ended: () => void notes.push(`ended ${name}`),
  }
}

test.each<[string, (binding: ExternalBinding) => Promise<void> | void, readonly string[]]>([
  ["was bound", async (binding) => (await binding.reserve(), binding.bound()), ["reserve a", "reserve b"]],
  [
    "was not bound",
    async (binding) => (await binding.reserve(), binding.failed()),
    ["reserve a", "reserve b", "unreserve b", "unreserve a"],
  ],
  ["lost its node before", (binding) => binding.drop(), []],
])("externals hear once that an attempt has ended whose pod %s", async (_what, end, before) => {
  const notes: string[] = []
  const externals = [noting("a", notes), noting("b", notes)]
  await end(new ExternalBinding({ key: "uid/1", pod: podOf("p") }, "node", externals, silent))
  expect(notes).toEqual([...before, "ended a", "ended b"])
})

test("externals hear once that an attempt has ended whose pod got no node", async () => {
  // given an external that refuses all nodes
  const notes: string[] = []
  const pod = podOf("p")
  const external: External = {
    ...noting("a", notes),
    filter: async (_attempt, nodes) => ({ refused: new Map(nodes.map(({ name }) => [name, unschedulable("no")])) }),
  }
  const tools = {
    clock: new VirtualClock(0),
    informers: { of: () => ({ get: () => pod, list: () => [] }) },
    conclude: () => void notes.push("concluded"),
  } as unknown as ExternalTools
  const profile = { context: { cycle: place([nodeOf("node")]), log: silent } } as unknown as Profile
  // when
  await new ExternalCycle(tools).schedule({ pod, attempts: 1, added: 0, plugins: new Set() }, profile, [external])
  // then
  expect(notes).toEqual(["ended a", "concluded"])
})

test("an extender is asked about other nodes each time where it gets only a part of them", async () => {
  // given more nodes than are ranked
  const cycle = place(Array.from({ length: 300 }, (_, i) => nodeOf(`node-${i}`)))
  const asked: string[] = []
  const turn = { startAt: 0 }
  const externals = [noting("extender", asked, "enough")]
  // when two pods are scheduled
  for (const name of ["a", "b"])
    await consult(
      { attempt: { key: name, pod: podOf(name) }, externals, cycle, log: silent, turn, isWaiting: () => true },
      () => undefined,
    )
  // then the search for the second goes on where that for the first has ended
  expect(asked.length).toBeLessThan(300)
  expect(new Set(asked).size).toBe(asked.length)
})
