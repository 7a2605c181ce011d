import { describe, expect, test } from "bun:test"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { podCondition } from "../../pkg/pods/pod-state.ts"
import { PodDisruptionBudget } from "../../pkg/api/policy/v1/poddisruptionbudget.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { PriorityClass } from "../../pkg/api/scheduling/v1/priorityclass.ts"
import { createScheduler } from "./scheduler.ts"
import { startCluster, type Cluster, type NodeOptions } from "../cluster/testing/testing.ts"

const pod = (name: string, spec: object = {}) => ({
  metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
})
const asking = (cpu: string) => ({ containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] })
const nodeOf = async (cluster: Cluster, name: string) => (await cluster.get(Pod, name)).spec.nodeName
const eventsOf = async (cluster: Cluster, name: string) =>
  (await cluster.list(Event, { namespace: "default" })).filter(({ involvedObject }) => involvedObject.name === name)
/** Starts a cluster without kubelets, since these tests end with the binding of a pod. */
const start = (...nodes: NodeOptions[]) => startCluster({ nodes, components: { kubelet: false } })

describe("the scheduler", () => {
  test("reports why a pod fits on no node, and schedules it when a suitable node is added", async () => {
    // given a pod that is too large
    await using cluster = await start({ name: "small", capacity: { cpu: 1 } })
    await cluster.client.create(Pod, pod("large", asking("4")))
    await cluster.settle()
    const message =
      "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not " +
      "helpful for scheduling."
    expect(podCondition(await cluster.get(Pod, "large"), "PodScheduled")).toMatchObject({
      status: "False",
      observedGeneration: 1,
      reason: "Unschedulable",
      message,
    })
    expect((await eventsOf(cluster, "large")).map(({ type, reason, message: text }) => [type, reason, text])).toEqual([
      ["Warning", "FailedScheduling", message],
    ])
    // when
    await cluster.addNode({ name: "large" })
    await cluster.advance("10s")
    // then
    expect(await nodeOf(cluster, "large")).toBe("large")
    expect(podCondition(await cluster.get(Pod, "large"), "PodScheduled")?.status).toBe("True")
  })

  test("schedules other pods when the cycle of one pod throws, and tries that one again", async () => {
    // given a scheduler whose first cycles fail as only a mistake of the program fails
    await using cluster = await startCluster({ nodes: 1, components: { kubelet: false, scheduler: false } })
    let failures = 0
    const searched = () => {
      if (++failures <= 3) throw new TypeError("undefined is not an object")
    }
    const nothing = () => undefined
    const observer = {
      ...{
        asked: nothing,
        attempted: nothing,
        placed: nothing,
        pending: nothing,
        point: nothing,
        preempted: nothing,
        incoming: nothing,
      },
      searched,
    }
    const context = cluster.contextFor("system:kube-scheduler", ["system:masters"])
    const scheduler = createScheduler(context, { observer })
    await scheduler.start(new AbortController().signal)
    // when
    for (const name of ["a", "b", "c", "d"]) await cluster.client.create(Pod, pod(name))
    await cluster.settle()
    // then the pod whose cycle did not fail is bound at once
    expect(
      await Promise.all(["a", "b", "c", "d"].map(async (name) => (await nodeOf(cluster, name)) !== undefined)),
    ).toEqual([false, false, false, true])
    // and the others after their back-off
    await cluster.advance("10s")
    for (const name of ["a", "b", "c"]) expect(await nodeOf(cluster, name)).toBeDefined()
    await scheduler.stop()
  })

  test("tries a pod again when its preemption throws, and other pods meanwhile", async () => {
    // given a scheduler whose first search for victims fails as only a mistake of the program fails
    await using cluster = await startCluster({
      nodes: [{ capacity: { cpu: 1 } }],
      components: { kubelet: false, scheduler: false },
    })
    const context = cluster.contextFor("system:kube-scheduler", ["system:masters"])
    const budgets = context.informers.of(PodDisruptionBudget)
    let searches = 0
    const list = () => {
      if (++searches === 1) throw new TypeError("undefined is not an object")
      return budgets.list()
    }
    const of = (resource: Resource) =>
      resource === PodDisruptionBudget
        ? { list, whenSynced: () => budgets.whenSynced() }
        : context.informers.of(resource)
    const informers = { ...context.informers, of } as unknown as typeof context.informers
    const scheduler = createScheduler({ ...context, informers })
    await scheduler.start(new AbortController().signal)
    // when
    await cluster.client.create(Pod, pod("large", asking("2")))
    await cluster.client.create(Pod, pod("small", asking("500m")))
    await cluster.settle()
    // then
    expect(await nodeOf(cluster, "small")).toBeDefined()
    expect(podCondition(await cluster.get(Pod, "large"), "PodScheduled")).toBeUndefined()
    await cluster.advance("10s")
    expect(podCondition(await cluster.get(Pod, "large"), "PodScheduled")?.reason).toBe("Unschedulable")
    await scheduler.stop()
  })

  test("accepts the binding of a pod by another client, and counts the pod on its node", async () => {
    // given a scheduler whose bindings are late
    await using cluster = await start({ name: "a", capacity: { cpu: 1 } })
    const late = { verb: "create", resource: "pods", subresource: "binding", user: "system:kube-scheduler" }
    await using slow = await cluster.faults.requests({ ...late, delay: "3s" })
    await cluster.client.create(Pod, pod("contested", asking("1")))
    await cluster.settle()
    // when another scheduler binds the pod meanwhile
    await cluster.client.createSubresource(Pod, { namespace: "default", name: "contested" }, "binding", {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "contested", namespace: "default" },
      target: { kind: "Node", name: "a" },
    })
    await cluster.advance("5s")
    await slow.end()
    // then the node has no room for another one
    await cluster.client.create(Pod, pod("second", asking("1")))
    await cluster.advance("1m")
    expect(await nodeOf(cluster, "second")).toBeUndefined()
  })

  test("retries a pod only after events that can make it schedulable", async () => {
    // given a pod that fits nowhere
    await using cluster = await start({ name: "a" })
    await cluster.client.create(Pod, pod("picky", { nodeSelector: { disk: "ssd" } }))
    await cluster.settle()
    const tries = async () =>
      (await eventsOf(cluster, "picky"))
        .filter(({ reason }) => reason === "FailedScheduling")
        .reduce((sum, { count = 1 }) => sum + count, 0)
    expect(await tries()).toBe(1)
    // when another pod goes, which cannot help
    await cluster.client.create(Pod, pod("other"))
    await cluster.settle()
    await cluster.delete(Pod, "other", { gracePeriodSeconds: 0 })
    await cluster.advance("20s")
    // then it was not tried again
    expect(await tries()).toBe(1)
    // when the node gets the label
    await cluster.client.patch(Node, { name: "a" }, { type: "merge", body: { metadata: { labels: { disk: "ssd" } } } })
    await cluster.advance("10s")
    // then
    expect(await nodeOf(cluster, "picky")).toBe("a")
  })

  test("leaves a pod with scheduling gates alone until they are gone", async () => {
    // given
    await using cluster = await start({ name: "a" })
    await cluster.client.create(Pod, pod("gated", { schedulingGates: [{ name: "example.com/wait" }] }))
    await cluster.advance("1m")
    expect(podCondition(await cluster.get(Pod, "gated"), "PodScheduled")).toMatchObject({
      status: "False",
      reason: "SchedulingGated",
    })
    // when
    await cluster.client.patch(
      Pod,
      { name: "gated", namespace: "default" },
      { type: "merge", body: { spec: { schedulingGates: null } } },
    )
    await cluster.settle()
    // then
    expect(await nodeOf(cluster, "gated")).toBe("a")
  })

  test("counts a pod on its node from the decision on, before it is bound", async () => {
    // given
    await using cluster = await start({ name: "a", capacity: { cpu: 1 } })
    // when more pods come at once than fit
    await Promise.all(Array.from({ length: 5 }, (_, i) => cluster.client.create(Pod, pod(`p${i}`, asking("300m")))))
    await cluster.settle()
    // then no more than fit are bound
    expect((await cluster.list(Pod)).filter(({ spec }) => spec.nodeName !== undefined)).toHaveLength(3)
  })

  test("preempts pods for a pod of higher priority", async () => {
    // given a node that runs a pod of low priority, and takes a while to stop it
    await using cluster = await startCluster({
      nodes: [{ name: "a", capacity: { cpu: 1 } }],
      images: { i: { onStop: { afterMs: 5000 } } },
    })
    await cluster.client.create(PriorityClass, { metadata: { name: "high" }, value: 1000 })
    await cluster.client.create(Pod, pod("low", asking("800m")))
    await cluster.settle()
    // when
    await cluster.client.create(Pod, pod("high", { ...asking("500m"), priorityClassName: "high" }))
    await cluster.advance("1s")
    // then the node is kept for it
    expect((await cluster.get(Pod, "high")).status.nominatedNodeName).toBe("a")
    expect((await cluster.get(Pod, "low")).metadata.deletionTimestamp).toBeDefined()
    // and it runs there when the other has gone
    await cluster.advance("10s")
    expect(
      (await cluster.list(Pod)).map(({ metadata, spec, status }) => [metadata.name, spec.nodeName, status.phase]),
    ).toEqual([["high", "a", "Running"]])
    expect((await eventsOf(cluster, "low")).map(({ reason }) => reason)).toContain("Preempted")
  })

  test("schedules pods of higher priority first", async () => {
    // given two pods and no node
    await using cluster = await start()
    await cluster.client.create(PriorityClass, { metadata: { name: "high" }, value: 1000, preemptionPolicy: "Never" })
    await cluster.client.create(Pod, pod("early", asking("1")))
    await cluster.client.create(Pod, pod("important", { ...asking("1"), priorityClassName: "high" }))
    await cluster.settle()
    // when a node comes that takes one of them
    await cluster.addNode({ name: "a", capacity: { cpu: 1 } })
    await cluster.advance("10s")
    // then
    expect([await nodeOf(cluster, "important"), await nodeOf(cluster, "early")]).toEqual(["a", undefined])
  })

  test("ignores pods of other schedulers", async () => {
    await using cluster = await start({ name: "a" })
    await cluster.client.create(Pod, pod("foreign", { schedulerName: "mine" }))
    await cluster.advance("1m")
    expect(await nodeOf(cluster, "foreign")).toBeUndefined()
  })
})
