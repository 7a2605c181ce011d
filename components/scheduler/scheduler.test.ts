import { describe, expect, test } from "bun:test"
import { Event } from "../../pkg/api/core/v1/event.ts"
import { Node } from "../../pkg/api/core/v1/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod.ts"
import { podCondition } from "../../pkg/api/core/v1/pod-state.ts"
import { PriorityClass } from "../../pkg/api/scheduling/v1/priorityclass.ts"
import { startControlPlane, type ControlPlane } from "../../pkg/testing/control-plane.ts"
import { addNode, runPods } from "../../pkg/testing/pods.ts"

const pod = (name: string, spec: object = {}) => ({ metadata: { name, namespace: "default" }, spec: { containers: [{ name: "c", image: "i" }], ...spec } })
const asking = (cpu: string) => ({ containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] })
const get = ({ client }: ControlPlane, name: string) => client.get(Pod, { name, namespace: "default" })
const nodeOf = async (plane: ControlPlane, name: string) => (await get(plane, name)).spec.nodeName

describe("the scheduler", () => {
  test("tells why a pod fits nowhere, and places it when a node comes that it fits on", async () => {
    await using plane = await startControlPlane()
    const { client, clock } = plane
    await addNode(plane, "small", { allocatable: { cpu: "1" } })
    // given a pod that is too large
    await client.create(Pod, pod("large", asking("4")))
    await clock.settle()
    const message = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    expect(podCondition(await get(plane, "large"), "PodScheduled")).toMatchObject({ status: "False", reason: "Unschedulable", message })
    const events = (await client.list(Event, { namespace: "default" })).items.filter(({ involvedObject }) => involvedObject.name === "large")
    expect(events.map(({ type, reason, message: text }) => [type, reason, text])).toEqual([["Warning", "FailedScheduling", message]])
    // when
    await addNode(plane, "large")
    await clock.advance(10_000)
    // then
    expect(await nodeOf(plane, "large")).toBe("large")
    expect(podCondition(await get(plane, "large"), "PodScheduled")?.status).toBe("True")
  })

  test("wakes a pod only for events that may help it", async () => {
    await using plane = await startControlPlane()
    const { client, clock, scheduler } = plane
    await addNode(plane, "a")
    await client.create(Pod, pod("picky", { nodeSelector: { disk: "ssd" } }))
    await clock.settle()
    const before = scheduler.diagnosis(await get(plane, "picky"))
    // when another pod goes, which cannot help
    await client.create(Pod, pod("other"))
    await clock.settle()
    await client.delete(Pod, { name: "other", namespace: "default" }, { gracePeriodSeconds: 0 })
    await clock.advance(20_000)
    // then it was not tried again
    expect(scheduler.diagnosis(await get(plane, "picky"))).toBe(before!)
    // when the node gets the label
    await client.patch(Node, { name: "a" }, { type: "merge", body: { metadata: { labels: { disk: "ssd" } } } })
    await clock.advance(10_000)
    // then
    expect(await nodeOf(plane, "picky")).toBe("a")
  })

  test("leaves a pod with scheduling gates alone until they are gone", async () => {
    await using plane = await startControlPlane()
    const { client, clock } = plane
    await addNode(plane, "a")
    await client.create(Pod, pod("gated", { schedulingGates: [{ name: "example.com/wait" }] }))
    await clock.advance(60_000)
    expect(podCondition(await get(plane, "gated"), "PodScheduled")).toMatchObject({ status: "False", reason: "SchedulingGated" })
    // when
    await client.patch(Pod, { name: "gated", namespace: "default" }, { type: "merge", body: { spec: { schedulingGates: null } } })
    await clock.settle()
    // then
    expect(await nodeOf(plane, "gated")).toBe("a")
  })

  test("counts pods on a node from its decision on, not only once they are bound", async () => {
    await using plane = await startControlPlane()
    const { client, clock } = plane
    await addNode(plane, "a", { allocatable: { cpu: "1" } })
    // when more pods come at once than fit
    await Promise.all(Array.from({ length: 5 }, (_, i) => client.create(Pod, pod(`p${i}`, asking("300m")))))
    await clock.settle()
    // then no more than fit are bound
    const bound = (await client.list(Pod, { namespace: "default" })).items.filter(({ spec }) => spec.nodeName !== undefined)
    expect(bound).toHaveLength(3)
  })

  test("makes room for a pod of higher priority", async () => {
    await using plane = await startControlPlane()
    const { client, clock } = plane
    await addNode(plane, "a", { allocatable: { cpu: "1" } })
    runPods(plane)
    await client.create(PriorityClass, { metadata: { name: "high" }, value: 1000 })
    await client.create(Pod, pod("low", asking("800m")))
    await clock.settle()
    // when
    await client.create(Pod, pod("high", { ...asking("500m"), priorityClassName: "high" }))
    await clock.advance(10_000)
    // then
    expect(await nodeOf(plane, "high")).toBe("a")
    expect((await client.list(Pod, { namespace: "default" })).items.map(({ metadata }) => metadata.name)).toEqual(["high"])
    expect((await client.list(Event, { namespace: "default" })).items.map(({ reason }) => reason)).toContain("Preempted")
  })

  test("places pods of higher priority first", async () => {
    await using plane = await startControlPlane()
    const { client, clock } = plane
    await client.create(PriorityClass, { metadata: { name: "high" }, value: 1000, preemptionPolicy: "Never" })
    await client.create(Pod, pod("early", asking("1")))
    await client.create(Pod, pod("important", { ...asking("1"), priorityClassName: "high" }))
    await clock.settle()
    // when a node comes that takes one of them
    await addNode(plane, "a", { allocatable: { cpu: "1" } })
    await clock.advance(10_000)
    // then
    expect([await nodeOf(plane, "important"), await nodeOf(plane, "early")]).toEqual(["a", undefined])
  })

  test("leaves pods of other schedulers alone", async () => {
    await using plane = await startControlPlane()
    await addNode(plane, "a")
    await plane.client.create(Pod, pod("foreign", { schedulerName: "mine" }))
    await plane.clock.advance(60_000)
    expect(await nodeOf(plane, "foreign")).toBeUndefined()
  })
})
