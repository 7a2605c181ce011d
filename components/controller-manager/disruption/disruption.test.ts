import { describe, expect, test } from "bun:test"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { startControlPlane, type ControlPlane } from "../../../pkg/testing/control-plane.ts"
import { addNode, runPods } from "../../../pkg/testing/pods.ts"

const NAME = { name: "web", namespace: "default" }
const labels = { app: "web" }
const podSpec = { containers: [{ name: "main", image: "busybox" }] }

async function start(): Promise<ControlPlane> {
  const plane = await startControlPlane()
  await addNode(plane, "node-0")
  runPods(plane)
  return plane
}
const deploy = ({ client }: ControlPlane, replicas: number) => client.create(Deployment, { metadata: NAME, spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } } })
const budget = ({ client }: ControlPlane, spec: object) => client.create(PodDisruptionBudget, { metadata: NAME, spec: { selector: { matchLabels: labels }, ...spec } })
const read = ({ client }: ControlPlane): Promise<PodDisruptionBudget> => client.get(PodDisruptionBudget, NAME)
const evict = ({ client }: ControlPlane, name: string): Promise<unknown> =>
  client.createSubresource(Pod, { name, namespace: "default" }, "eviction", { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace: "default" } })

describe("PodDisruptionBudget", () => {
  test.each([
    [{ minAvailable: 3 }, { expectedPods: 5, desiredHealthy: 3, currentHealthy: 5, disruptionsAllowed: 2 }],
    [{ minAvailable: "50%" }, { expectedPods: 5, desiredHealthy: 3, currentHealthy: 5, disruptionsAllowed: 2 }],
    [{ maxUnavailable: 1 }, { expectedPods: 5, desiredHealthy: 4, currentHealthy: 5, disruptionsAllowed: 1 }],
    [{ maxUnavailable: "30%" }, { expectedPods: 5, desiredHealthy: 3, currentHealthy: 5, disruptionsAllowed: 2 }],
    [{ minAvailable: 9 }, { expectedPods: 5, desiredHealthy: 9, currentHealthy: 5, disruptionsAllowed: 0 }],
  ])("%p of a Deployment of five", async (spec, expected) => {
    await using plane = await start()
    await deploy(plane, 5)
    await budget(plane, spec)
    await plane.clock.settle()
    const { status } = await read(plane)
    expect(status).toMatchObject({ ...expected, observedGeneration: 1 })
    expect(status.conditions).toMatchObject([{ type: "DisruptionAllowed", status: expected.disruptionsAllowed > 0 ? "True" : "False", reason: expected.disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods", observedGeneration: 1 }])
  })

  test("lets as many pods be evicted as it allows, and more when others have taken their place", async () => {
    // given
    await using plane = await start()
    await deploy(plane, 2)
    await budget(plane, { maxUnavailable: 1 })
    await plane.clock.settle()
    const [first, second] = (await plane.client.list(Pod, { namespace: "default" })).items.map(({ metadata }) => metadata.name!)
    // when both are to be evicted at once
    const results = await Promise.allSettled([evict(plane, first!), evict(plane, second!)])
    // then one has to wait
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    const refused = results.find((result) => result.status === "rejected")!.reason as ApiError
    expect([refused.code, refused.message]).toEqual([429, "Cannot evict pod as it would violate the pod's disruption budget."])
    await plane.clock.settle()
    expect((await read(plane)).status).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1 })
    expect((await read(plane)).status.disruptedPods ?? {}).toEqual({})
  })

  test("allows nothing where it cannot know how many pods are wanted", async () => {
    // given a pod of a controller without a scale
    await using plane = await start()
    await plane.client.create(Pod, { metadata: { ...NAME, labels, ownerReferences: [{ apiVersion: "example.com/v1", kind: "Thing", name: "x", uid: "1", controller: true }] }, spec: podSpec })
    await budget(plane, { maxUnavailable: 1 })
    await plane.clock.settle()
    expect((await read(plane)).status).toMatchObject({ disruptionsAllowed: 0, conditions: [{ type: "DisruptionAllowed", status: "False", reason: "SyncFailed" }] })
  })

  test("forgets an eviction that came to nothing after two minutes", async () => {
    await using plane = await start()
    const { client, clock } = plane
    await deploy(plane, 2)
    await budget(plane, { maxUnavailable: 1 })
    await clock.settle()
    const [pod] = (await client.list(Pod, { namespace: "default" })).items
    const { status } = await read(plane)
    await client.updateStatus(PodDisruptionBudget, { ...(await read(plane)), status: { ...status, disruptionsAllowed: 0, disruptedPods: { [pod!.metadata.name!]: "2026-01-01T00:00:00Z" } } })
    await clock.settle()
    expect((await read(plane)).status).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 })
    await clock.advance(121_000)
    expect((await read(plane)).status).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1 })
  })

  test("a pod that was to be disrupted and was not is told so after two minutes", async () => {
    await using plane = await start()
    const { client, clock } = plane
    await client.create(Pod, { metadata: { ...NAME, labels }, spec: podSpec })
    await clock.settle()
    const condition = { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "Eviction API: evicting", lastTransitionTime: "2026-01-01T00:00:00Z" }
    await client.patch(Pod, NAME, { type: "strategic", body: { status: { conditions: [condition] } } }, { subresource: "status" })
    await clock.advance(119_000)
    const target = async () => (await client.get(Pod, NAME)).status.conditions?.find(({ type }) => type === "DisruptionTarget")?.status
    expect(await target()).toBe("True")
    await clock.advance(2000)
    expect(await target()).toBe("False")
  })
})
