/**
 * What an object shows for fields that were not sent: nulls, zeros, and their owners. Recorded from Kubernetes 1.36.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "../cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
})
afterAll(() => cluster.stop())

const NS = "namespaces/default"
const pod = { containers: [{ name: "c", image: "i" }] }
const workload = { selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec: pod } }

interface Row {
  readonly title: string
  readonly path: string
  readonly body: object
  /** Written to /status after the object has been made. */
  readonly status?: object
  readonly shown: object
  /** The fields that managedFields has for the last writer. */
  readonly owned?: object
}

const rows: readonly Row[] = [
  {
    title: "the times of an Event",
    path: `/api/v1/${NS}/events`,
    body: { involvedObject: { namespace: "default" } },
    shown: {
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: "",
      reportingInstance: "",
    },
  },
  {
    title: "the times of a new Event",
    path: `/apis/events.k8s.io/v1/${NS}/events`,
    body: {
      eventTime: "2026-01-01T00:00:00.000000Z",
      regarding: { namespace: "default" },
      reportingController: "a.b/c",
      reportingInstance: "c",
      action: "a",
      reason: "r",
      type: "Normal",
    },
    shown: { deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null },
  },
  {
    title: "the rules of a Role",
    path: `/apis/rbac.authorization.k8s.io/v1/${NS}/roles`,
    body: {},
    shown: { rules: null },
  },
  {
    title: "empty rules of a Role",
    path: `/apis/rbac.authorization.k8s.io/v1/${NS}/roles`,
    body: { rules: [] },
    shown: { rules: null },
  },
  {
    title: "the bounds of a LimitRange",
    path: `/api/v1/${NS}/limitranges`,
    body: { spec: {} },
    shown: { spec: { limits: null } },
  },
  {
    title: "the drivers of a CSINode",
    path: "/apis/storage.k8s.io/v1/csinodes",
    body: { spec: { drivers: [{ name: "d", nodeID: "n" }] } },
    shown: { spec: { drivers: [{ name: "d", nodeID: "n", topologyKeys: null }] } },
    owned: {
      "f:spec": { "f:drivers": { 'k:{"name":"d"}': { ".": {}, "f:name": {}, "f:nodeID": {}, "f:topologyKeys": {} } } },
    },
  },
  {
    title: "backends and ports of an EndpointSlice",
    path: `/apis/discovery.k8s.io/v1/${NS}/endpointslices`,
    body: { addressType: "IPv4" },
    shown: { endpoints: null, ports: null },
    owned: { "f:addressType": {} },
  },
  {
    title: "the Service of a StatefulSet",
    path: `/apis/apps/v1/${NS}/statefulsets`,
    body: { spec: workload },
    shown: { spec: { serviceName: "" } },
  },
  {
    title: "the times of a pod's condition",
    path: `/api/v1/${NS}/pods`,
    body: { spec: pod },
    status: { conditions: [{ type: "A", status: "True" }] },
    shown: { status: { conditions: [{ type: "A", status: "True", lastProbeTime: null, lastTransitionTime: null }] } },
    owned: {
      "f:status": {
        "f:conditions": {
          ".": {},
          'k:{"type":"A"}': {
            ".": {},
            "f:lastProbeTime": {},
            "f:lastTransitionTime": {},
            "f:status": {},
            "f:type": {},
          },
        },
      },
    },
  },
  {
    title: "an empty condition of a Deployment",
    path: `/apis/apps/v1/${NS}/deployments`,
    body: { spec: workload },
    status: { conditions: [{}] },
    shown: { status: { conditions: [{ type: "", status: "", lastUpdateTime: null, lastTransitionTime: null }] } },
  },
  {
    title: "an empty condition of a Service",
    path: `/api/v1/${NS}/services`,
    body: { spec: { ports: [{ port: 80 }] } },
    status: { conditions: [{}] },
    shown: { status: { conditions: [{ type: "", status: "", lastTransitionTime: null, reason: "", message: "" }] } },
  },
  {
    title: "the data of a ControllerRevision, which is owned as a whole",
    path: `/apis/apps/v1/${NS}/controllerrevisions`,
    body: { revision: 1, data: { a: 1, b: 2 } },
    shown: { data: { a: 1, b: 2 } },
    owned: { "f:data": {}, "f:revision": {} },
  },
]

test.each(rows)("are shown as upstream does: $title", async ({ path, body, status, shown, owned }) => {
  let found = await cluster.post(path, { metadata: { generateName: "z-" }, ...body })
  if (status !== undefined) found = await cluster.patch(`${path}/${found.metadata.name}/status`, "merge", { status })
  expect(found).toMatchObject(shown)
  expect(await cluster.get(`${path}/${found.metadata.name}`)).toEqual(found)
  if (owned !== undefined) expect(found.metadata.managedFields?.at(-1)).toMatchObject({ fieldsV1: owned })
  // writing the shown object back changes nothing
  const { resourceVersion } = await cluster
    .put(`${path}/${found.metadata.name}`, found)
    .then(({ metadata }) => metadata)
  expect(resourceVersion).toBe(found.metadata.resourceVersion)
})
