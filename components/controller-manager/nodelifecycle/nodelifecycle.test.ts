import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { Node } from "../../../pkg/api/core/v1/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { podCondition } from "../../../pkg/api/core/v1/pod-state.ts"
import { startControlPlane, type ControlPlane } from "../../../pkg/testing/control-plane.ts"
import { addNode, runPods } from "../../../pkg/testing/pods.ts"

const bound = (name: string, more: object = {}) => ({ metadata: { name, namespace: "default" }, spec: { nodeName: "node-0", containers: [{ name: "c", image: "i" }], ...more } })
const taintsOf = async ({ client }: ControlPlane) => ((await client.get(Node, { name: "node-0" })).spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`)

describe("a node that falls silent", () => {
  test("is given up after the grace period: tainted, its pods not ready, then evicted", async () => {
    // given a running pod
    await using plane = await startControlPlane()
    const { client, clock } = plane
    const node = await addNode(plane, "node-0")
    runPods(plane)
    await client.create(Pod, bound("a"))
    await clock.advance(20_000)
    expect(await taintsOf(plane)).toEqual([])
    // when heartbeats stop
    node.fallSilent()
    await clock.advance(61_000)
    // then
    const lost = await client.get(Node, { name: "node-0" })
    expect(lost.status.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." })
    expect(await taintsOf(plane)).toEqual(["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"])
    expect(podCondition(await client.get(Pod, { name: "a", namespace: "default" }), "Ready")?.status).toBe("False")
    // and after the five minutes that pods tolerate
    await clock.advance(301_000)
    expect((await client.list(Pod, { namespace: "default" })).items).toEqual([])
  })

  test("is given its time again after the control plane was away", async () => {
    // given a node whose last heartbeat is long past when the controllers start again
    await using plane = await startControlPlane()
    const { clock, controllers } = plane
    const node = await addNode(plane, "node-0")
    await clock.settle()
    node.fallSilent()
    await controllers.stop()
    await clock.advance(3_600_000)
    // when
    await controllers.start(plane.signal)
    await clock.advance(49_000)
    // then
    expect(await taintsOf(plane)).toEqual([])
    await clock.advance(2000)
    expect(await taintsOf(plane)).toContain("node.kubernetes.io/unreachable:NoExecute")
  })

  test("gets pressure conditions as taints", async () => {
    await using plane = await startControlPlane()
    await addNode(plane, "node-0")
    await plane.client.patch(Node, { name: "node-0" }, { type: "strategic", body: { status: { conditions: [{ type: "MemoryPressure", status: "True" }] } } }, { subresource: "status" })
    await plane.clock.settle()
    expect(await taintsOf(plane)).toEqual(["node.kubernetes.io/memory-pressure:NoSchedule"])
  })
})

describe("NoExecute taints", () => {
  test("evict a pod when its toleration has run out, and not one that tolerates them for ever", async () => {
    await using plane = await startControlPlane()
    const { client, clock } = plane
    await addNode(plane, "node-0")
    runPods(plane)
    const tolerations = (tolerationSeconds?: number) => [{ key: "maintenance", operator: "Exists", effect: "NoExecute", ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }) }]
    await client.create(Pod, bound("now"))
    await client.create(Pod, bound("later", { tolerations: tolerations(30) }))
    await client.create(Pod, bound("never", { tolerations: tolerations() }))
    await clock.settle()
    const left = async () => (await client.list(Pod, { namespace: "default" })).items.map(({ metadata }) => metadata.name)
    // when
    await client.patch(Node, { name: "node-0" }, { type: "merge", body: { spec: { taints: [{ key: "maintenance", effect: "NoExecute", timeAdded: new Date(clock.now()).toISOString() }] } } })
    await clock.settle()
    // then
    expect(await left()).toEqual(["later", "never"])
    await clock.advance(31_000)
    expect(await left()).toEqual(["never"])
  })
})

describe("pods that nobody looks after", () => {
  test("are removed when their node has been gone for a while", async () => {
    await using plane = await startControlPlane()
    const { client, clock } = plane
    await client.create(Pod, bound("a"))
    await clock.advance(39_000)
    expect((await client.list(Pod, { namespace: "default" })).items).toHaveLength(1)
    await clock.advance(2000)
    expect((await client.list(Pod, { namespace: "default" })).items).toEqual([])
  })
})

describe("a new namespace", () => {
  test("gets a service account and the cluster's certificate, again if they are deleted", async () => {
    await using plane = await startControlPlane()
    const { client, clock } = plane
    await client.create(Namespace, { metadata: { name: "shop" } })
    await clock.settle()
    const there = async () => [
      (await client.list(ServiceAccount, { namespace: "shop" })).items.map(({ metadata }) => metadata.name),
      (await client.list(ConfigMap, { namespace: "shop" })).items.map(({ metadata }) => metadata.name),
    ]
    expect(await there()).toEqual([["default"], ["kube-root-ca.crt"]])
    // when
    await client.delete(ServiceAccount, { name: "default", namespace: "shop" })
    await client.delete(ConfigMap, { name: "kube-root-ca.crt", namespace: "shop" })
    await clock.settle()
    // then
    expect(await there()).toEqual([["default"], ["kube-root-ca.crt"]])
  })
})
