import { expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import { simulatedKubelet, type PodSpecInput } from "../testing/simulated-kubelet.fixtures.ts"

const onPort80: PodSpecInput = {
  containers: [{ name: "c", image: "web", ports: [{ containerPort: 80, hostPort: 80 }] }],
}

test("of two pods with the same host port one runs, and the other is rejected with the reason", async () => {
  // given a node, to which whoever made the pods has bound them
  await using node = await simulatedKubelet({ web: {} })
  // when both come at once
  await Promise.all([node.create("a", onPort80), node.create("b", onPort80)])
  // then
  expect(node.status("a").phase).toBe("Running")
  const { conditions = [], ...status } = node.status("b")
  expect(status).toEqual({
    phase: "Failed",
    reason: "NodePorts",
    message: "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    observedGeneration: 1,
    qosClass: "BestEffort",
    startTime: "2026-01-01T00:00:00Z",
  })
  expect(conditions.map(({ type }) => type)).toEqual([])
  expect(node.events("b")).toEqual([
    "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  ])
})

test("a host port is free again only when the pod that had it has ended, even if that takes time", async () => {
  // given a pod that takes 20 s to end
  await using node = await simulatedKubelet({ web: { onStop: { afterMs: 20_000 } } })
  await node.create("a", onPort80)
  // when another comes while it is ending
  await node.delete("a")
  await node.cluster.advance("5s")
  await node.create("early", onPort80)
  // then that does not run, and one that comes later does
  expect(node.status("early")).toMatchObject({ phase: "Failed", reason: "NodePorts" })
  await node.cluster.advance("20s")
  await node.create("late", onPort80)
  expect(node.status("late").phase).toBe("Running")
})

test(
  "a rejected pod is left alone: no more writes, whatever happens on the node and when the kubelet " + "starts anew",
  async () => {
    // given
    await using node = await simulatedKubelet({ web: {} })
    await node.create("a", onPort80)
    await node.create("b", onPort80)
    const writes = () =>
      node.cluster.history({ kind: "Pod" }).filter(({ object }) => object.metadata.name === "b").length
    const before = writes()
    // when
    await node.delete("a")
    await node.cluster.advance("10m")
    await node.restart()
    await node.cluster.advance("10m")
    // then
    expect(writes()).toBe(before)
    expect(node.status("b").phase).toBe("Failed")
    // and it goes at once when it is deleted
    await node.delete("b")
    await node.cluster.settle()
    expect(node.pod("b")).toBeUndefined()
  },
)

test("when a machine boots, the pods that were there first keep its ports and resources", async () => {
  // given a node on which two pods were to run, of which the second was bound while the node was off
  await using node = await simulatedKubelet({ web: {} })
  await node.create("z-first", onPort80)
  const fault = await node.cluster.faults.nodeLost("node-0")
  await node.cluster.advance("5s")
  await node.create("a-second", onPort80)
  // when it boots
  await fault.end()
  await node.cluster.advance("1m")
  // then
  expect([node.status("z-first").phase, node.status("a-second").phase]).toEqual(["Running", "Failed"])
})

test("a pod that the scheduler could not place and another client bound is rejected with its observed generation", async () => {
  // given a pod that fits nowhere
  await using cluster = await startCluster({ nodes: 1 })
  const { metadata } = await cluster.client.create(Pod, {
    metadata: { name: "big", namespace: "default" },
    spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1000000" } } }] },
  })
  await cluster.settle()
  // when it is bound by hand
  await cluster.client.createSubresource(Pod, metadata, "binding", {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "big" },
    target: { kind: "Node", name: "node-0" },
  })
  await cluster.settle()
  // then
  expect((await cluster.get(Pod, "big")).status).toMatchObject({
    phase: "Failed",
    reason: "OutOfcpu",
    observedGeneration: 1,
    qosClass: "Burstable",
  })
})

test("a pod is admitted in the place of one that was deleted by force, whose containers are still ending", async () => {
  // given a full node
  await using node = await simulatedKubelet({ web: { onStop: { afterMs: 5000 } } })
  const full: PodSpecInput = { containers: [{ name: "c", image: "web", resources: { requests: { cpu: "4" } } }] }
  await node.create("old", full)
  // when the API has the pod no longer, and the scheduler gives its place to another
  await node.delete("old", 0)
  await node.create("new", full)
  // then
  expect(node.status("new")).not.toMatchObject({ phase: "Failed" })
  await node.cluster.advance("10s")
  expect(node.status("new").phase).toBe("Running")
})

test("a pod is ended to make room for a critical pod", async () => {
  // given a full node
  await using node = await simulatedKubelet({ web: { onStop: { afterMs: 5000 } } })
  const asking = (cpu: string): PodSpecInput => ({
    containers: [{ name: "c", image: "web", resources: { requests: { cpu } } }],
  })
  await node.create("low", asking("3"))
  await node.create("small", asking("1"))
  // when a critical pod comes
  await node.create("critical", { ...asking("2"), priorityClassName: "system-node-critical" })
  // then it waits until the other has ended
  expect(node.status("critical").phase).toBe("Pending")
  await node.cluster.advance("10s")
  expect(node.status("low")).toMatchObject({
    phase: "Failed",
    reason: "Preempting",
    message: "Preempted in order to admit critical pod",
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: "DisruptionTarget", reason: "TerminationByKubelet" }),
    ]),
  })
  expect([node.status("critical").phase, node.status("small").phase]).toEqual(["Running", "Running"])
})

test("no pod is ended for a critical pod that is deleted before its turn", async () => {
  // given a full node, and a critical pod for which a pod is ending slowly
  await using node = await simulatedKubelet({ web: { onStop: { afterMs: 10_000 } } })
  const asking = (cpu: string): PodSpecInput => ({
    containers: [{ name: "c", image: "web", resources: { requests: { cpu } } }],
  })
  await node.create("a", asking("2"))
  await node.create("b", asking("2"))
  const critical = { ...asking("2"), priorityClassName: "system-node-critical" }
  await node.create("first", critical)
  // when another one comes meanwhile, and goes again
  await node.create("second", critical)
  await node.delete("second", 0)
  await node.cluster.advance("1m")
  // then one pod made room for the first, and none for the second
  expect(node.status("first").phase).toBe("Running")
  expect(["a", "b"].filter((name) => node.status(name).phase === "Running")).toHaveLength(1)
})
