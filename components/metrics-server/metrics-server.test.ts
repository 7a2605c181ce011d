import { describe, expect, test } from "bun:test"
import { HorizontalPodAutoscaler } from "../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import { Deployment, Pod, startCluster } from "../cluster/testing/testing.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { createMetricsServer } from "./metrics-server.ts"

const summary = {
  node: { cpu: { usageNanoCores: 250_000_000 }, memory: { workingSetBytes: 5 * 1024 * 1024 + 100 } },
  pods: [
    {
      podRef: { uid: "" },
      containers: [
        { name: "a", cpu: { usageNanoCores: 1_500_001 }, memory: { workingSetBytes: 2048 } },
        { name: "b", cpu: { usageNanoCores: 0 }, memory: { workingSetBytes: 1024 } },
      ],
    },
  ],
}

/** A server over a cluster with two running pods on a node whose kubelet measures only `one`. */
async function withPods() {
  const cluster = await startCluster({ nodes: [{ name: "n", labels: { disk: "ssd" } }] })
  const pod = (name: string, labels: object) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: { containers: ["a", "b"].map((container) => ({ name: container, image: "web" })) },
  })
  await cluster.apply([pod("one", { app: "web" }), pod("two", { app: "other" })])
  await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 2)
  const { uid } = (await cluster.get(Pod, "one")).metadata
  const connectors = new NodeConnectors()
  const [measured] = summary.pods
  const answer = { ...summary, pods: [{ ...measured!, podRef: { uid } }] }
  connectors.register("n", { proxy: async () => Response.json(answer) } as never)
  const clock = { now: () => cluster.now.getTime() } as never
  const server = createMetricsServer({ client: cluster.client, connectors, clock })
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await server(new Request(`http://localhost/apis/metrics.k8s.io/v1beta1${path}`, { headers }))
    const text = await response.text()
    return { status: response.status, body: text.startsWith("{") ? (JSON.parse(text) as Answer) : text }
  }
  return { cluster, get }
}
type Answer = Readonly<Record<string, unknown>> & { readonly items?: readonly Item[] }
interface Item {
  readonly metadata: { readonly name: string }
}
const namesOf = (body: Answer | string) => (body as Answer).items!.map(({ metadata }) => metadata.name)

describe("the metrics API", () => {
  test("serves the usage of a node", async () => {
    const { cluster, get } = await withPods()
    await using _ = cluster
    expect((await get("/nodes/n")).body).toMatchObject({
      kind: "NodeMetrics",
      apiVersion: "metrics.k8s.io/v1beta1",
      metadata: { name: "n", labels: { disk: "ssd" } },
      window: "10s",
      usage: { cpu: "250m", memory: "5Mi" },
    })
    expect(namesOf((await get("/nodes?labelSelector=disk%3Dssd")).body)).toEqual(["n"])
    expect(namesOf((await get("/nodes?labelSelector=disk%3Dhdd")).body)).toEqual([])
  })

  test("serves the usage of the containers of pods, and leaves out pods without measurements", async () => {
    const { cluster, get } = await withPods()
    await using _ = cluster
    expect((await get("/namespaces/default/pods/one")).body).toMatchObject({
      kind: "PodMetrics",
      metadata: { name: "one", namespace: "default", labels: { app: "web" } },
      containers: [
        { name: "a", usage: { cpu: "1500001n", memory: "2Ki" } },
        { name: "b", usage: { cpu: "0", memory: "1Ki" } },
      ],
    })
    expect(namesOf((await get("/pods")).body)).toEqual(["one"])
    expect(namesOf((await get("/namespaces/default/pods?labelSelector=app%3Dweb")).body)).toEqual(["one"])
    expect(namesOf((await get("/namespaces/default/pods?labelSelector=app%3Dother")).body)).toEqual([])
    expect(namesOf((await get("/namespaces/elsewhere/pods")).body)).toEqual([])
  })

  test("is shown by kubectl as a table", async () => {
    const { cluster, get } = await withPods()
    await using _ = cluster
    const { body } = await get("/pods", { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })
    expect(body).toMatchObject({ kind: "Table", rows: [{ cells: ["one", "1500001n", "3Ki", "10s"] }] })
  })

  test.each([
    { path: "/nodes/none", status: 404, message: 'nodemetrics.metrics.k8s.io "none" not found' },
    { path: "/namespaces/default/pods/two", status: 404, message: 'podmetrics.metrics.k8s.io "default/two" not found' },
    { path: "/pods?labelSelector=%3D%3D", status: 400, message: undefined },
    { path: "/things", status: 404, message: undefined },
    { path: "/namespaces/default/pods/one/more", status: 404, message: undefined },
  ])("answers $path with $status", async ({ path, status, message }) => {
    const { cluster, get } = await withPods()
    await using _ = cluster
    const answer = await get(path)
    expect(answer.status).toBe(status)
    if (message !== undefined) expect(answer.body).toMatchObject({ message })
  })
})

const WEB = [
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "c", image: "web", resources: { requests: { cpu: "100m" } } }] },
      },
    },
  },
  {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "web" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      maxReplicas: 10,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
      ],
    },
  },
]

test("an autoscaler follows the CPU usage that an image declares over time", async () => {
  // given a load that is shared by the pods, and high from the twentieth minute of an hour to the fiftieth
  const state = { pods: 1 }
  await using cluster = await startCluster({
    nodes: [{ capacity: { cpu: 64 } }],
    images: {
      web: {
        cpu: (container) => {
          const minute = new Date(container.now()).getUTCMinutes()
          return (minute >= 20 && minute < 50 ? 0.4 : 0.02) / state.pods
        },
      },
    },
  })
  await cluster.apply(WEB)
  const after = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await cluster.advance("1m")
      state.pods = (await cluster.list(Pod)).filter(({ status }) => status.phase === "Running").length
    }
    return (await cluster.get(Deployment, "web")).spec.replicas
  }
  // when
  const replicas = [await after(15), await after(30), await after(14)]
  // then
  expect(replicas).toEqual([1, 8, 1])
  expect((await cluster.get(HorizontalPodAutoscaler, "web")).status.conditions).toContainEqual(
    expect.objectContaining({ type: "ScalingActive", status: "True" }),
  )
})

test("an autoscaler follows the days of a week", async () => {
  // given a load of office hours that the pods share: 0.4 cores on weekdays from eight to eighteen, else nearly none
  const isWork = (now: Date) => now.getUTCDay() % 6 > 0 && now.getUTCHours() >= 8 && now.getUTCHours() < 18
  let running = (): number => 1
  await using cluster = await startCluster({
    startTime: "2026-01-05T00:00:00Z",
    autoscalerSyncPeriod: "10m",
    nodes: [{ capacity: { cpu: 64 } }],
    images: { web: { cpu: (container) => (isWork(new Date(container.now())) ? 0.4 : 0.01) / running() } },
  })
  const { informers } = cluster.contextFor()
  const pods = informers.of(Pod)
  await informers.whenSynced()
  running = () => Math.max(1, pods.list("default").filter(({ status }) => status.phase === "Running").length)
  await cluster.apply(WEB)
  // when
  const seen: string[] = []
  for (let day = 0; day < 7; day++) {
    const replicas: (number | undefined)[] = []
    for (const hours of [7, 5, 12]) {
      await cluster.advance(`${hours}h`)
      replicas.push((await cluster.get(Deployment, "web")).spec.replicas)
    }
    seen.push(replicas.join(" "))
  }
  // then at seven, at noon and at midnight
  expect(seen).toEqual([...Array<string>(5).fill("1 8 1"), "1 1 1", "1 1 1"])
}, 60_000)

test.each([
  {
    title: "that throws",
    cpu: () => {
      throw new Error("no such hour")
    },
    says: "no such hour",
  },
  {
    title: "that returns no number",
    cpu: () => Number.NaN,
    says: "it returned NaN, expected a number of cores, 0 or more",
  },
  {
    title: "that returns a negative number",
    cpu: () => -1,
    says: "it returned -1, expected a number of cores, 0 or more",
  },
])("a CPU function of an image $title makes the call fail that advances the time", async ({ cpu, says }) => {
  await using cluster = await startCluster({ nodes: 1, images: { web: { cpu } } })
  await cluster.apply(WEB)
  // when
  const told = await cluster.advance("1m").then(
    () => "nothing",
    (err: Error) => err.message,
  )
  // then
  expect(told).toMatch(/^The function "cpu" of image "web" failed for container "c" of pod default\/web-[^:]+: /)
  expect(told).toContain(says)
  // and it is told once
  await cluster.advance("1m")
})
