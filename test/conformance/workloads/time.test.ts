/**
 * Stand-ins that need much time (kubelets, CronJobs, taints), in virtual time with the real kubelet on simulated nodes.
 * After the tests of test/e2e that need no real container.
 */
import { describe, expect, test } from "bun:test"
import { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { startCluster } from "../../../components/cluster/testing/cluster.ts"

const pod = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name } },
  spec: { containers: [{ name: "c", image: "registry.example/sleep:1" }], terminationGracePeriodSeconds: 1, ...spec },
})
const ref = (name: string) => ({ name, namespace: "default" })
const isRunning = (found: Pod) =>
  found.status.phase === "Running" &&
  found.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true

describe("Pods", () => {
  test("have the address of their host, are updated, and are deleted as a collection", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply([pod("a"), pod("b"), pod("c")])
    const [first] = await cluster.eventually(Pod, {}, (pods) => pods.length === 3 && pods.every(isRunning))
    const node = await cluster.get(Node, "node-0")
    expect([first!.status.hostIP, first!.status.hostIPs]).toEqual([
      node.status.addresses!.find(({ type }) => type === "InternalIP")!.address,
      [{ ip: first!.status.hostIP! }],
    ])
    expect(first!.status.podIPs).toEqual([{ ip: first!.status.podIP! }])
    await cluster.client.patch(Pod, ref("a"), { type: "merge", body: { metadata: { labels: { time: "now" } } } })
    expect(await cluster.list(Pod, { labels: "time=now" })).toHaveLength(1)
    await cluster.client.patch(Pod, ref("b"), { type: "merge", body: { spec: { activeDeadlineSeconds: 5 } } })
    await cluster.advance("10s")
    expect((await cluster.get(Pod, "b")).status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" })
    await cluster.client.deleteCollection(Pod, { namespace: "default" })
    await cluster.eventually(Pod, {}, (pods) => pods.length === 0)
  })

  test("have their status patched and replaced, and corrected by the kubelet", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(pod("p"))
    await cluster.eventually(Pod, {}, ([found]) => isRunning(found!))
    const patched = await cluster.client.patch(
      Pod,
      ref("p"),
      {
        type: "strategic",
        body: { status: { conditions: [{ type: "StatusPatched", status: "True", reason: "E2E" }] } },
      },
      { subresource: "status" },
    )
    expect(patched.status.conditions?.some(({ type }) => type === "StatusPatched")).toBe(true)
    const replaced = await cluster.client.updateStatus(Pod, {
      ...patched,
      status: {
        ...patched.status,
        conditions: patched.status.conditions!.map((c) =>
          c.type === "Ready" ? { ...c, status: "False" as const } : c,
        ),
      },
    })
    expect(isRunning(replaced)).toBe(false)
    await cluster.advance("2m")
    expect((await cluster.get(Pod, "p")).status.conditions).toContainEqual(
      expect.objectContaining({ type: "StatusPatched", status: "True" }),
    )
  })

  test("show in observedGeneration which change the kubelet has seen", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(pod("g"))
    await cluster.eventually(Pod, {}, ([found]) => isRunning(found!) && found!.status.observedGeneration === 1)
    await cluster.client.patch(Pod, ref("g"), {
      type: "strategic",
      body: { spec: { containers: [{ name: "c", image: "registry.example/sleep:2" }] } },
    })
    const [seen] = await cluster.eventually(
      Pod,
      {},
      ([found]) =>
        isRunning(found!) &&
        found!.status.observedGeneration === 2 &&
        found!.status.containerStatuses![0]!.image.endsWith("sleep:2"),
    )
    expect(seen!.metadata.generation).toBe(2)
    expect(seen!.status.conditions!.find(({ type }) => type === "Ready")!.observedGeneration).toBe(2)
    await cluster.delete(Pod, "g")
    await cluster.eventually(Pod, {}, (pods) => pods.length === 0)
  })
})

describe("CronJobs", () => {
  const cronJob = (name: string, concurrencyPolicy: string, more: object = {}) => ({
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name },
    spec: {
      schedule: "*/1 * * * ?",
      concurrencyPolicy,
      ...more,
      jobTemplate: {
        spec: {
          parallelism: 1,
          completions: 1,
          template: {
            spec: { restartPolicy: "OnFailure", containers: [{ name: "c", image: "registry.example/sleep:1" }] },
          },
        },
      },
    },
  })
  const active = (cronJob: CronJob) => (cronJob.status.active ?? []).map(({ name }) => name)

  test("run Jobs concurrently, unless concurrencyPolicy or suspend prevents it", async () => {
    await using cluster = await startCluster({ nodes: 1, startTime: "2026-01-01T00:00:30Z" })
    await cluster.apply([
      cronJob("concurrent", "Allow"),
      cronJob("forbid", "Forbid"),
      cronJob("replace", "Replace"),
      cronJob("suspended", "Allow", { suspend: true }),
    ])
    await cluster.advance("1m")
    const [forbidden, replaced] = [
      active(await cluster.get(CronJob, "forbid")),
      active(await cluster.get(CronJob, "replace")),
    ]
    expect([forbidden.length, replaced.length]).toEqual([1, 1])
    await cluster.advance("2m")
    expect(active(await cluster.get(CronJob, "concurrent")).length).toBeGreaterThanOrEqual(2)
    expect(active(await cluster.get(CronJob, "forbid"))).toEqual(forbidden)
    const now = active(await cluster.get(CronJob, "replace"))
    expect([now.length, now[0] === replaced[0]]).toEqual([1, false])
    expect(active(await cluster.get(CronJob, "suspended"))).toEqual([])
    const jobs = await cluster.list(Job)
    expect(jobs.filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === "suspended")).toEqual([])
    await cluster.client.deleteCollection(CronJob, { namespace: "default" }, { propagationPolicy: "Background" })
    await cluster.eventually(Job, {}, (left) => left.length === 0)
  })
})

describe("NoExecute taints that pods tolerate for a time", () => {
  const taint = { key: "kubernetes.io/e2e-evict-taint-key", value: "evictTaintVal", effect: "NoExecute" as const }
  const tolerating = (name: string, tolerationSeconds: number) =>
    pod(name, { tolerations: [{ key: taint.key, value: taint.value, effect: "NoExecute", tolerationSeconds }] })
  const withTaint = (wanted: boolean) => ({
    type: "merge" as const,
    body: { spec: { taints: wanted ? [taint] : null } },
  })

  test("evict each pod when the time of its toleration is over", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply([tolerating("short", 5), tolerating("long", 35)])
    await cluster.eventually(Pod, {}, (pods) => pods.length === 2 && pods.every(isRunning))
    await cluster.client.patch(Node, { name: "node-0" }, withTaint(true))
    await cluster.advance("20s")
    expect((await cluster.list(Pod)).map(({ metadata }) => metadata.name)).toEqual(["long"])
    const condition = cluster
      .history({ kind: "Pod", name: "short" })
      .flatMap(({ object }) => (object as Pod | undefined)?.status?.conditions ?? [])
      .find(({ type }) => type === "DisruptionTarget")
    expect(condition).toMatchObject({
      status: "True",
      reason: "DeletionByTaintManager",
      observedGeneration: 1,
    })
    await cluster.advance("30s")
    expect(await cluster.list(Pod)).toEqual([])
  })

  test("do not evict a pod if they are removed before the time of its toleration is over", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.apply(tolerating("p", 60))
    await cluster.eventually(Pod, {}, ([found]) => isRunning(found!))
    await cluster.client.patch(Node, { name: "node-0" }, withTaint(true))
    await cluster.advance("30s")
    await cluster.client.patch(Node, { name: "node-0" }, withTaint(false))
    await cluster.advance("5m")
    expect(isRunning(await cluster.get(Pod, "p"))).toBe(true)
  })
})

test("the endpoints of 200 Services exist within seconds", async () => {
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.apply(pod("svc-latency"))
  await cluster.eventually(Pod, {}, ([found]) => isRunning(found!))
  const began = cluster.now.getTime()
  for (let n = 0; n < 200; n++)
    await cluster.client.create(Service, {
      metadata: { name: `latency-${n}`, namespace: "default" },
      spec: { selector: { app: "svc-latency" }, ports: [{ port: 80 }] },
    })
  await cluster.eventually(
    EndpointSlice,
    { labels: "endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io" },
    (slices) => slices.filter(({ endpoints }) => (endpoints ?? []).length === 1).length === 200,
  )
  expect(cluster.now.getTime() - began).toBeLessThan(20_000)
})
