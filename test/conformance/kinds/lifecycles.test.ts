/**
 * Stand-ins for conformance entries that follow objects of one kind from creation to deletion, with controllers,
 * scheduler and nodes whose pods run at once. After test/e2e/apimachinery, auth, common/node and storage upstream.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createCa } from "../../../pkg/pki/certificate.ts"
import type { ConformanceCluster, Loose } from "../cluster.ts"
import { SAMPLES } from "./kinds.ts"
import { makeNamespace, NS, startWorkloadCluster } from "../workloads/workload-cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startWorkloadCluster()
})
afterAll(() => cluster.stop())

const revision = ({ metadata }: Loose) => Number(metadata.resourceVersion)

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
