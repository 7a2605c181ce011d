/**
 * Stand-ins for conformance entries that follow objects of one kind from creation to deletion, with controllers,
 * scheduler and nodes whose pods run at once. After test/e2e/apps, apimachinery, auth, common/node, scheduling and
 * storage upstream.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createCa } from "../../../pkg/pki/certificate.ts"
import type { ConformanceCluster, Loose } from "../cluster.ts"
import { SAMPLES } from "../kinds/kinds.ts"
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
const revision = ({ metadata }: Loose) => Number(metadata.resourceVersion)
const imageOf = ({ spec }: Loose) => (spec["containers"] as { image: string }[])[0]!.image
const setImage = (image: string) => ({ spec: { template: { spec: { containers: [{ name: "web", image }] } } } })

test("ServiceAccounts should update a ServiceAccount", async () => {
  const made = await cluster.post(`${NS}/serviceaccounts`, { metadata: { name: "e2e-sa" } })
  expect(made["automountServiceAccountToken"]).toBeUndefined()
  const updated = await cluster.put(`${NS}/serviceaccounts/e2e-sa`, { ...made, automountServiceAccountToken: true })
  expect([updated["automountServiceAccountToken"], revision(updated) > revision(made)]).toEqual([true as unknown, true])
})

test("ResourceQuota should apply changes to a resourcequota status", async () => {
  const ns = await makeNamespace(cluster, "quota-status")
  const path = `${ns}/resourcequotas/e2e-rq-status`
  const amounts = (cpu: string, memory: string) => ({ cpu, memory })
  const shows = (hard: object) => (found: Loose | undefined) => {
    const now = found?.status.hard
    return now !== undefined && JSON.stringify(now) === JSON.stringify(hard)
  }
  const small = amounts("500m", "500Mi")
  const made = await cluster.post(`${ns}/resourcequotas`, {
    metadata: { name: "e2e-rq-status", labels: { "e2e-rq-label": "e2e-rq-status" } },
    spec: { hard: small },
  })
  expect(made.spec["hard"]).toEqual(small)
  const now = await cluster.get(path)
  await cluster.put(`${path}/status`, { ...now, metadata: { name: "e2e-rq-status" }, status: { hard: small } })
  await cluster.until(path, shows(small))
  const larger = amounts("1", "1Gi")
  await cluster.patch(path, "strategic", { spec: { hard: larger } })
  await cluster.patch(`${path}/status`, "strategic", { status: { hard: larger } })
  await cluster.until(path, shows(larger))
  expect((await cluster.get(`${path}/status`)).status.hard).toEqual(larger)
  // a wrong value in the status is corrected by the controller
  const patched = await cluster.patch(`${path}/status`, "strategic", { status: { hard: amounts("2", "2Gi") } })
  expect(patched.status.hard).toEqual(amounts("2", "2Gi"))
  const right = await cluster.until(path, shows(larger))
  expect([right.spec["hard"], right.status.hard]).toEqual([larger, larger])
})

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

test("PersistentVolumes CSI Conformance should run through the lifecycle of a PV and a PVC", async () => {
  const [claims, volumes] = [`${NS}/persistentvolumeclaims`, "/api/v1/persistentvolumes"]
  const create = async (name: string) => {
    await cluster.post(volumes, {
      metadata: { name, labels: { pv: "life" } },
      spec: {
        storageClassName: "life",
        capacity: { storage: "2Gi" },
        accessModes: ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
        csi: { driver: "inline-driver", volumeHandle: "e2e-conformance" },
      },
    })
    await cluster.post(claims, {
      metadata: { name },
      spec: { storageClassName: "life", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    })
  }
  const gone = (path: string) => cluster.until(path, (found) => found === undefined)
  await create("one")
  expect((await cluster.get(`${volumes}?labelSelector=pv%3Dlife`)).items).toHaveLength(1)
  for (const path of [`${volumes}/one`, `${claims}/one`]) {
    const before = await cluster.get(path)
    const patched = await cluster.patch(path, "strategic", { metadata: { labels: { one: "patched" } } })
    expect([patched.metadata.labels?.["one"], revision(patched) > revision(before)]).toEqual(["patched", true])
    expect((await cluster.get(path)).metadata.uid).toBe(before.metadata.uid)
  }
  await cluster.delete(`${claims}/one`)
  await gone(`${claims}/one`)
  await cluster.delete(`${volumes}/one`)
  await gone(`${volumes}/one`)

  await create("two")
  const selector = "labelSelector=two%3Dupdated"
  for (const path of [`${volumes}/two`, `${claims}/two`])
    await cluster.patch(path, "merge", { metadata: { labels: { two: "updated" } } })
  const listed = await cluster.get(`/api/v1/persistentvolumeclaims?${selector}`)
  expect(listed.items).toHaveLength(1)
  for (const path of [claims, volumes]) {
    await cluster.delete(`${path}?${selector}`)
    await cluster.untilList(`${path}?${selector}`, (left) => left.length === 0)
  }
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

test("Certificates API should support CSR API operations", async () => {
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
  const signerName = "example.com/e2e-certificates"
  const { request } = (
    SAMPLES["certificates.k8s.io/v1 certificatesigningrequests"]!.body as { spec: { request: string } }
  ).spec
  const { groups } = (await cluster.get("/apis")) as unknown as { groups: { name: string; versions: object[] }[] }
  const version = { groupVersion: "certificates.k8s.io/v1", version: "v1" }
  expect(groups.find(({ name }) => name === "certificates.k8s.io")?.versions).toContainEqual(version)
  const { resources } = (await cluster.get("/apis/certificates.k8s.io/v1")) as unknown as {
    resources: { name: string }[]
  }
  expect(resources.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["", "/approval", "/status"].map((part) => `certificatesigningrequests${part}`)),
  )
  const create = () =>
    cluster.post(path, {
      metadata: { generateName: "e2e-example-csr-" },
      spec: {
        request,
        signerName,
        expirationSeconds: 3600,
        usages: ["digital signature", "key encipherment", "server auth"],
      },
    })
  await create()
  await create()
  const made = await create()
  const one = `${path}/${made.metadata.name}`
  expect(await cluster.get(one)).toMatchObject({
    metadata: { uid: made.metadata.uid },
    spec: { expirationSeconds: 3600 },
  })
  const ofSigner = `${path}?fieldSelector=spec.signerName%3D${encodeURIComponent(signerName)}`
  const list = await cluster.get(ofSigner)
  expect(list.items).toHaveLength(3)
  const watch = await cluster.watch(
    `${path}?fieldSelector=metadata.name%3D${made.metadata.name}&resourceVersion=${list.metadata.resourceVersion}`,
  )
  const patched = await cluster.patch(one, "merge", { metadata: { annotations: { patched: "true" } } })
  expect([patched.metadata.annotations?.["patched"], revision(patched) > revision(made)]).toEqual(["true", true])
  const updated = await cluster.put(one, {
    ...patched,
    metadata: { ...patched.metadata, annotations: { ...patched.metadata.annotations, updated: "true" } },
  })
  expect(updated.metadata.annotations).toMatchObject({ patched: "true", updated: "true" })
  await watch.until(
    ([event]) => event?.type === "MODIFIED" && event.object.metadata.annotations?.["patched"] === "true",
  )
  watch.close()

  expect(await cluster.get(`${one}/approval`)).toMatchObject({
    kind: "CertificateSigningRequest",
    metadata: { uid: made.metadata.uid },
  })
  const approved = await cluster.patch(`${one}/approval`, "merge", {
    metadata: { annotations: { patchedapproval: "true" } },
    status: { conditions: [{ type: "ApprovalPatch", status: "True", reason: "e2e" }] },
  })
  expect(approved.status.conditions!.map(({ type }) => type)).toEqual(["ApprovalPatch"])
  expect(approved.metadata.annotations).toMatchObject({ patchedapproval: "true" })
  const condition = (type: string) => ({ type, status: "True", reason: "E2E", message: "Set from an e2e test" })
  const both = await cluster.put(`${one}/approval`, {
    ...approved,
    status: { ...approved.status, conditions: [...approved.status.conditions!, condition("Approved")] },
  })
  expect(both.status.conditions!.map(({ type }) => type)).toEqual(["ApprovalPatch", "Approved"])

  expect((await cluster.get(`${one}/status`)).metadata.uid).toBe(made.metadata.uid)
  const { certPem } = createCa({
    commonName: "e2e.example.com",
    validity: { notBefore: new Date("2026-01-01"), notAfter: new Date("2036-01-01") },
  })
  const certificate = Buffer.from(certPem).toString("base64")
  const signed = await cluster.patch(`${one}/status`, "merge", {
    metadata: { annotations: { patchedstatus: "true" } },
    status: { certificate },
  })
  expect([signed.status["certificate"], signed.metadata.annotations?.["patchedstatus"]]).toEqual([certificate, "true"])
  const last = await cluster.put(`${one}/status`, {
    ...signed,
    status: { ...signed.status, conditions: [...signed.status.conditions!, condition("StatusUpdate")] },
  })
  expect(last.status.conditions!.at(-1)).toMatchObject({ type: "StatusUpdate" })

  await cluster.delete(one)
  expect((await cluster.send("GET", one)).code).toBe(404)
  expect((await cluster.get(ofSigner)).items).toHaveLength(2)
  await cluster.delete(ofSigner)
  expect((await cluster.get(ofSigner)).items).toEqual([])
})

describe("ConfigMaps", () => {
  const path = `${NS}/configmaps`
  test("ConfigMap should update ConfigMap successfully", async () => {
    const made = await cluster.post(path, { metadata: { name: "updated" }, data: { "data-1": "value-1" } })
    await cluster.put(`${path}/updated`, { ...made, data: { data: "value" } })
    expect((await cluster.get(`${path}/updated`)).data).toEqual({ data: "value" })
  })

  test("ConfigMap should run through a ConfigMap lifecycle", async () => {
    const labels = { "test-configmap-static": "true" }
    await cluster.post(path, { metadata: { name: "life", labels }, data: { valueName: "value" } })
    const made = await cluster.get(`${path}/life`)
    expect([made.data, made.metadata.labels]).toEqual([{ valueName: "value" }, labels])
    const patched = await cluster.patch(`${path}/life`, "strategic", {
      metadata: { labels: { "test-configmap": "patched" } },
      data: { valueName: "value1" },
    })
    expect(revision(patched)).toBeGreaterThan(revision(made))
    const { items } = await cluster.get("/api/v1/configmaps?labelSelector=test-configmap%3Dpatched")
    expect(items.map(({ metadata, data }) => [metadata.name, metadata.labels, data])).toEqual([
      ["life", { ...labels, "test-configmap": "patched" }, { valueName: "value1" }],
    ])
    const selector = "labelSelector=test-configmap-static%3Dtrue"
    await cluster.delete(`${path}?${selector}`)
    expect((await cluster.get(`${path}?${selector}`)).items).toEqual([])
  })
})
