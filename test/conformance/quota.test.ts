/** ResourceQuota: what is counted, refused and released. After test/e2e/apimachinery/resource_quota.go. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "./cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => (cluster = await startConformanceCluster({ controllers: true, nodes: 1 })))
afterAll(() => cluster.stop())

/** The same quota as that of newTestResourceQuota upstream. */
const HARD = {
  pods: "5",
  services: "10",
  "services.nodeports": "1",
  "services.loadbalancers": "1",
  replicationcontrollers: "10",
  resourcequotas: "1",
  cpu: "1",
  memory: "500Mi",
  configmaps: "10",
  secrets: "10",
  persistentvolumeclaims: "10",
  "requests.storage": "10Gi",
  "requests.ephemeral-storage": "50Gi",
  "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "10",
  "gold.storageclass.storage.k8s.io/requests.storage": "10Gi",
  "count/replicasets.apps": "5",
  "requests.example.com/dongle": "3",
}
let number = 0
async function quotaNamespace(hard: object = HARD, spec: object = {}) {
  const name = `quota-${number++}`
  const ns = `/api/v1/namespaces/${name}`
  await cluster.post("/api/v1/namespaces", { metadata: { name } })
  await cluster.until(`${ns}/serviceaccounts/default`, (account) => account !== undefined)
  await cluster.until(`${ns}/configmaps/kube-root-ca.crt`, (found) => found !== undefined)
  await cluster.post(`${ns}/resourcequotas`, { metadata: { name: "test-quota" }, spec: { hard, ...spec } })
  const used = (wanted: Record<string, string>) =>
    cluster.until(
      `${ns}/resourcequotas/test-quota`,
      (quota) =>
        quota?.status.hard !== undefined &&
        Object.entries(wanted).every(([key, value]) => quota.status.used?.[key] === value),
    )
  return { name, ns, used }
}
const pod = (name: string, requests: object, limits: object = {}, more: object = {}) => ({
  metadata: { name },
  spec: { ...more, containers: [{ name: "pause", image: "pause", resources: { requests, limits } }] },
})
const code = async (path: string, body: unknown, method = "POST") => (await cluster.send(method, path, { body })).code

test("a quota counts itself promptly", async () => {
  const { used } = await quotaNamespace()
  expect((await used({ resourcequotas: "1" })).status.hard).toEqual(HARD)
})

test("Services are counted, with their node ports and load balancers", async () => {
  const { ns, used } = await quotaNamespace()
  await used({ resourcequotas: "1" })
  const service = (name: string, type: string, more: object = {}) => ({
    metadata: { name },
    spec: { type, ports: [{ port: 80 }], ...more },
  })
  expect(await code(`${ns}/services`, service("a", "ClusterIP"))).toBe(201)
  expect(await code(`${ns}/services`, service("np", "NodePort"))).toBe(201)
  const refused = await cluster.send("POST", `${ns}/services`, {
    body: service("lb", "LoadBalancer", { allocateLoadBalancerNodePorts: true }),
  })
  expect([refused.code, refused.body.message]).toEqual([
    403,
    'services "lb" is forbidden: exceeded quota: test-quota, requested: services.nodeports=1, used: ' +
      "services.nodeports=1, limited: services.nodeports=1",
  ])
  await used({ services: "2", "services.nodeports": "1" })
  for (const name of ["a", "np"]) await cluster.delete(`${ns}/services/${name}`)
  await used({ services: "0", "services.nodeports": "0" })
})

test("Secrets, ConfigMaps, ReplicationControllers, ReplicaSets and claims are counted while they exist", async () => {
  const { name, ns, used } = await quotaNamespace()
  const at = (group: string) => `/apis/${group}/namespaces/${name}`
  const rows: [path: string, body: object, key: string, before: number][] = [
    [`${ns}/secrets`, { data: { "data-1": "dmFsdWUtMQ0K" } }, "secrets", 0],
    [`${ns}/configmaps`, { data: { a: "b" } }, "configmaps", 1],
    [
      `${ns}/replicationcontrollers`,
      {
        spec: {
          replicas: 0,
          selector: { a: "b" },
          template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
        },
      },
      "replicationcontrollers",
      0,
    ],
    [
      `${at("apps/v1")}/replicasets`,
      {
        spec: {
          replicas: 0,
          selector: { matchLabels: { a: "b" } },
          template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
        },
      },
      "count/replicasets.apps",
      0,
    ],
  ]
  for (const [path, body, key, before] of rows) {
    await used({ [key]: String(before) })
    await cluster.post(path, { metadata: { name: "one" }, ...body })
    await used({ [key]: String(before + 1) })
    await cluster.delete(`${path}/one`, { propagationPolicy: "Background" })
    await used({ [key]: String(before) })
  }
  await cluster.post(`${ns}/persistentvolumeclaims`, {
    metadata: { name: "claim" },
    spec: { storageClassName: "gold", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  })
  await used({
    persistentvolumeclaims: "1",
    "requests.storage": "1Gi",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
    "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
  })
  await cluster.delete(`${ns}/persistentvolumeclaims/claim`)
  await used({ persistentvolumeclaims: "0", "requests.storage": "0" })
})

test("a pod is counted with its requests, and cannot change them", async () => {
  const { ns, used } = await quotaNamespace()
  await used({ resourcequotas: "1" })
  const wanted = { cpu: "500m", memory: "252Mi", "ephemeral-storage": "30Gi", "example.com/dongle": "2" }
  const made = await cluster.post(`${ns}/pods`, pod("test-pod", wanted, { "example.com/dongle": "2" }))
  const taken = {
    pods: "1",
    cpu: "500m",
    memory: "252Mi",
    "requests.ephemeral-storage": "30Gi",
    "requests.example.com/dongle": "2",
  }
  await used(taken)
  expect(await code(`${ns}/pods`, pod("fail-pod", { cpu: "600m", memory: "100Mi" }))).toBe(403)
  expect(
    await code(
      `${ns}/pods`,
      pod(
        "fail-extended",
        { cpu: "500m", memory: "100Mi", "ephemeral-storage": "30Gi", "example.com/dongle": "2" },
        { "example.com/dongle": "2" },
      ),
    ),
  ).toBe(403)
  const missing = await cluster.send("POST", `${ns}/pods`, { body: pod("unsaid", {}) })
  expect([missing.code, missing.body.message]).toEqual([
    403,
    'pods "unsaid" is forbidden: failed quota: test-quota: must specify cpu for: pause; memory for: pause',
  ])
  expect(
    await code(
      `${ns}/pods/test-pod`,
      {
        ...made,
        metadata: { ...made.metadata, resourceVersion: undefined },
        spec: {
          ...made.spec,
          containers: [
            {
              name: "pause",
              image: "pause",
              resources: { requests: { cpu: "100m", memory: "100Mi", "ephemeral-storage": "10Gi" } },
            },
          ],
        },
      },
      "PUT",
    ),
  ).toBe(422)
  await used(taken)
  await cluster.delete(`${ns}/pods/test-pod`, { gracePeriodSeconds: 0 })
  await used({
    pods: "0",
    cpu: "0",
    memory: "0",
    "requests.ephemeral-storage": "0",
    "requests.example.com/dongle": "0",
  })
})

test("scopes select pods with a deadline, pods without one, and BestEffort pods", async () => {
  const { ns } = await quotaNamespace({ "count/none.example.com": "1" })
  const quota = async (name: string, hard: object, scopes: string[]) => {
    await cluster.post(`${ns}/resourcequotas`, { metadata: { name }, spec: { hard, scopes } })
    return (used: Record<string, string>) =>
      cluster.until(
        `${ns}/resourcequotas/${name}`,
        (found) =>
          found?.status.hard !== undefined &&
          Object.entries(used).every(([key, value]) => found.status.used?.[key] === value),
      )
  }
  const hard = { pods: "5", "requests.cpu": "1", "requests.memory": "500Mi", "limits.cpu": "2", "limits.memory": "1Gi" }
  const terminating = await quota("quota-terminating", hard, ["Terminating"])
  const lasting = await quota("quota-not-terminating", hard, ["NotTerminating"])
  await terminating({ pods: "0" })
  await lasting({ pods: "0" })
  const [requests, limits] = [
    { cpu: "500m", memory: "200Mi" },
    { cpu: "1", memory: "400Mi" },
  ]
  const taken = {
    pods: "1",
    "requests.cpu": "500m",
    "requests.memory": "200Mi",
    "limits.cpu": "1",
    "limits.memory": "400Mi",
  }
  await cluster.post(`${ns}/pods`, pod("lasting", requests, limits))
  await lasting(taken)
  await terminating({ pods: "0", "requests.cpu": "0" })
  await cluster.delete(`${ns}/pods/lasting`, { gracePeriodSeconds: 0 })
  await lasting({ pods: "0" })
  await cluster.post(`${ns}/pods`, pod("terminating", requests, limits, { activeDeadlineSeconds: 3600 }))
  await terminating(taken)
  await lasting({ pods: "0" })
  await cluster.delete(`${ns}/pods/terminating`, { gracePeriodSeconds: 0 })
  await terminating({ pods: "0" })
  for (const name of ["quota-terminating", "quota-not-terminating"])
    await cluster.delete(`${ns}/resourcequotas/${name}`)

  const best = await quota("quota-besteffort", { pods: "5" }, ["BestEffort"])
  const not = await quota("quota-not-besteffort", { pods: "5" }, ["NotBestEffort"])
  await best({ pods: "0" })
  await not({ pods: "0" })
  await cluster.post(`${ns}/pods`, pod("best", {}))
  await best({ pods: "1" })
  await not({ pods: "0" })
  await cluster.delete(`${ns}/pods/best`, { gracePeriodSeconds: 0 })
  await best({ pods: "0" })
  await cluster.post(`${ns}/pods`, pod("burst", requests, limits))
  await not({ pods: "1" })
  await best({ pods: "0" })
})

test("a quota is updated, patched, found and deleted", async () => {
  const { ns } = await quotaNamespace({ "count/none.example.com": "1" })
  await cluster.post(`${ns}/resourcequotas`, {
    metadata: { name: "e2e-quota", labels: { "e2e-rq-label": "x" } },
    spec: { hard: { cpu: "1", memory: "500Mi" } },
  })
  const now = await cluster.get(`${ns}/resourcequotas/e2e-quota`)
  const updated = await cluster.put(`${ns}/resourcequotas/e2e-quota`, {
    ...now,
    metadata: { ...now.metadata, resourceVersion: undefined },
    spec: { hard: { cpu: "2", memory: "1Gi" } },
  })
  expect(updated.spec).toEqual({ hard: { cpu: "2", memory: "1Gi" } })
  await cluster.patch(`${ns}/resourcequotas/e2e-quota`, "strategic", {
    metadata: { labels: { "e2e-quota": "patched" } },
    spec: { hard: { memory: "750Mi" } },
  })
  expect(
    (await cluster.get("/api/v1/resourcequotas?labelSelector=e2e-quota%3Dpatched")).items.map(
      ({ spec }) => spec["hard"],
    ),
  ).toEqual([{ cpu: "2", memory: "750Mi" }])
  await cluster.delete(`${ns}/resourcequotas?labelSelector=e2e-quota%3Dpatched`)
  expect((await cluster.get("/api/v1/resourcequotas?labelSelector=e2e-quota%3Dpatched")).items).toEqual([])
})

test("a status that another client writes is corrected", async () => {
  const { ns } = await quotaNamespace({ "count/none.example.com": "1" })
  const path = `${ns}/resourcequotas/status-quota`
  await cluster.post(`${ns}/resourcequotas`, {
    metadata: { name: "status-quota" },
    spec: { hard: { cpu: "500m", memory: "500Mi" } },
  })
  await cluster.until(path, (quota) => quota?.status.hard?.["cpu"] === "500m")
  const patched = await cluster.patch(`${path}/status`, "merge", {
    metadata: { annotations: { a: "b" } },
    status: { hard: { cpu: "1", memory: "1Gi" } },
  })
  expect(patched.status.hard).toEqual({ cpu: "1", memory: "1Gi" })
  await cluster.until(
    path,
    (quota) => quota?.status.hard?.["cpu"] === "500m" && quota.status.hard["memory"] === "500Mi",
  )
})
