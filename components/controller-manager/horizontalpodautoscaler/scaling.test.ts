import { describe, expect, test } from "bun:test"
import { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import { Deployment, Pod, startCluster, type Cluster } from "../../cluster/testing/testing.ts"

/** Whole clusters whose images use CPU: the behaviour that upstream's test/e2e/autoscaling tests in real clusters. */

const container = (name: string, image: string) => ({ name, image, resources: { requests: { cpu: "100m" } } })
const web = (replicas: number, ...containers: readonly object[]) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers } },
  },
})
const autoscaler = (spec: object) => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "web" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    maxReplicas: 5,
    metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } }],
    ...spec,
  },
})
const ofContainer = (name: string) => ({
  metrics: [
    {
      type: "ContainerResource",
      containerResource: {
        name: "cpu",
        container: name,
        target: { type: "Utilization", averageUtilization: 50 },
      },
    },
  ],
})
const NODES = [{ capacity: { cpu: 64 } }]
const replicasOf = async (cluster: Cluster) => (await cluster.get(Deployment, "web")).spec.replicas

describe("a workload with a sidecar", () => {
  const images = { web: { cpu: () => 0.01 }, busy: { cpu: () => 0.4 } }
  test.each([
    {
      title: "is not scaled for a busy sidecar if the metric is of its own container",
      spec: ofContainer("web"),
      wants: 1,
    },
    { title: "is scaled for the sidecar if the metric is of the sidecar", spec: ofContainer("side"), wants: 5 },
    { title: "is scaled for the sum if the metric is of the whole pod", spec: {}, wants: 5 },
  ])("$title", async ({ spec, wants }) => {
    await using cluster = await startCluster({ nodes: NODES, images })
    await cluster.apply([web(1, container("web", "web"), container("side", "busy")), autoscaler(spec)])
    await cluster.advance("15m")
    expect(await replicasOf(cluster)).toBe(wants)
  })
})

test("a workload is scaled down by as many pods per period as its rules allow", async () => {
  // given
  const behavior = {
    scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: "Pods", value: 1, periodSeconds: 120 }] },
  }
  await using cluster = await startCluster({ nodes: NODES, images: { web: { cpu: () => 0.001 } } })
  await cluster.apply(web(4, container("web", "web")))
  await cluster.advance("6m")
  await cluster.apply(autoscaler({ behavior }))
  // when
  const seen: (number | undefined)[] = []
  for (let step = 0; step < 4; step++) {
    await cluster.advance(step === 0 ? "1s" : "2m")
    seen.push(await replicasOf(cluster))
  }
  // then
  expect(seen).toEqual([3, 2, 1, 1])
})

test("two autoscalers of the same pods do not scale them, until one is deleted", async () => {
  // given
  await using cluster = await startCluster({ nodes: NODES, images: { web: { cpu: () => 0.4 } } })
  await cluster.apply(web(1, container("web", "web")))
  const other = autoscaler({})
  await cluster.apply([other, { ...other, metadata: { name: "another" } }])
  await cluster.advance("10m")
  // then
  expect(await replicasOf(cluster)).toBe(1)
  const { status } = await cluster.get(HorizontalPodAutoscaler, "web")
  expect(status.conditions).toContainEqual(
    expect.objectContaining({ type: "ScalingActive", status: "False", reason: "AmbiguousSelector" }),
  )
  // when
  await cluster.delete(HorizontalPodAutoscaler, "another")
  await cluster.advance("1m")
  // then
  expect(await replicasOf(cluster)).toBeGreaterThan(1)
})

test("a custom resource with a scale is scaled", async () => {
  // given a kind whose pods the test makes
  await using cluster = await startCluster({ nodes: NODES, images: { web: { cpu: () => 0.15 } } })
  await cluster.apply([
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "fleets.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "fleets", singular: "fleet", kind: "Fleet" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
            subresources: {
              scale: {
                specReplicasPath: ".spec.ships",
                statusReplicasPath: ".status.ships",
                labelSelectorPath: ".status.selector",
              },
            },
          },
        ],
      },
    },
    {
      apiVersion: "example.com/v1",
      kind: "Fleet",
      metadata: { name: "web" },
      spec: { ships: 1 },
      status: { ships: 1, selector: "app=web" },
    },
    autoscaler({ scaleTargetRef: { apiVersion: "example.com/v1", kind: "Fleet", name: "web" } }),
  ])
  await cluster.client.create(Pod, {
    metadata: { name: "ship", namespace: "default", labels: { app: "web" } },
    spec: { containers: [container("web", "web")] },
  })
  // when
  await cluster.advance("10m")
  // then
  const { status } = await cluster.get(HorizontalPodAutoscaler, "web")
  expect(status).toMatchObject({ currentReplicas: 3, desiredReplicas: 3 })
  expect(status.conditions).toContainEqual(expect.objectContaining({ type: "ScalingActive", status: "True" }))
})
