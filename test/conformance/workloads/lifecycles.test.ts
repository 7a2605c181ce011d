/**
 * Stand-ins for conformance entries that follow objects of one kind from creation to deletion, with controllers,
 * scheduler and nodes whose pods run at once. After test/e2e/apps, common/node, node and scheduling upstream.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ConformanceCluster, Loose } from "../cluster.ts"
import {
  APPS,
  condition,
  NS,
  podsOf,
  podSpec,
  running,
  selected,
  startWorkloadCluster,
  template,
} from "./workload-cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startWorkloadCluster()
})
afterAll(() => cluster.stop())

const revision = ({ metadata }: Loose) => Number(metadata.resourceVersion)
const imageOf = ({ spec }: Loose) => (spec["containers"] as { image: string }[])[0]!.image
const setImage = (image: string) => ({ spec: { template: { spec: { containers: [{ name: "web", image }] } } } })

describe("Deployments", () => {
  const path = `${APPS}/deployments`
  test("Deployment RecreateDeployment should delete old pods and create new ones", async () => {
    const made = await cluster.post(path, {
      metadata: { name: "recreate" },
      spec: { replicas: 1, strategy: { type: "Recreate" }, ...selected("recreate") },
    })
    await cluster.until(`${path}/recreate`, (found) => found?.status.availableReplicas === 1)
    expect((await cluster.get(`${path}/recreate`)).metadata.annotations).toMatchObject({
      "deployment.kubernetes.io/revision": "1",
    })
    // pods of the old and of the new template never run at the same time
    const watch = await cluster.watch(podsOf("recreate"))
    await cluster.patch(`${path}/recreate`, "strategic", setImage("registry.example/web:2"))
    await cluster.until(
      `${path}/recreate`,
      (found) => found?.status["updatedReplicas"] === 1 && found.status.availableReplicas === 1,
    )
    const live = new Map<string, string>()
    for (const { type, object } of watch.events) {
      if (type === "DELETED") live.delete(object.metadata.uid)
      else if (object.status.phase === "Running") live.set(object.metadata.uid, imageOf(object))
      expect(new Set(live.values()).size).toBeLessThanOrEqual(1)
    }
    watch.close()
    expect([...live.values()]).toEqual(["registry.example/web:2"])
    await cluster.delete(`${path}/${made.metadata.name}`)
  })

  test("Deployment deployment should support rollover", async () => {
    // given a ReplicaSet with running pods, and a Deployment that adopts it, with an image that cannot be pulled
    const sets = `${APPS}/replicasets`
    await cluster.post(sets, {
      metadata: { name: "rollover-old", labels: { app: "rollover" } },
      spec: { replicas: 1, ...selected("rollover") },
    })
    await cluster.untilList(podsOf("rollover"), running(1))
    await cluster.post(path, {
      metadata: { name: "rollover" },
      spec: {
        replicas: 1,
        minReadySeconds: 1,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        ...selected("rollover"),
        template: {
          ...template("rollover"),
          spec: { ...podSpec("registry.example/nonexistent:1"), nodeSelector: { no: "where" } },
        },
      },
    })
    await cluster.until(
      `${path}/rollover`,
      (found) =>
        found?.status["updatedReplicas"] === 1 && found.status.observedGeneration === found.metadata.generation,
    )
    const replicas = async () =>
      (await cluster.get(`${sets}?labelSelector=app%3Drollover`)).items.map(({ spec }) => spec.replicas)
    expect((await cluster.get(`${path}/rollover`)).metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe(
      "1",
    )
    expect(await replicas()).toEqual([1, 1])
    // when the template changes before that rollout is complete, then both old ReplicaSets are scaled to 0
    await cluster.patch(`${path}/rollover`, "merge", {
      spec: { template: { spec: { ...podSpec("registry.example/web:3"), nodeSelector: null } } },
    })
    await cluster.until(
      `${path}/rollover`,
      (found) =>
        found?.status.observedGeneration === found?.metadata.generation &&
        found?.status["updatedReplicas"] === 1 &&
        found.status.availableReplicas === 1 &&
        found.status.replicas === 1,
    )
    const counts = await replicas()
    expect([counts.filter((count) => count === 1).length, counts.filter((count) => count === 0).length]).toEqual([
      1,
      counts.length - 1,
    ])
    const pods = await cluster.untilList(podsOf("rollover"), running(1))
    expect(imageOf(pods[0]!)).toBe("registry.example/web:3")
  })
})

test("ControllerRevision should manage the lifecycle of a ControllerRevision", async () => {
  const revisions = `${APPS}/controllerrevisions`
  const [sets, mine] = [`${APPS}/daemonsets`, "labelSelector=app%3Drevisions"]
  const { metadata: owner } = await cluster.post(sets, { metadata: { name: "revisions" }, spec: selected("revisions") })
  await cluster.until(`${sets}/revisions`, (found) => found?.status["numberReady"] === 2)
  const [initial] = (await cluster.get(`/apis/apps/v1/controllerrevisions?${mine}`)).items
  expect(initial!.metadata.ownerReferences).toMatchObject([{ kind: "DaemonSet", name: "revisions", uid: owner.uid }])
  const labelled = await cluster.patch(`${revisions}/${initial!.metadata.name}`, "strategic", {
    metadata: { labels: { [initial!.metadata.name]: "patched" } },
  })
  expect(labelled.metadata.labels).toMatchObject({ [initial!.metadata.name]: "patched" })
  const copy = (name: string, revision: number) => ({
    metadata: { name, labels: initial!.metadata.labels, ownerReferences: initial!.metadata.ownerReferences },
    data: initial!["data"],
    revision,
  })
  await cluster.post(revisions, copy("second", 2))
  expect((await cluster.get(`${revisions}?${mine}`)).items).toHaveLength(2)
  await cluster.delete(`${revisions}/${initial!.metadata.name}`)
  await cluster.until(
    `${revisions}/${initial!.metadata.name}`,
    (found) => found?.metadata.uid !== initial!.metadata.uid,
  )
  const now = await cluster.get(`${revisions}/second`)
  const updated = await cluster.put(`${revisions}/second`, {
    ...now,
    metadata: { ...now.metadata, labels: { ...now.metadata.labels, second: "updated" } },
  })
  expect(updated.metadata.labels).toMatchObject({ second: "updated" })
  expect(revision(updated)).toBeGreaterThan(revision(now))
  // a new template makes a new revision
  await cluster.patch(`${sets}/revisions`, "strategic", setImage("registry.example/web:2"))
  await cluster.untilList(`${revisions}?${mine}`, (all) =>
    all.some((found) => JSON.stringify(found["data"]).includes("web:2")),
  )
  await cluster.delete(`${revisions}?labelSelector=second%3Dupdated`)
  await cluster.untilList(`${revisions}?labelSelector=second%3Dupdated`, (left) => left.length === 0)
  await cluster.delete(`${sets}/revisions`)
})

test("Pods should run through the lifecycle of Pods and PodStatus", async () => {
  const watch = await cluster.watch(`${NS}/pods?labelSelector=test-pod-static%3Dtrue`)
  await cluster.post(`${NS}/pods`, {
    metadata: { name: "pod-test", labels: { "test-pod-static": "true" } },
    spec: { terminationGracePeriodSeconds: 1, ...podSpec() },
  })
  await watch.until((events) => condition(events.at(-1)?.object, "Ready")?.status === "True")
  const patched = await cluster.patch(`${NS}/pods/pod-test`, "strategic", {
    metadata: { labels: { "test-pod": "patched" } },
    spec: { containers: [{ name: "web", image: "registry.example/web:2" }] },
  })
  expect([patched.metadata.labels?.["test-pod"], imageOf(patched)]).toEqual(["patched", "registry.example/web:2"])
  await watch.until((events) => {
    const { type, object } = events.at(-1)!
    return type === "MODIFIED" && object.status.phase === "Running" && condition(object, "Ready")?.status === "True"
  })
  const now = await cluster.get(`${NS}/pods/pod-test/status`)
  const conditions = now.status.conditions!.map((found) =>
    found.type === "Ready" || found.type === "ContainersReady" ? { ...found, status: "False" } : found,
  )
  const updated = await cluster.put(`${NS}/pods/pod-test/status`, { ...now, status: { ...now.status, conditions } })
  expect(condition(updated, "Ready")?.status).toBe("False")
  expect(condition(await cluster.get(`${NS}/pods/pod-test/status`), "ContainersReady")).toBeDefined()
  await cluster.delete(`${NS}/pods?labelSelector=test-pod-static%3Dtrue`, { gracePeriodSeconds: 1 })
  const events = await watch.until((seen) => seen.at(-1)?.type === "DELETED")
  expect([events[0]!.type, events.at(-1)!.object.metadata.name]).toEqual(["ADDED", "pod-test"])
  watch.close()
})

test("Pods Extended (pod generation) Pod Generation pod generation should start at 1 and increment per update", async () => {
  const path = `${NS}/pods/generation`
  const made = await cluster.post(`${NS}/pods`, {
    metadata: { name: "generation" },
    spec: { initContainers: [{ name: "init", image: "registry.example/init:1" }], ...podSpec() },
  })
  expect(made.metadata.generation).toBe(1)
  const tolerations = (made.spec["tolerations"] ?? []) as object[]
  const rows: readonly { readonly change: object; readonly bumps: boolean }[] = [
    { change: {}, bumps: false },
    {
      change: {
        spec: { tolerations: [...tolerations, { key: "foo", operator: "Equal", value: "bar", effect: "NoSchedule" }] },
      },
      bumps: true,
    },
    { change: { spec: { activeDeadlineSeconds: 5000 } }, bumps: true },
    { change: { spec: { containers: [{ name: "web", image: "registry.example/web:2" }] } }, bumps: true },
    { change: { spec: { initContainers: [{ name: "init", image: "registry.example/init:2" }] } }, bumps: true },
    { change: { metadata: { annotations: { key: "value" } } }, bumps: false },
    { change: { metadata: { generation: 1 } }, bumps: false },
  ]
  let wanted = 1
  for (const { change, bumps } of rows) {
    const changed = await cluster.patch(path, "strategic", change)
    if (bumps) wanted++
    expect([change, changed.metadata.generation]).toEqual([change, wanted])
    await cluster.until(path, (found) => found?.status.observedGeneration === wanted)
  }
  await cluster.delete(path)
})

test("SchedulerPreemption PreemptionExecutionPath runs ReplicaSets to verify preemption running path", async () => {
  // given a node that holds 1000 of a resource, and three ReplicaSets that leave 50 of it
  const resource = "example.com/fakecpu"
  const node = "node-0"
  await cluster.patch(`/api/v1/nodes/${node}/status`, "merge", {
    status: { capacity: { [resource]: "1000" }, allocatable: { [resource]: "1000" } },
  })
  for (const n of [1, 2, 3, 4])
    await cluster.post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: `p${n}` }, value: n })
  const spec = (n: number, amount: number) => ({
    priorityClassName: `p${n}`,
    nodeSelector: { "kubernetes.io/hostname": node },
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "web",
        image: "registry.example/pause:1",
        resources: { requests: { [resource]: String(amount) }, limits: { [resource]: String(amount) } },
      },
    ],
  })
  const watch = await cluster.watch(`${NS}/pods?labelSelector=preempts`)
  for (const [n, amount] of [
    [1, 200],
    [2, 300],
    [3, 450],
  ] as const) {
    const labels = { app: `rs-pod${n}`, preempts: "yes" }
    await cluster.post(`${APPS}/replicasets`, {
      metadata: { name: `rs-pod${n}` },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: `rs-pod${n}` } },
        template: { metadata: { labels }, spec: spec(n, amount) },
      },
    })
    await cluster.untilList(podsOf(`rs-pod${n}`), running(1))
  }
  // when a pod of a higher priority wants 500, then the two lowest make room, and only these
  await cluster.post(`${NS}/pods`, { metadata: { name: "preemptor" }, spec: spec(4, 500) })
  await cluster.until(`${NS}/pods/preemptor`, (pod) => pod?.status.phase === "Running")
  const seen = () =>
    [1, 2, 3].map(
      (n) =>
        watch.events.filter(({ type, object }) => type === "ADDED" && object.metadata.name.startsWith(`rs-pod${n}`))
          .length,
    )
  await watch.until(() => seen()[0] === 2 && seen()[1] === 2)
  await cluster.until(`${APPS}/replicasets/rs-pod3`, (found) => found?.status.readyReplicas === 1)
  expect(seen()).toEqual([2, 2, 1])
  watch.close()
})
