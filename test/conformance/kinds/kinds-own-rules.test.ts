/** Defaults, admission and warnings of single kinds, as recorded from Kubernetes 1.36. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "../cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
})
afterAll(() => cluster.stop())

const NS = "/api/v1/namespaces/default"
const APPS = "/apis/apps/v1/namespaces/default"
const JOBS = "/apis/batch/v1/namespaces/default/jobs"
const CLAIMS = `${NS}/persistentvolumeclaims`
const containers = [{ name: "c", image: "i" }]
const workload = {
  selector: { matchLabels: { a: "b" } },
  template: { metadata: { labels: { a: "b" } }, spec: { containers } },
}
const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }

describe("a new object has the defaults of its kind", () => {
  const GENERATION = "deprecated.daemonset.template.generation"
  const job = (labels: object) => ({ template: { metadata: { labels }, spec: { containers, restartPolicy: "Never" } } })
  const set = (updateStrategy: object) => ({ ...workload, updateStrategy })
  const one = { kind: "PersistentVolumeClaim", name: "one" }
  const other = { apiGroup: "x.y", kind: "Z", name: "other" }
  const rows = [
    {
      title: "a StatefulSet without a strategy",
      path: `${APPS}/statefulsets`,
      spec: set({}),
      shown: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } } },
    },
    {
      title: "a StatefulSet with a type alone",
      path: `${APPS}/statefulsets`,
      spec: set({ type: "RollingUpdate" }),
      shown: { updateStrategy: { type: "RollingUpdate", rollingUpdate: undefined } },
    },
    {
      title: "a StatefulSet with an empty rolling update",
      path: `${APPS}/statefulsets`,
      spec: set({ type: "RollingUpdate", rollingUpdate: {} }),
      shown: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } } },
    },
    {
      title: "a DaemonSet that waits for deletions",
      path: `${APPS}/daemonsets`,
      spec: set({ type: "OnDelete", rollingUpdate: {} }),
      shown: { updateStrategy: { type: "OnDelete", rollingUpdate: { maxUnavailable: 0, maxSurge: 0 } } },
    },
    { title: "a Job", path: JOBS, spec: job({}), shown: { manualSelector: false, suspend: false } },
    {
      title: "a claim whose dataSource is another claim",
      path: CLAIMS,
      spec: { ...claim, dataSource: one },
      shown: { dataSource: { apiGroup: null, ...one }, dataSourceRef: { apiGroup: null, ...one } },
    },
    {
      title: "a claim whose dataSourceRef is of any kind",
      path: CLAIMS,
      spec: { ...claim, dataSourceRef: other },
      shown: { dataSource: other, dataSourceRef: other },
    },
    {
      title: "a claim whose dataSource is of an unsupported kind",
      path: CLAIMS,
      spec: { ...claim, dataSource: other },
      shown: { dataSource: undefined, dataSourceRef: undefined },
    },
    {
      title: "a claim whose dataSourceRef is in another namespace",
      path: CLAIMS,
      spec: { ...claim, dataSourceRef: { ...other, namespace: "elsewhere" } },
      shown: { dataSource: undefined, dataSourceRef: undefined },
    },
  ]
  test.each(rows)("$title", async ({ path, spec, shown }) => {
    const made = await cluster.post(path, { metadata: { generateName: "d-" }, spec })
    expect(Object.fromEntries(Object.keys(shown).map((name) => [name, made.spec[name]]))).toEqual(shown)
  })

  test("a Job without labels gets those of its template, including the generated ones", async () => {
    const { metadata } = await cluster.post(JOBS, { metadata: { name: "unlabelled" }, spec: job({ x: "y" }) })
    const labels = {
      x: "y",
      "job-name": "unlabelled",
      "controller-uid": metadata.uid,
      "batch.kubernetes.io/job-name": "unlabelled",
      "batch.kubernetes.io/controller-uid": metadata.uid,
    }
    expect(metadata.labels).toEqual(labels)
    const labelled = await cluster.post(JOBS, {
      metadata: { name: "labelled", labels: { q: "r" } },
      spec: job({ x: "y" }),
    })
    expect(labelled.metadata.labels).toEqual({ q: "r" })
    const cleared = await cluster.patch(`${JOBS}/labelled`, "merge", { metadata: { labels: null } })
    expect(cleared.metadata.labels).toMatchObject({ x: "y", "job-name": "labelled" })
  })

  test("a DaemonSet counts the changes of its template, and clients cannot change that number", async () => {
    const path = `${APPS}/daemonsets/counted`
    const generation = (set: { metadata: { annotations?: Readonly<Record<string, string>> } }) =>
      set.metadata.annotations?.[GENERATION]
    const patch = (body: object, to = path) => cluster.patch(to, "merge", body).then(generation)
    const sent = { [GENERATION]: "9" }
    expect(
      generation(await cluster.post(`${APPS}/daemonsets`, { metadata: { name: "counted" }, spec: workload })),
    ).toBe("1")
    expect(await patch({ metadata: { annotations: sent } })).toBe("1")
    expect(await patch({ metadata: { annotations: null } })).toBe("1")
    expect(await patch({ spec: { minReadySeconds: 3 } })).toBe("1")
    expect(await patch({ spec: { template: { metadata: { labels: { c: "d" } } } } })).toBe("2")
    expect(await patch({ metadata: { annotations: sent }, status: { numberReady: 1 } }, `${path}/status`)).toBe("2")
    const refused = await cluster.send("POST", `${APPS}/daemonsets`, {
      body: { metadata: { name: "bad", annotations: { [GENERATION]: "x" } }, spec: workload },
    })
    expect(refused.body).toMatchObject({
      code: 400,
      message:
        `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing "x": invalid ` +
        "syntax",
    })
  })

  test("a Namespace has its name as a label, which even a write of its status restores", async () => {
    const path = "/api/v1/namespaces/labelled"
    const label = { "kubernetes.io/metadata.name": "labelled" }
    const made = await cluster.post("/api/v1/namespaces", { metadata: { name: "labelled" } })
    expect(made.metadata).toMatchObject({
      labels: label,
      managedFields: [{ fieldsV1: { "f:metadata": { "f:labels": { "f:kubernetes.io/metadata.name": {} } } } }],
    })
    const put = await cluster.put(`${path}/status`, { metadata: { name: "labelled" }, status: { phase: "Active" } })
    expect(put.metadata.labels).toEqual(label)
  })

  test("a node that reports only its capacity offers all of it to pods", async () => {
    const capacity = { cpu: "4", "example.com/dongle": "5" }
    const made = await cluster.post("/api/v1/nodes", { metadata: { name: "whole" }, status: { capacity } })
    expect(made.status["allocatable"]).toEqual(capacity)
    const left = { cpu: "3" }
    await cluster.patch("/api/v1/nodes/whole/status", "merge", { status: { allocatable: null } })
    const told = await cluster.patch("/api/v1/nodes/whole/status", "json", [
      { op: "replace", path: "/status/allocatable", value: left },
    ])
    expect(told.status["allocatable"]).toEqual(left)
  })
})

describe("a claim", () => {
  const grown = { spec: { resources: { requests: { storage: "2Gi" } } } }
  const rows = [
    {
      title: "that is not bound does not grow",
      expandable: true,
      phase: "Pending",
      refused: "Only bound persistent volume claims can be expanded",
    },
    {
      title: "that is bound grows if its class allows expansion",
      expandable: true,
      phase: "Bound",
      refused: undefined,
    },
    {
      title: "does not grow if its class does not allow expansion",
      expandable: false,
      phase: "Bound",
      refused:
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must " +
        "support resize",
    },
  ] as const
  test.each(rows)("$title", async ({ expandable, phase, refused }) => {
    const { metadata: storageClass } = await cluster.post("/apis/storage.k8s.io/v1/storageclasses", {
      metadata: { generateName: "class-" },
      provisioner: "example.com/p",
      allowVolumeExpansion: expandable,
    })
    const spec = { ...claim, storageClassName: storageClass.name }
    const { metadata } = await cluster.post(CLAIMS, { metadata: { generateName: "grow-" }, spec })
    await cluster.patch(`${CLAIMS}/${metadata.name}/status`, "merge", {
      status: { phase, capacity: { storage: "1Gi" } },
    })
    const answer = await cluster.send("PATCH", `${CLAIMS}/${metadata.name}`, {
      body: grown,
      type: "application/merge-patch+json",
    })
    if (refused === undefined) expect(answer.body.spec).toMatchObject(grown.spec)
    else if (phase === "Bound")
      expect(answer.body).toMatchObject({
        code: 403,
        message: `persistentvolumeclaims "${metadata.name}" is forbidden: ${refused}`,
      })
    else expect(answer.code).toBe(422) // the rule that its spec is immutable is checked first
  })
})

test("the priority classes of the system cannot be deleted", async () => {
  for (const name of ["system-node-critical", "system-cluster-critical"])
    expect((await cluster.send("DELETE", `/apis/scheduling.k8s.io/v1/priorityclasses/${name}`)).body).toMatchObject({
      code: 403,
      message:
        `priorityclasses.scheduling.k8s.io "${name}" is forbidden: this is a system priority class and cannot ` +
        "be deleted",
    })
})

test("a write through a subresource causes no warnings about parts that it cannot change", async () => {
  // given
  const spec = { type: "LoadBalancer", ports: [{ port: 80 }], externalIPs: ["192.0.2.1"] }
  const made = await cluster.send("POST", `${NS}/services`, { body: { metadata: { name: "outside" }, spec } })

  // when
  const status = await cluster.send("PATCH", `${NS}/services/outside/status`, {
    body: { status: { loadBalancer: { ingress: [{ ip: "192.0.2.2" }] } } },
    type: "application/merge-patch+json",
  })

  // then
  expect([made, status].map(({ code, headers }) => [code, headers["warning"]])).toEqual([
    [201, '299 - "spec.externalIPs is deprecated and may no longer be implemented in some clusters"'],
    [200, undefined],
  ])
})

test("a CSIDriver with tokenRequests causes a warning to pass them as secrets", async () => {
  const path = "/apis/storage.k8s.io/v1/csidrivers"
  const warning =
    '299 - "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to ' +
    'prevent possible logging of tokens in volume attributes"'
  const made = await cluster.send("POST", path, {
    body: { metadata: { name: "d.example.com" }, spec: { tokenRequests: [{ audience: "a" }] } },
  })
  const unchanged = await cluster.send("PATCH", `${path}/d.example.com`, {
    body: { metadata: { labels: { a: "b" } } },
    type: "application/merge-patch+json",
  })
  expect([made, unchanged].map(({ code, headers }) => [code, headers["warning"]])).toEqual([
    [201, warning],
    [200, undefined],
  ])
})

test("the writer of a Secret's stringData owns the keys of its data", async () => {
  // given
  const secrets = `${NS}/secrets`
  const body = { metadata: { name: "text" }, stringData: { a: "x" } }
  await cluster.send("POST", `${secrets}?fieldManager=maker`, { body })

  // when
  const { body: patched } = await cluster.send("PATCH", `${secrets}/text?fieldManager=patcher`, {
    body: { stringData: { b: "y" } },
    type: "application/merge-patch+json",
  })

  // then
  expect(patched.data).toEqual({ a: "eA==", b: "eQ==" })
  expect(
    Object.fromEntries(patched.metadata.managedFields!.map(({ manager, fieldsV1 }) => [manager, fieldsV1])),
  ).toEqual({
    maker: { "f:data": { ".": {}, "f:a": {} }, "f:type": {} },
    patcher: { "f:data": { "f:b": {} } },
  })
})

test("a time in a map may be null: in JSON, YAML and protobuf, in patches and in applied configurations", async () => {
  // given
  const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
  const type = { apiVersion: "policy/v1", kind: "PodDisruptionBudget" }
  await cluster.post(budgets, { ...type, metadata: { name: "times" }, spec: { minAvailable: 1 } })
  const times = { x: null, y: "2020-01-01T00:00:00Z" }
  // when
  const patched = await cluster.send("PATCH", `${budgets}/times/status?fieldManager=patcher`, {
    body: [{ op: "add", path: "/status/disruptedPods", value: times }],
    type: "application/json-patch+json",
  })
  const applied = await cluster.send("PATCH", `${budgets}/times/status?fieldManager=applier`, {
    body: { ...type, metadata: { name: "times" }, status: { disruptedPods: { z: null } } },
    type: "application/apply-patch+yaml",
  })
  // then
  expect([patched.code, patched.body.status["disruptedPods"]]).toEqual([200, times])
  expect([applied.code, applied.body.status["disruptedPods"]]).toEqual([200, { ...times, z: null }])
  expect(
    applied.body.metadata
      .managedFields!.filter(({ subresource }) => subresource === "status")
      .map((entry) => entry.fieldsV1),
  ).toEqual([
    { "f:status": { "f:disruptedPods": { "f:z": {} } } },
    { "f:status": { "f:disruptedPods": { ".": {}, "f:x": {}, "f:y": {} } } },
  ])
  const yaml = await cluster.send("GET", `${budgets}/times`, { accept: "application/yaml" })
  expect(yaml.text).toContain("  disruptedPods:\n    x: null\n")
  const wire = await cluster.send("GET", `${budgets}/times`, { accept: "application/vnd.kubernetes.protobuf" })
  // The entry of x in protobuf: its key, and an empty time.
  expect(wire.bytes.includes(Buffer.from([0x0a, 1, 0x78, 0x12, 0]))).toBe(true)
  const put = await cluster.send("PUT", `${budgets}/times`, {
    body: wire.bytes,
    type: "application/vnd.kubernetes.protobuf",
  })
  expect([put.code, put.body.status["disruptedPods"]]).toEqual([200, { ...times, z: null }])
})
