import { describe, expect, test } from "bun:test"
import { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import {
  Deployment,
  Event,
  Pod,
  startCluster,
  type Cluster,
  type ExtensionServer,
} from "../../cluster/testing/testing.ts"
import { metricsOf } from "../../cluster/testing/cluster.fixtures.ts"

/** A Deployment whose pods use `use(now)` thousandths of a core each, as a metrics server reports. */
async function withLoad(use: (seconds: number, pods: number) => number, autoscaler: object, replicas = 1) {
  const state: { cluster?: Cluster; began: number } = { began: 0 }
  const server: ExtensionServer = async ({ url }) => {
    const { cluster, began } = state
    const { pathname } = new URL(url)
    if (pathname === "/apis/metrics.k8s.io/v1beta1")
      return Response.json({
        kind: "APIResourceList",
        apiVersion: "v1",
        groupVersion: "metrics.k8s.io/v1beta1",
        resources: [{ name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] }],
      })
    if (cluster === undefined) return new Response("", { status: 503 })
    const pods = (await cluster.client.list(Pod, { namespace: "default" })).items.filter(
      ({ status }) => status.phase === "Running",
    )
    const milli = use((cluster.now.getTime() - began) / 1000, pods.length)
    return Response.json({
      kind: "PodMetricsList",
      items: pods.map(({ metadata }) => ({
        metadata: { name: metadata.name, namespace: "default" },
        timestamp: new Date(cluster.now.getTime()).toISOString(),
        window: "15s",
        containers: [{ name: "c", usage: { cpu: `${Math.round(milli)}m`, memory: "10Mi" } }],
      })),
    })
  }
  const cluster = await startCluster({
    nodes: [{ capacity: { cpu: 64, pods: 500 } }],
    extensionServers: { "kube-system/metrics-server": server },
  })
  await cluster.apply([
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "metrics-server", namespace: "kube-system" },
      spec: { ports: [{ port: 443 }] },
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io" },
      spec: {
        group: "metrics.k8s.io",
        version: "v1beta1",
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { namespace: "kube-system", name: "metrics-server" },
      },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "c", image: "web", resources: { requests: { cpu: "100m" } } }] },
        },
      },
    },
  ])
  // The first five minutes of a pod do not count for less than they say, once its metrics are young enough.
  await cluster.advance("6m")
  state.cluster = cluster
  state.began = cluster.now.getTime()
  await cluster.apply({
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "web" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      maxReplicas: 10,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
      ],
      ...autoscaler,
    },
  })
  return cluster
}

const replicasOf = async (cluster: Cluster) => (await cluster.get(Deployment, "web")).spec.replicas
const conditionsOf = async (cluster: Cluster) =>
  Object.fromEntries(
    ((await cluster.get(HorizontalPodAutoscaler, "web")).status.conditions ?? []).map(({ type, status, reason }) => [
      type,
      `${status} ${reason}`,
    ]),
  )
const eventsOf = async (cluster: Cluster) =>
  (await cluster.list(Event))
    .filter(({ involvedObject }) => involvedObject.kind === "HorizontalPodAutoscaler")
    .map(({ reason, message }) => `${reason}: ${message}`)

describe("an autoscaler", () => {
  test("scales a workload to its load, at most to twice its replicas or to four at a time", async () => {
    // given a load of 400 thousandths of a core that the pods share, each of which should have 50
    await using cluster = await withLoad((_, pods) => 400 / pods, {})
    // when
    await cluster.advance("1s")
    // then
    expect(await replicasOf(cluster)).toBe(4)
    expect(await conditionsOf(cluster)).toMatchObject({
      AbleToScale: "True SucceededRescale",
      ScalingActive: "True ValidMetricFound",
      ScalingLimited: "True ScaleUpLimit",
    })
    expect(await eventsOf(cluster)).toContain(
      "SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target",
    )
    // when the new pods have said something
    await cluster.advance("2m")
    // then
    expect(await replicasOf(cluster)).toBe(8)
    await cluster.advance("5m")
    expect(await replicasOf(cluster)).toBe(8)
    const { status } = await cluster.get(HorizontalPodAutoscaler, "web")
    expect(status).toMatchObject({
      currentReplicas: 8,
      desiredReplicas: 8,
      currentMetrics: [
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 50, averageValue: "50m" } } },
      ],
    })
    expect(await conditionsOf(cluster)).toMatchObject({
      AbleToScale: "True ReadyForNewScale",
      ScalingLimited: "False DesiredWithinRange",
    })
  })

  test("scales down only when no recommendation of the last five minutes was higher", async () => {
    // given a load that ends after ten minutes
    await using cluster = await withLoad((seconds, pods) => (seconds < 600 ? 400 : 20) / pods, {})
    await cluster.advance("590s")
    expect(await replicasOf(cluster)).toBe(8)
    // when
    await cluster.advance("4m")
    // then
    expect(await replicasOf(cluster)).toBe(8)
    expect((await conditionsOf(cluster))["AbleToScale"]).toBe("True ScaleDownStabilized")
    await cluster.advance("2m")
    expect(await replicasOf(cluster)).toBe(1)
  })

  test("reports its decisions in metrics, and removes those of a deleted autoscaler", async () => {
    // given a load beyond what the most pods can take
    await using cluster = await withLoad(() => 300, { maxReplicas: 3 })
    await cluster.advance("31s")
    const figures = async () =>
      (await metricsOf(cluster))
        .split("\n")
        .filter((line) => /^horizontal_pod_autoscaler_controller_\w+(_total|autoscalers|replicas)\b/.test(line))
        .map((line) => line.slice("horizontal_pod_autoscaler_controller_".length))
    // then
    expect(await figures()).toEqual([
      'desired_replicas{namespace="default",hpa_name="web"} 3',
      'metric_computation_total{action="scale_up",error="none",metric_type="Resource"} 3',
      "num_horizontal_pod_autoscalers 1",
      'reconciliations_total{action="scale_up",error="none"} 1',
      'reconciliations_total{action="none",error="none"} 2',
    ])
    // when
    await cluster.client.delete(HorizontalPodAutoscaler, { namespace: "default", name: "web" })
    await cluster.advance("1m")
    // then
    const left = await figures()
    expect(left).toContain("num_horizontal_pod_autoscalers 0")
    expect(left.join()).not.toContain("desired_replicas{")
  })

  test("applies the rules in spec.behavior", async () => {
    // given one pod more a minute, from the first look on, and none fewer
    const behavior = {
      scaleUp: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] },
      scaleDown: { selectPolicy: "Disabled" },
    }
    await using cluster = await withLoad((seconds, pods) => (seconds < 200 ? 1000 : 1) / pods, { behavior })
    // when
    const seen: (number | undefined)[] = []
    for (let minute = 0; minute < 4; minute++) {
      await cluster.advance("1m")
      seen.push(await replicasOf(cluster))
    }
    // then
    expect(seen).toEqual([3, 4, 5, 5])
    await cluster.advance("1h")
    expect(await replicasOf(cluster)).toBe(5)
  })

  test("does not scale while usage is within a tenth of the target", async () => {
    await using cluster = await withLoad(() => 54, {}, 3)
    await cluster.advance("10m")
    expect(await replicasOf(cluster)).toBe(3)
  })

  test("scales a workload into its bounds without any metric", async () => {
    await using cluster = await withLoad(() => 50, { minReplicas: 3 })
    await cluster.advance("1s")
    expect(await replicasOf(cluster)).toBe(3)
    expect(await eventsOf(cluster)).toContain(
      "SuccessfulRescale: New size: 3; reason: Current number of replicas below Spec.MinReplicas",
    )
  })

  test("does not scale a workload that is scaled to zero", async () => {
    await using cluster = await withLoad(() => 500, {}, 0)
    await cluster.advance("10m")
    expect(await replicasOf(cluster)).toBe(0)
    expect(await conditionsOf(cluster)).toEqual({
      AbleToScale: "True SucceededGetScale",
      ScalingActive: "False ScalingDisabled",
    })
  })

  test.each([
    {
      title: "a workload that does not exist",
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "none" } },
      says: 'FailedGetScale: deployments.apps "none" not found',
      conditions: { AbleToScale: "False FailedGetScale" },
    },
    {
      title: "a kind that does not exist",
      spec: { scaleTargetRef: { apiVersion: "example.com/v1", kind: "Thing", name: "web" } },
      says: 'FailedGetScale: no matches for kind "Thing" in group "example.com"',
      conditions: { AbleToScale: "False FailedGetScale" },
    },
    {
      title: "a resource that its pods do not request",
      spec: {
        metrics: [
          { type: "Resource", resource: { name: "memory", target: { type: "Utilization", averageUtilization: 50 } } },
        ],
      },
      says: "FailedGetResourceMetric: failed to get memory utilization: missing request for memory in container c of Pod",
      conditions: { AbleToScale: "True SucceededGetScale", ScalingActive: "False FailedGetResourceMetric" },
    },
    {
      title: "metrics that no server provides",
      spec: {
        metrics: [{ type: "External", external: { metric: { name: "queue" }, target: { type: "Value", value: "5" } } }],
      },
      says:
        "FailedGetExternalMetric: failed to get external metric queue: unable to get external metric " +
        "default/queue/nil: unable to fetch metrics from external metrics API: " +
        "the server could not find the requested resource (list queue.external.metrics.k8s.io)",
      conditions: { ScalingActive: "False FailedGetExternalMetric" },
    },
  ])("reports for $title why it cannot scale", async ({ spec, says, conditions }) => {
    await using cluster = await withLoad(() => 500, spec)
    await cluster.advance("1m")
    expect(await replicasOf(cluster)).toBe(1)
    expect((await eventsOf(cluster)).some((event) => event.startsWith(says))).toBe(true)
    expect(await conditionsOf(cluster)).toMatchObject(conditions)
  })
})
