import { describe, expect, test } from "bun:test"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"

const NAME = { name: "web", namespace: "default" }
const labels = { app: "web" }
const podSpec = { containers: [{ name: "main", image: "web" }] }

const start = () => startCluster({ nodes: 1 })
const deploy = ({ client }: Cluster, replicas: number) =>
  client.create(Deployment, {
    metadata: NAME,
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } },
  })
const budget = ({ client }: Cluster, spec: object) =>
  client.create(PodDisruptionBudget, { metadata: NAME, spec: { selector: { matchLabels: labels }, ...spec } })
const read = ({ client }: Cluster): Promise<PodDisruptionBudget> => client.get(PodDisruptionBudget, NAME)
const evict = ({ client }: Cluster, name: string): Promise<unknown> =>
  client.createSubresource(Pod, { name, namespace: "default" }, "eviction", {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name, namespace: "default" },
  })

describe("PodDisruptionBudget", () => {
  test.each([
    [{ minAvailable: 3 }, { expectedPods: 5, desiredHealthy: 3, currentHealthy: 5, disruptionsAllowed: 2 }],
    [{ minAvailable: "50%" }, { expectedPods: 5, desiredHealthy: 3, currentHealthy: 5, disruptionsAllowed: 2 }],
    [{ maxUnavailable: 1 }, { expectedPods: 5, desiredHealthy: 4, currentHealthy: 5, disruptionsAllowed: 1 }],
    [{ maxUnavailable: "30%" }, { expectedPods: 5, desiredHealthy: 3, currentHealthy: 5, disruptionsAllowed: 2 }],
    [{ minAvailable: 9 }, { expectedPods: 5, desiredHealthy: 9, currentHealthy: 5, disruptionsAllowed: 0 }],
  ])("with %p for five pods has the status that upstream computes", async (spec, expected) => {
    await using cluster = await start()
    await deploy(cluster, 5)
    await budget(cluster, spec)
    await cluster.settle()
    const { status } = await read(cluster)
    expect(status).toMatchObject({ ...expected, observedGeneration: 1 })
    expect(status.conditions).toMatchObject([
      {
        type: "DisruptionAllowed",
        status: expected.disruptionsAllowed > 0 ? "True" : "False",
        reason: expected.disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods",
        observedGeneration: 1,
      },
    ])
  })

  test("allows as many evictions as its limit, and more when other pods have become ready", async () => {
    // given
    await using cluster = await start()
    await deploy(cluster, 2)
    await budget(cluster, { maxUnavailable: 1 })
    await cluster.settle()
    const [first, second] = (await cluster.client.list(Pod, { namespace: "default" })).items.map(
      ({ metadata }) => metadata.name!,
    )
    // when both are to be evicted at once
    const results = await Promise.allSettled([evict(cluster, first!), evict(cluster, second!)])
    // then one has to wait
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    const refused = results.find((result) => result.status === "rejected")!.reason as ApiError
    expect([refused.code, refused.message]).toEqual([
      429,
      "Cannot evict pod as it would violate the pod's disruption budget.",
    ])
    await cluster.settle()
    expect((await read(cluster)).status).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1 })
    expect((await read(cluster)).status.disruptedPods ?? {}).toEqual({})
  })

  test("is charged by the server in its own name, for a user without rights on budgets", async () => {
    // given
    await using cluster = await start()
    await cluster.client.create(Pod, { metadata: { name: "web", labels }, spec: podSpec })
    await budget(cluster, { minAvailable: 0 })
    await cluster.settle()
    // when
    await evict(cluster, "web")
    // then
    const charge = cluster
      .history({ kind: "PodDisruptionBudget" })
      .find(({ object }) => Object.keys((object as PodDisruptionBudget).status.disruptedPods ?? {}).length > 0)!
    expect(charge.author).toBe("system:apiserver")
    expect(charge.object.metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: "kube-apiserver", operation: "Update", subresource: "status" }),
    )
  })

  test("allows no eviction when the wanted number of pods is unknown", async () => {
    // given a pod of a controller without a scale
    await using cluster = await start()
    await cluster.client.create(Pod, {
      metadata: {
        ...NAME,
        labels,
        ownerReferences: [{ apiVersion: "example.com/v1", kind: "Thing", name: "x", uid: "1", controller: true }],
      },
      spec: podSpec,
    })
    await budget(cluster, { maxUnavailable: 1 })
    await cluster.settle()
    expect((await read(cluster)).status).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ type: "DisruptionAllowed", status: "False", reason: "SyncFailed" }],
    })
  })

  test("stops counting an eviction that was not followed by a deletion after two minutes", async () => {
    await using cluster = await start()
    const { client } = cluster
    await deploy(cluster, 2)
    await budget(cluster, { maxUnavailable: 1 })
    await cluster.settle()
    const [pod] = (await client.list(Pod, { namespace: "default" })).items
    const { status } = await read(cluster)
    await client.updateStatus(PodDisruptionBudget, {
      ...(await read(cluster)),
      status: { ...status, disruptionsAllowed: 0, disruptedPods: { [pod!.metadata.name!]: "2026-01-01T00:00:00Z" } },
    })
    await cluster.settle()
    expect((await read(cluster)).status).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 })
    await cluster.advance(121_000)
    expect((await read(cluster)).status).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1 })
  })

  test("the condition DisruptionTarget of a pod that was not deleted is reset after two minutes", async () => {
    await using cluster = await start()
    const { client } = cluster
    await client.create(Pod, { metadata: { ...NAME, labels }, spec: podSpec })
    await cluster.settle()
    const condition = {
      type: "DisruptionTarget",
      status: "True",
      reason: "EvictionByEvictionAPI",
      message: "Eviction API: evicting",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    }
    await client.patch(
      Pod,
      NAME,
      { type: "strategic", body: { status: { conditions: [condition] } } },
      { subresource: "status" },
    )
    await cluster.advance(119_000)
    const target = async () =>
      (await client.get(Pod, NAME)).status.conditions?.find(({ type }) => type === "DisruptionTarget")?.status
    expect(await target()).toBe("True")
    await cluster.advance(2000)
    expect(await target()).toBe("False")
  })
})
