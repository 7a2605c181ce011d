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

describe("StatefulSets", () => {
  const path = `${APPS}/statefulsets`
  test("are scaled, have a status that clients can write, and are listed, patched and deleted as a collection", async () => {
    await cluster.post(path, {
      metadata: { name: "ss", labels: { e2e: "ss" } },
      spec: { replicas: 2, serviceName: "test", ...selected("ss") },
    })
    const ready = await cluster.until(`${path}/ss`, (set) => set?.status.readyReplicas === 2)
    expect((await cluster.get(podsOf("ss"))).items.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      "ss-0",
      "ss-1",
    ])
    expect(await cluster.get(`${path}/ss/scale`)).toMatchObject({
      spec: { replicas: 2 },
      status: { replicas: 2, selector: "app=ss" },
    })
    await cluster.put(`${path}/ss/scale`, { ...(await cluster.get(`${path}/ss/scale`)), spec: { replicas: 3 } })
    await cluster.until(`${path}/ss`, (set) => set?.status.readyReplicas === 3)
    await cluster.patch(`${path}/ss/scale`, "merge", { spec: { replicas: 1 } })
    await cluster.untilList(podsOf("ss"), running(1))
    const updatedStatus = await cluster.put(`${path}/ss/status`, {
      ...ready,
      metadata: { ...ready.metadata, resourceVersion: undefined },
      status: { ...ready.status, conditions: [{ type: "StatusUpdate", status: "True" }] },
    })
    expect(condition(updatedStatus, "StatusUpdate")?.status).toBe("True")
    const patchedStatus = await cluster.patch(`${path}/ss/status`, "merge", {
      status: { conditions: [{ type: "StatusPatched", status: "True" }] },
    })
    expect(condition(patchedStatus, "StatusPatched")?.status).toBe("True")
    await cluster.patch(`${path}/ss`, "strategic", {
      metadata: { labels: { patched: "true" } },
      spec: { template: { spec: { containers: [{ name: "web", image: "registry.example/web:2" }] } } },
    })
    await cluster.untilList(podsOf("ss"), (pods) => running(1)(pods) && JSON.stringify(pods[0]!.spec).includes("web:2"))
    await cluster.delete(`${path}?labelSelector=e2e%3Dss`)
    await cluster.untilList(podsOf("ss"), (pods) => pods.length === 0)
  })
})

describe("StatefulSets with unhealthy pods", () => {
  const path = `${APPS}/statefulsets`
  /** Pods with a readiness gate, whose condition the test sets. */
  const gated = (app: string) => ({
    ...selected(app),
    template: { ...template(app), spec: { ...podSpec(), readinessGates: [{ conditionType: "example.com/well" }] } },
  })
  const setReady = async (name: string, status: "True" | "False") => {
    await cluster.until(`${NS}/pods/${name}`, (pod) => condition(pod, "ContainersReady")?.status === "True")
    await cluster.patch(`${NS}/pods/${name}/status`, "strategic", {
      status: { conditions: [{ type: "example.com/well", status }] },
    })
    await cluster.until(`${NS}/pods/${name}`, (pod) => condition(pod, "Ready")?.status === status)
  }
  const names = (pods: readonly Loose[]) => pods.map(({ metadata }) => metadata.name).toSorted()
  const image = (version: number) => ({
    spec: { template: { spec: { containers: [{ name: "web", image: `registry.example/web:${version}` }] } } },
  })

  test("stop scaling up and down until the pods are healthy, and keep the order", async () => {
    await cluster.post(path, {
      metadata: { name: "halt" },
      spec: { replicas: 1, serviceName: "test", ...gated("halt") },
    })
    await setReady("halt-0", "True")
    await cluster.until(`${path}/halt`, (set) => set?.status.readyReplicas === 1)
    await setReady("halt-0", "False")
    await cluster.until(`${path}/halt`, (set) => (set?.status.readyReplicas ?? 0) === 0)
    const from = (await cluster.get(podsOf("halt"))).metadata.resourceVersion
    const watch = await cluster.watch(`${podsOf("halt")}&resourceVersion=${from}`)
    await cluster.patch(`${path}/halt/scale`, "merge", { spec: { replicas: 3 } })
    await cluster.until(`${path}/halt`, (set) => set?.status.observedGeneration === set?.metadata.generation)
    expect(names((await cluster.get(podsOf("halt"))).items)).toEqual(["halt-0"])
    for (const name of ["halt-0", "halt-1", "halt-2"]) await setReady(name, "True")
    await cluster.until(`${path}/halt`, (set) => set?.status.readyReplicas === 3)
    await cluster.patch(`${path}/halt/scale`, "merge", { spec: { replicas: 0 } })
    await cluster.untilList(podsOf("halt"), (pods) => pods.length === 0)
    await watch.until((events) => events.filter(({ type }) => type === "DELETED").length === 3)
    const order = (type: string) =>
      watch.events.filter((event) => event.type === type).map(({ object }) => object.metadata.name)
    expect([order("ADDED"), order("DELETED")]).toEqual([
      ["halt-1", "halt-2"],
      ["halt-2", "halt-1", "halt-0"],
    ])
    watch.close()
  })

  test("continue scaling with podManagementPolicy Parallel", async () => {
    await cluster.post(path, {
      metadata: { name: "burst" },
      spec: { replicas: 1, podManagementPolicy: "Parallel", serviceName: "test", ...gated("burst") },
    })
    await setReady("burst-0", "True")
    await cluster.until(`${path}/burst`, (set) => set?.status.readyReplicas === 1)
    await setReady("burst-0", "False")
    await cluster.patch(`${path}/burst/scale`, "merge", { spec: { replicas: 3 } })
    expect(names(await cluster.untilList(podsOf("burst"), running(3)))).toEqual(["burst-0", "burst-1", "burst-2"])
    await cluster.patch(`${path}/burst/scale`, "merge", { spec: { replicas: 0 } })
    await cluster.untilList(podsOf("burst"), (pods) => pods.length === 0)
  })

  test("are updated from the partition on, rolled back, and recreated when evicted", async () => {
    await cluster.post(path, {
      metadata: { name: "canary" },
      spec: {
        replicas: 3,
        serviceName: "test",
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 3 } },
        ...selected("canary"),
        template: template("canary", "registry.example/web:1"),
      },
    })
    const first = await cluster.until(`${path}/canary`, (set) => set?.status.readyReplicas === 3)
    const versions = async () =>
      (await cluster.get(podsOf("canary"))).items
        .map(({ metadata, spec }): [string, string] => [metadata.name, /web:(\d)/.exec(JSON.stringify(spec))![1]!])
        .toSorted(([a], [b]) => a.localeCompare(b))
    await cluster.patch(`${path}/canary`, "strategic", image(2))
    const updated = await cluster.until(
      `${path}/canary`,
      (set) =>
        set?.status.observedGeneration === set?.metadata.generation &&
        set?.status["updateRevision"] !== first.status["currentRevision"],
    )
    expect([updated.status["currentRevision"], await versions()]).toEqual([
      first.status["currentRevision"],
      [
        ["canary-0", "1"],
        ["canary-1", "1"],
        ["canary-2", "1"],
      ],
    ])
    await cluster.patch(`${path}/canary`, "merge", { spec: { updateStrategy: { rollingUpdate: { partition: 2 } } } })
    await cluster.until(
      `${path}/canary`,
      (set) => set?.status["updatedReplicas"] === 1 && set.status.readyReplicas === 3,
    )
    expect(await versions()).toEqual([
      ["canary-0", "1"],
      ["canary-1", "1"],
      ["canary-2", "2"],
    ])
    const zero = await cluster.get(`${NS}/pods/canary-0`)
    await cluster.delete(`${NS}/pods/canary-0`)
    await cluster.until(
      `${NS}/pods/canary-0`,
      (pod) => pod !== undefined && pod.metadata.uid !== zero.metadata.uid && pod.status.phase === "Running",
    )
    expect(await versions()).toEqual([
      ["canary-0", "1"],
      ["canary-1", "1"],
      ["canary-2", "2"],
    ])
    await cluster.patch(`${path}/canary`, "merge", { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } })
    const rolled = await cluster.until(
      `${path}/canary`,
      (set) => set?.status["currentRevision"] === updated.status["updateRevision"] && set?.status.readyReplicas === 3,
    )
    expect([rolled.status["updateRevision"], await versions()]).toEqual([
      updated.status["updateRevision"],
      [
        ["canary-0", "2"],
        ["canary-1", "2"],
        ["canary-2", "2"],
      ],
    ])
    await cluster.patch(`${path}/canary`, "strategic", image(1))
    const back = await cluster.until(
      `${path}/canary`,
      (set) => set?.status["currentRevision"] === first.status["currentRevision"] && set?.status.readyReplicas === 3,
    )
    expect([back.status["updateRevision"], (await versions()).map(([, version]) => version)]).toEqual([
      first.status["currentRevision"],
      ["1", "1", "1"],
    ])
    const gone = await cluster.get(`${NS}/pods/canary-1`)
    await cluster.patch(`${NS}/pods/canary-1/status`, "merge", { status: { phase: "Failed", reason: "Evicted" } })
    await cluster.until(
      `${NS}/pods/canary-1`,
      (pod) => pod !== undefined && pod.metadata.uid !== gone.metadata.uid && pod.status.phase === "Running",
    )
    await cluster.delete(`${path}/canary`)
  })
})
