import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ConformanceCluster, Loose } from "../cluster.ts"
import {
  APPS,
  condition,
  makeNamespace,
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

describe("ReplicationControllers", () => {
  const path = `${NS}/replicationcontrollers`
  test("are created, patched, scaled, and deleted as a collection", async () => {
    await cluster.post(path, {
      metadata: { name: "rc-test", labels: { "test-rc-static": "true" } },
      spec: { replicas: 1, selector: { app: "rc-test" }, template: template("rc-test") },
    })
    await cluster.until(`${path}/rc-test`, (rc) => rc?.status.readyReplicas === 1)
    await cluster.patch(`${path}/rc-test`, "strategic", {
      metadata: { labels: { "test-rc": "patched" } },
      spec: { template: { spec: { terminationGracePeriodSeconds: 0 } } },
    })
    await cluster.patch(`${path}/rc-test/status`, "merge", { status: { readyReplicas: 0, availableReplicas: 0 } })
    await cluster.until(`${path}/rc-test`, (rc) => rc?.status.availableReplicas === 1)
    const scale = await cluster.get(`${path}/rc-test/scale`)
    expect(scale).toMatchObject({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      spec: { replicas: 1 },
      status: { replicas: 1, selector: "app=rc-test" },
    })
    await cluster.put(`${path}/rc-test/scale`, { ...scale, spec: { replicas: 2 } })
    await cluster.until(`${path}/rc-test`, (rc) => rc?.status.availableReplicas === 2)
    await cluster.patch(`${path}/rc-test/scale`, "merge", { spec: { replicas: 1 } })
    await cluster.until(`${path}/rc-test`, (rc) => rc?.status.replicas === 1)
    expect(
      (await cluster.get("/api/v1/replicationcontrollers?labelSelector=test-rc-static%3Dtrue")).items,
    ).toHaveLength(1)
    await cluster.delete(`${path}?labelSelector=test-rc-static%3Dtrue`)
    await cluster.untilList(`${path}?labelSelector=test-rc-static%3Dtrue`, (left) => left.length === 0)
  })

  test("adopt pods that match, and release pods that do not match any more", async () => {
    await cluster.post(`${NS}/pods`, {
      metadata: { name: "pod-adoption", labels: { app: "adopt-rc" } },
      spec: podSpec(),
    })
    const rc = await cluster.post(path, {
      metadata: { name: "adopt-rc" },
      spec: { replicas: 1, selector: { app: "adopt-rc" }, template: template("adopt-rc") },
    })
    await cluster.until(`${NS}/pods/pod-adoption`, (pod) => pod?.metadata.ownerReferences?.[0]?.uid === rc.metadata.uid)
    await cluster.patch(`${NS}/pods/pod-adoption`, "merge", { metadata: { labels: { app: "not-matching" } } })
    await cluster.until(
      `${NS}/pods/pod-adoption`,
      (pod) => pod !== undefined && pod.metadata.ownerReferences === undefined,
    )
    await cluster.untilList(podsOf("adopt-rc"), running(1))
  })

  test("have a condition while a quota prevents their pods, and lose the condition afterwards", async () => {
    const ns = await makeNamespace(cluster, "rc-quota")
    await cluster.post(`${ns}/resourcequotas`, { metadata: { name: "condition-test" }, spec: { hard: { pods: "2" } } })
    await cluster.until(`${ns}/resourcequotas/condition-test`, (quota) => quota?.status.hard?.["pods"] === "2")
    await cluster.post(`${ns}/replicationcontrollers`, {
      metadata: { name: "condition-test" },
      spec: { replicas: 3, selector: { app: "q" }, template: template("q") },
    })
    const failed = await cluster.until(
      `${ns}/replicationcontrollers/condition-test`,
      (rc) => condition(rc, "ReplicaFailure")?.status === "True",
    )
    expect(condition(failed, "ReplicaFailure")).toMatchObject({ reason: "FailedCreate" })
    expect(condition(failed, "ReplicaFailure")!.message).toContain(
      "exceeded quota: condition-test, requested: pods=1, used: pods=2, limited: pods=2",
    )
    await cluster.patch(`${ns}/replicationcontrollers/condition-test`, "merge", { spec: { replicas: 2 } })
    await cluster.until(
      `${ns}/replicationcontrollers/condition-test`,
      (rc) => rc !== undefined && condition(rc, "ReplicaFailure") === undefined,
    )
  })
})

describe("ReplicaSets", () => {
  const path = `${APPS}/replicasets`
  test("are replaced, patched, scaled and deleted as a collection, and have a status subresource", async () => {
    await cluster.post(path, {
      metadata: { name: "rs", labels: { e2e: "rs" } },
      spec: { replicas: 1, ...selected("rs") },
    })
    const ready = await cluster.until(`${path}/rs`, (rs) => rs?.status.readyReplicas === 1)
    expect(await cluster.get(`${path}/rs/status`)).toEqual(ready)
    const withCondition = await cluster.put(`${path}/rs/status`, {
      ...ready,
      status: {
        ...ready.status,
        conditions: [{ type: "StatusUpdate", status: "True", reason: "E2E", message: "Set from e2e test" }],
      },
    })
    expect(condition(withCondition, "StatusUpdate")?.status).toBe("True")
    const patchedStatus = await cluster.patch(`${path}/rs/status`, "merge", {
      status: { conditions: [{ type: "StatusPatched", status: "True" }] },
    })
    expect(condition(patchedStatus, "StatusPatched")?.status).toBe("True")
    await cluster.put(`${path}/rs/scale`, { ...(await cluster.get(`${path}/rs/scale`)), spec: { replicas: 2 } })
    await cluster.until(`${path}/rs`, (rs) => rs?.status.availableReplicas === 2)
    await cluster.patch(`${path}/rs`, "strategic", {
      metadata: { labels: { "test-rs": "patched" } },
      spec: { replicas: 3, template: { spec: { containers: [{ name: "web", image: "registry.example/web:2" }] } } },
    })
    await cluster.until(`${path}/rs`, (rs) => rs?.status.readyReplicas === 3)
    await cluster.delete(`${path}?labelSelector=e2e%3Drs`)
    await cluster.untilList(podsOf("rs"), (pods) => pods.length === 0)
  })

  test("adopt and release pods", async () => {
    await cluster.post(`${NS}/pods`, {
      metadata: { name: "rs-adoption", labels: { app: "adopt-rs" } },
      spec: podSpec(),
    })
    const rs = await cluster.post(path, {
      metadata: { name: "adopt-rs" },
      spec: { replicas: 1, ...selected("adopt-rs") },
    })
    await cluster.until(
      `${NS}/pods/rs-adoption`,
      (pod) =>
        pod?.metadata.ownerReferences?.some(({ uid, controller }) => uid === rs.metadata.uid && controller === true) ===
        true,
    )
    await cluster.patch(`${NS}/pods/rs-adoption`, "merge", { metadata: { labels: { app: "not-matching" } } })
    await cluster.until(
      `${NS}/pods/rs-adoption`,
      (pod) => pod !== undefined && pod.metadata.ownerReferences === undefined,
    )
  })
})

describe("Deployments", () => {
  const path = `${APPS}/deployments`
  const available = (count: number) => (deployment: Loose | undefined) =>
    deployment?.status.availableReplicas === count &&
    deployment.status.observedGeneration === deployment.metadata.generation &&
    deployment.status["updatedReplicas"] === count &&
    deployment.status.replicas === count

  test("are created, updated with status and scale, and deleted", async () => {
    await cluster.post(path, {
      metadata: { name: "life", labels: { "test-deployment-static": "true" } },
      spec: { replicas: 2, ...selected("life") },
    })
    await cluster.until(`${path}/life`, available(2))
    await cluster.patch(`${path}/life`, "strategic", {
      metadata: { labels: { "test-deployment": "patched" } },
      spec: {
        replicas: 1,
        template: {
          spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "web", image: "registry.example/web:2" }] },
        },
      },
    })
    const patched = await cluster.until(`${path}/life`, available(1))
    expect((await cluster.get(`${path}/life/status`)).metadata.uid).toBe(patched.metadata.uid)
    const updatedStatus = await cluster.put(path + "/life/status", {
      ...patched,
      status: {
        ...patched.status,
        conditions: [
          ...patched.status.conditions!,
          { type: "StatusUpdate", status: "True", reason: "E2E", message: "Set from e2e test" },
        ],
      },
    })
    expect(condition(updatedStatus, "StatusUpdate")).toMatchObject({ reason: "E2E", message: "Set from e2e test" })
    const patchedStatus = await cluster.patch(`${path}/life/status`, "merge", {
      status: { conditions: [{ type: "StatusPatched", status: "True" }] },
    })
    expect(condition(patchedStatus, "StatusPatched")?.status).toBe("True")
    await cluster.patch(`${path}/life/scale`, "merge", { spec: { replicas: 3 } })
    await cluster.until(`${path}/life`, available(3))
    expect((await cluster.get(`${path}/life/scale`)).status).toEqual({ replicas: 3, selector: "app=life" })
    expect(
      (await cluster.get("/apis/apps/v1/deployments?labelSelector=test-deployment-static%3Dtrue")).items,
    ).toHaveLength(1)
    await cluster.delete(`${path}?labelSelector=test-deployment-static%3Dtrue`)
    await cluster.untilList(`${APPS}/replicasets?labelSelector=app%3Dlife`, (sets) => sets.length === 0)
  })

  test("adopt a ReplicaSet, roll out another image by RollingUpdate and Recreate, and delete old ReplicaSets", async () => {
    await cluster.post(`${APPS}/replicasets`, {
      metadata: {
        name: "rolling-old",
        labels: { app: "rolling" },
        annotations: { "deployment.kubernetes.io/revision": "3546343826724305832" },
      },
      spec: { replicas: 1, ...selected("rolling") },
    })
    await cluster.untilList(podsOf("rolling"), running(1))
    await cluster.post(path, {
      metadata: { name: "rolling" },
      spec: {
        replicas: 1,
        revisionHistoryLimit: 0,
        ...selected("rolling"),
        template: template("rolling", "registry.example/agnhost:2"),
      },
    })
    const done = await cluster.until(`${path}/rolling`, available(1))
    expect(done.metadata.annotations?.["deployment.kubernetes.io/revision"]).toBe("3546343826724305833")
    const [left] = await cluster.untilList(
      `${APPS}/replicasets?labelSelector=app%3Drolling`,
      (sets) => sets.length === 1,
    )
    expect([left!.metadata.labels?.["pod-template-hash"] === undefined, left!.metadata.annotations]).toEqual([
      false,
      expect.objectContaining({
        "deployment.kubernetes.io/desired-replicas": "1",
        "deployment.kubernetes.io/max-replicas": "2",
      }),
    ])
    await cluster.patch(`${path}/rolling`, "merge", { spec: { strategy: { type: "Recreate", rollingUpdate: null } } })
    await cluster.patch(`${path}/rolling`, "strategic", {
      spec: { template: { spec: { containers: [{ name: "web", image: "registry.example/agnhost:3" }] } } },
    })
    await cluster.until(`${path}/rolling`, available(1))
    const pods = await cluster.untilList(podsOf("rolling"), running(1))
    expect(pods[0]!.spec).toMatchObject({ containers: [{ image: "registry.example/agnhost:3" }] })
  })
})

describe("DaemonSets", () => {
  const path = `${APPS}/daemonsets`
  const scheduled = (count: number) => (set: Loose | undefined) =>
    set?.status["numberReady"] === count &&
    set.status["desiredNumberScheduled"] === count &&
    set.status.observedGeneration === set.metadata.generation

  test("run a pod on each node, replace a deleted one, and follow node labels", async () => {
    await cluster.post(path, { metadata: { name: "ds", labels: { e2e: "ds" } }, spec: selected("ds") })
    await cluster.until(`${path}/ds`, scheduled(2))
    const pods = await cluster.untilList(podsOf("ds"), running(2))
    expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(["node-0", "node-1"]))
    await cluster.delete(`${NS}/pods/${pods[0]!.metadata.name}`)
    await cluster.untilList(
      podsOf("ds"),
      (now) => running(2)(now) && now.every(({ metadata }) => metadata.uid !== pods[0]!.metadata.uid),
    )
    const { status } = await cluster.until(`${path}/ds`, scheduled(2))
    expect(status).toMatchObject({ currentNumberScheduled: 2, numberAvailable: 2, updatedNumberScheduled: 2 })
    const now = await cluster.get(`${path}/ds/status`)
    const updatedStatus = await cluster.put(`${path}/ds/status`, {
      ...now,
      status: { ...now.status, conditions: [{ type: "StatusUpdate", status: "True", reason: "E2E", message: "Set" }] },
    })
    expect(condition(updatedStatus, "StatusUpdate")).toMatchObject({ status: "True", reason: "E2E" })
    const patchedStatus = await cluster.patch(`${path}/ds/status`, "merge", {
      status: { conditions: [{ type: "StatusPatched", status: "True" }] },
    })
    expect(condition(patchedStatus, "StatusPatched")?.status).toBe("True")
    await cluster.patch(`${path}/ds`, "merge", { spec: { template: { spec: { nodeSelector: { color: "blue" } } } } })
    await cluster.untilList(podsOf("ds"), (now) => now.length === 0)
    await cluster.patch("/api/v1/nodes/node-1", "merge", { metadata: { labels: { color: "blue" } } })
    await cluster.until(`${path}/ds`, scheduled(1))
    await cluster.patch("/api/v1/nodes/node-1", "merge", { metadata: { labels: { color: "green" } } })
    await cluster.untilList(podsOf("ds"), (now) => now.length === 0)
    expect((await cluster.get(`/apis/apps/v1/daemonsets?labelSelector=e2e%3Dds`)).items).toHaveLength(1)
    await cluster.delete(`${path}?labelSelector=e2e%3Dds`)
    await cluster.untilList(`${path}?labelSelector=e2e%3Dds`, (left) => left.length === 0)
  })

  test("replace a failed pod, update by RollingUpdate, and keep revisions", async () => {
    await cluster.post(path, {
      metadata: { name: "roll" },
      spec: { ...selected("dsroll"), updateStrategy: { type: "RollingUpdate" } },
    })
    const [first] = await cluster.untilList(podsOf("dsroll"), running(2))
    await cluster.patch(`${NS}/pods/${first!.metadata.name}/status`, "merge", { status: { phase: "Failed" } })
    await cluster.untilList(
      podsOf("dsroll"),
      (now) => running(2)(now) && now.every(({ metadata }) => metadata.uid !== first!.metadata.uid),
    )
    await cluster.patch(`${path}/roll`, "strategic", {
      spec: { template: { spec: { containers: [{ name: "web", image: "registry.example/web:2" }] } } },
    })
    await cluster.until(`${path}/roll`, (set) => set?.status["updatedNumberScheduled"] === 2 && scheduled(2)(set))
    await cluster.untilList(
      podsOf("dsroll"),
      (now) => running(2)(now) && now.every(({ spec }) => JSON.stringify(spec).includes("web:2")),
    )
    const revisions = (await cluster.get(`${APPS}/controllerrevisions?labelSelector=app%3Ddsroll`)).items
    expect(new Set(revisions.map((revision) => revision["revision"]))).toEqual(new Set([1, 2]))
    for (const revision of revisions)
      await cluster.patch(`${APPS}/controllerrevisions/${revision.metadata.name}`, "strategic", {
        metadata: { labels: { patched: "true" } },
      })
    await cluster.delete(`${APPS}/controllerrevisions?labelSelector=patched%3Dtrue`)
    await cluster.patch(`${path}/roll`, "merge", { metadata: { annotations: { look: "again" } } })
    await cluster.untilList(
      `${APPS}/controllerrevisions?labelSelector=app%3Ddsroll`,
      (left) => left.length === 1 && left[0]!["revision"] === (1 as unknown),
    )
    await cluster.delete(`${path}/roll`)
    await cluster.untilList(`${APPS}/controllerrevisions?labelSelector=app%3Ddsroll`, (left) => left.length === 0)
  })
})

describe("Jobs", () => {
  const path = "/apis/batch/v1/namespaces/w/jobs"
  const job = (name: string, more: object = {}) => ({
    metadata: { name, labels: { "e2e-job-label": name } },
    spec: {
      parallelism: 2,
      completions: 4,
      backoffLimit: 6,
      template: { metadata: { labels: { job: name } }, spec: { ...podSpec(), restartPolicy: "Never" } },
      ...more,
    },
  })
  const active = (count: number) => (found: Loose | undefined) => found?.status["active"] === count

  test("are created, updated with their status, and deleted with their pods", async () => {
    await cluster.post(path, job("life"))
    const now = await cluster.until(`${path}/life`, active(2))
    expect(now.metadata.labels).toMatchObject({ "e2e-job-label": "life" })
    const patched = await cluster.patch(`${path}/life/status`, "merge", {
      metadata: { annotations: { patchedstatus: "true" } },
      status: { startTime: now.status["startTime"] },
    })
    expect(patched.metadata.annotations?.["patchedstatus"]).toBe("true")
    const statusNow = await cluster.get(`${path}/life/status`)
    const updated = await cluster.put(`${path}/life/status`, {
      ...statusNow,
      status: {
        ...statusNow.status,
        conditions: [{ type: "StatusUpdate", status: "True", reason: "E2E", message: "Set from e2e test" }],
      },
    })
    expect(condition(updated, "StatusUpdate")).toMatchObject({ status: "True", reason: "E2E" })
    await cluster.patch(`${path}/life`, "strategic", { metadata: { labels: { patched: "true" } } })
    expect((await cluster.get("/apis/batch/v1/jobs?labelSelector=e2e-job-label%3Dlife")).items).toHaveLength(1)
    await cluster.delete(`${path}?labelSelector=e2e-job-label%3Dlife`, { propagationPolicy: "Background" })
    await cluster.untilList(`${NS}/pods?labelSelector=job%3Dlife`, (pods) => pods.length === 0)
    await cluster.post(path, job("gone"))
    await cluster.until(`${path}/gone`, active(2))
    await cluster.delete(`${path}/gone`, { propagationPolicy: "Foreground" })
    await cluster.until(`${path}/gone`, (found) => found === undefined)
    expect((await cluster.get(`${NS}/pods?labelSelector=job%3Dgone`)).items).toEqual([])
  })

  test("are suspended and resumed", async () => {
    await cluster.post(path, job("pause", { suspend: true }))
    await cluster.until(`${path}/pause`, (found) => condition(found, "Suspended")?.status === "True")
    expect((await cluster.get(`${NS}/pods?labelSelector=job%3Dpause`)).items).toEqual([])
    await cluster.patch(`${path}/pause`, "merge", { spec: { suspend: false } })
    await cluster.until(
      `${path}/pause`,
      (found) => active(2)(found) && condition(found, "Suspended")?.status === "False",
    )
    await cluster.delete(`${path}/pause`, { propagationPolicy: "Background" })
  })

  test("adopt orphans, and release pods that do not match any more", async () => {
    const made = await cluster.post(path, job("adopt"))
    const [pod] = await cluster.untilList(`${NS}/pods?labelSelector=job%3Dadopt`, running(2))
    await cluster.patch(`${NS}/pods/${pod!.metadata.name}`, "merge", { metadata: { ownerReferences: null } })
    await cluster.until(
      `${NS}/pods/${pod!.metadata.name}`,
      (found) => found?.metadata.ownerReferences?.[0]?.uid === made.metadata.uid,
    )
    await cluster.patch(`${NS}/pods/${pod!.metadata.name}`, "merge", {
      metadata: {
        labels: {
          "batch.kubernetes.io/job-name": null,
          "job-name": null,
          "controller-uid": null,
          "batch.kubernetes.io/controller-uid": null,
        },
      },
    })
    await cluster.until(
      `${NS}/pods/${pod!.metadata.name}`,
      (found) => found !== undefined && found.metadata.ownerReferences === undefined,
    )
    await cluster.delete(`${path}/adopt`, { propagationPolicy: "Background" })
  })
})
