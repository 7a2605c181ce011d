import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { podCondition } from "../../../pkg/pods/pod-state.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"

const bound = (name: string, more: object = {}) => ({
  metadata: { name, namespace: "default" },
  spec: { nodeName: "node-0", containers: [{ name: "c", image: "i" }], ...more },
})
const taintsOf = async ({ client }: Cluster) =>
  ((await client.get(Node, { name: "node-0" })).spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`)

describe("a node without heartbeats", () => {
  test("is tainted after the grace period, its pods become not ready, and then are evicted", async () => {
    // given a running pod on one of two nodes
    await using cluster = await startCluster({ nodes: 2 })
    const { client } = cluster
    await client.create(Pod, bound("a"))
    await cluster.advance(20_000)
    expect(await taintsOf(cluster)).toEqual([])
    // when heartbeats stop
    const fault = await cluster.faults.nodeLost("node-0")
    await cluster.advance(61_000)
    // then
    const lost = await client.get(Node, { name: "node-0" })
    expect(lost.status.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
    })
    expect(await taintsOf(cluster)).toEqual([
      "node.kubernetes.io/unreachable:NoSchedule",
      "node.kubernetes.io/unreachable:NoExecute",
    ])
    expect(podCondition(await client.get(Pod, { name: "a", namespace: "default" }), "Ready")?.status).toBe("False")
    // and after the five minutes that pods tolerate
    await cluster.advance(301_000)
    expect((await cluster.get(Pod, "a")).metadata.deletionTimestamp).toBeDefined()
    // until nobody but the kubelet can say that it has ended
    await fault.end()
    await cluster.advance(60_000)
    expect([await cluster.list(Pod), await taintsOf(cluster)]).toEqual([[], []])
  })

  test("gets a new grace period after the control plane was down", async () => {
    // given a node whose last heartbeat is long past when the controllers start again
    await using cluster = await startCluster({ nodes: 2 })
    const controllers = await cluster.faults.crashed("controller-manager")
    await using _lost = await cluster.faults.nodeLost("node-0")
    await cluster.advance("1h")
    // when
    await controllers.end()
    await cluster.advance(49_000)
    // then
    expect(await taintsOf(cluster)).toEqual([])
    await cluster.advance(2000)
    expect(await taintsOf(cluster)).toContain("node.kubernetes.io/unreachable:NoSchedule")
    await cluster.advance(5000)
    expect(await taintsOf(cluster)).toContain("node.kubernetes.io/unreachable:NoExecute")
  })

  test("gets taints for its pressure conditions", async () => {
    await using cluster = await startCluster({ nodes: 1, components: { kubelet: false } })
    await cluster.client.patch(
      Node,
      { name: "node-0" },
      { type: "strategic", body: { status: { conditions: [{ type: "MemoryPressure", status: "True" }] } } },
      { subresource: "status" },
    )
    await cluster.settle()
    expect(await taintsOf(cluster)).toEqual(["node.kubernetes.io/memory-pressure:NoSchedule"])
  })
})

describe("NoExecute taints", () => {
  test("evict a pod when the time of its toleration is over, and never if the toleration has no time", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    const { client } = cluster
    const tolerations = (tolerationSeconds?: number) => [
      {
        key: "maintenance",
        operator: "Exists",
        effect: "NoExecute",
        ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
      },
    ]
    await client.create(Pod, bound("now"))
    await client.create(Pod, bound("later", { tolerations: tolerations(30) }))
    await client.create(Pod, bound("never", { tolerations: tolerations() }))
    await cluster.settle()
    const left = async () =>
      (await client.list(Pod, { namespace: "default" })).items.map(({ metadata }) => metadata.name)
    // when
    await client.patch(
      Node,
      { name: "node-0" },
      {
        type: "merge",
        body: { spec: { taints: [{ key: "maintenance", effect: "NoExecute", timeAdded: cluster.now.toISOString() }] } },
      },
    )
    await cluster.settle()
    // then
    expect(await left()).toEqual(["later", "never"])
    await cluster.advance(31_000)
    expect(await left()).toEqual(["never"])
  })

  /** A node with a pod that tolerates two taints for 100 s each. */
  async function tolerant() {
    const cluster = await startCluster({ nodes: 1 })
    const { client } = cluster
    const tolerations = ["a", "b"].map((key) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 100,
    }))
    return {
      cluster,
      create: () => client.create(Pod, bound("web", { tolerations })),
      taint: (keys: readonly string[], timeAdded = cluster.now.toISOString()) => {
        const taints = keys.map((key) => ({ key, effect: "NoExecute", timeAdded }))
        return client.patch(Node, { name: "node-0" }, { type: "merge", body: { spec: { taints } } })
      },
      isLeft: async () => (await cluster.list(Pod, { namespace: "default" })).length > 0,
      told: async () =>
        (await cluster.list(Event, { namespace: "default" }))
          .filter(({ reason }) => reason === "TaintManagerEviction")
          .map(({ message }) => message),
      [Symbol.asyncDispose]: () => cluster.stop(),
    }
  }

  test("do not begin the time of a pod anew when one takes the place of another", async () => {
    // given
    await using on = await tolerant()
    await on.create()
    await on.cluster.settle()
    await on.taint(["a"])
    await on.cluster.advance("60s")
    // when
    await on.taint(["b"])
    await on.cluster.advance("39s")
    expect(await on.isLeft()).toBe(true)
    await on.cluster.advance("3s")
    // then
    expect(await on.isLeft()).toBe(false)
    expect(await on.told()).toEqual(["Marking for deletion Pod default/web"])
  })

  test("leave a pod its time that comes to a node which has had them for long", async () => {
    await using on = await tolerant()
    await on.taint(["a"], new Date(on.cluster.now.getTime() - 3_600_000).toISOString())
    await on.create()
    await on.cluster.advance("99s")
    expect(await on.isLeft()).toBe(true)
    await on.cluster.advance("3s")
    expect(await on.isLeft()).toBe(false)
  })

  test("that go in time leave the pod, which is told by an Event", async () => {
    await using on = await tolerant()
    await on.create()
    await on.cluster.settle()
    await on.taint(["a"])
    await on.cluster.advance("60s")
    await on.taint([])
    await on.cluster.advance("5m")
    expect(await on.isLeft()).toBe(true)
    expect(await on.told()).toEqual(["Cancelling deletion of Pod default/web"])
  })
})

test("a node that comes or goes is told by an Event, as is each after a start of the controller", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  const told = async () =>
    (await cluster.list(Event, { namespace: "default" }))
      .filter(({ source }) => source?.component === "node-controller")
      .map(({ reason, message, involvedObject }) => [involvedObject.name, reason, message])
  await cluster.settle()
  const registered = ["node-0", "RegisteredNode", "Node node-0 event: Registered Node node-0 in Controller"]
  expect(await told()).toEqual([registered])
  // when
  await cluster.client.create(Node, { metadata: { name: "other" } })
  await cluster.settle()
  await cluster.client.delete(Node, { name: "other" })
  await cluster.settle()
  // then
  expect((await told()).filter(([name]) => name === "other")).toEqual([
    ["other", "RegisteredNode", "Node other event: Registered Node other in Controller"],
    ["other", "RemovingNode", "Node other event: Removing Node other from Controller"],
  ])
})

describe("pods without a node", () => {
  test("are deleted some time after their node is deleted", async () => {
    await using cluster = await startCluster()
    const { client } = cluster
    await client.create(Pod, bound("a"))
    await cluster.advance(39_000)
    expect((await client.list(Pod, { namespace: "default" })).items).toHaveLength(1)
    await cluster.advance(2000)
    expect((await client.list(Pod, { namespace: "default" })).items).toEqual([])
  })

  test("are deleted as soon as that is possible, if it fails once", async () => {
    await using cluster = await startCluster()
    await cluster.faults.requests({ verb: "delete", resource: "pods", error: "InternalError", times: 1 })
    await cluster.client.create(Pod, bound("a"))
    await cluster.advance(42_000)
    expect(await cluster.list(Pod)).toEqual([])
  })
})

describe("a new namespace", () => {
  test("gets a service account and the cluster's root certificate, and gets them again after they are deleted", async () => {
    await using cluster = await startCluster()
    const { client } = cluster
    await client.create(Namespace, { metadata: { name: "shop" } })
    await cluster.settle()
    const there = async () => [
      (await client.list(ServiceAccount, { namespace: "shop" })).items.map(({ metadata }) => metadata.name),
      (await client.list(ConfigMap, { namespace: "shop" })).items.map(({ metadata }) => metadata.name),
    ]
    expect(await there()).toEqual([["default"], ["kube-root-ca.crt"]])
    // when
    await client.delete(ServiceAccount, { name: "default", namespace: "shop" })
    await client.delete(ConfigMap, { name: "kube-root-ca.crt", namespace: "shop" })
    await cluster.settle()
    // then
    expect(await there()).toEqual([["default"], ["kube-root-ca.crt"]])
  })
})
