import { expect, test } from "bun:test"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { simulatedKubelet, simulatedMachine } from "../../cluster/node/simulated-node.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import { ImageBehaviours } from "../runtime/simulated/containers/behaviour.ts"
import { SimulatedNetwork } from "../runtime/simulated/machine/network.ts"

const NODE = "judged"

/** A node whose network is ready for a pod when the test says so, with a pod on it. */
async function withNode() {
  const cluster = await startCluster({
    components: { scheduler: false, controllers: false },
    admission: { disabled: ["ServiceAccount"] },
  })
  const context = cluster.contextFor(`test:${NODE}`, ["system:masters"])
  const { clock, informers } = context
  const spec = {
    name: NODE,
    ips: ["192.0.2.9"],
    cpus: 4,
    memoryBytes: 2 ** 33,
    diskBytes: 2 ** 36,
    maxPods: 110,
    labels: {},
    taints: [],
    syncFrequencyMs: 60_000,
  }
  const machine = simulatedMachine({
    spec,
    tools: context,
    informers,
    podCidrs: ["10.42.9.0/24"],
    behaviours: new ImageBehaviours(),
    network: new SimulatedNetwork(clock),
  })
  const asked: string[] = []
  let answer = Promise.withResolvers<void>()
  const kubelet = () =>
    simulatedKubelet(context, {
      spec,
      machine,
      connectors: new NodeConnectors(),
      clusterDns: [],
      clusterDomain: "cluster.local",
      root: "/kubelet",
      staticPods: "/static",
      networkReady(pod, addresses) {
        asked.push(`${pod.metadata.name} ${addresses.join()}`)
        return answer.promise
      },
    })
  let running = kubelet()
  await running.start(new AbortController().signal)
  await cluster.client.create(Pod, {
    metadata: { name: "web", namespace: "default" },
    spec: { nodeName: NODE, containers: [{ name: "c", image: "web" }] },
  })
  await cluster.settle()
  return {
    cluster,
    asked,
    phase: async () => (await cluster.client.get(Pod, { name: "web", namespace: "default" })).status.phase,
    ready: () => answer.resolve(),
    refuse(why: string) {
      answer.reject(new Error(why))
      answer = Promise.withResolvers()
    },
    async restart(): Promise<void> {
      await running.stop()
      running = kubelet()
      await running.start(new AbortController().signal)
      await cluster.settle()
    },
    async [Symbol.asyncDispose]() {
      await running.stop()
      await cluster.stop()
    },
  }
}

test("no container of a pod starts before the network is ready for the pod's addresses", async () => {
  // given
  await using node = await withNode()
  expect(node.asked).toEqual([expect.stringMatching(/^web 10\.42\.9\.\d+$/)])
  await node.cluster.advance("5s")
  expect(await node.phase()).toBe("Pending")
  // when
  node.ready()
  await node.cluster.settle()
  // then
  expect(await node.phase()).toBe("Running")
})

test("a pod whose network does not become ready gets an event, and is tried again", async () => {
  await using node = await withNode()
  node.refuse("the kernel is busy")
  await node.cluster.settle()
  const { items } = await node.cluster.client.list(Event, { namespace: "default" })
  expect(items.filter(({ reason }) => reason === "NetworkNotReady").map(({ message }) => message)).toEqual([
    "The pod's containers wait for its network: the kernel is busy",
  ])
  node.ready()
  await node.cluster.advance("11s")
  expect(node.asked).toHaveLength(2)
  expect(await node.phase()).toBe("Running")
})

test("the address of a pod that runs already is reported when the kubelet starts", async () => {
  await using node = await withNode()
  node.ready()
  await node.cluster.settle()
  const before = node.asked.length
  await node.restart()
  expect(node.asked.slice(before)).toEqual([node.asked[0]!])
})
