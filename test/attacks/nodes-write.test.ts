import { afterAll, beforeAll, expect, test } from "bun:test"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE, NODE, POD } from "./identities.ts"
import { CORE, LEASES, makeNodeObjects, OTHER_NODE, slice, SLICES, STORAGE } from "./node-objects.ts"

let server: TestServer
let identities: Identities
/** The uid of the pod `here`. */
let podUid: string

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
  podUid = await makeNodeObjects(identities)
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const MERGE = { "content-type": "application/merge-patch+json" }
const mirror = (over: object = {}, spec: object = {}) => ({
  metadata: {
    name: "mirror",
    annotations: { "kubernetes.io/config.mirror": "x" },
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: NODE, uid: "u", controller: true }],
    ...over,
  },
  spec: { nodeName: NODE, containers: [{ name: "c", image: "registry.test/c" }], ...spec },
})
const tokenOf =
  (pod: string, uid: () => string, more: object = {}) =>
  () => ({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: pod, uid: uid() }, ...more },
  })
const WRITES: readonly {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly body?: () => object
}[] = [
  {
    what: "a new Node of another name",
    method: "POST",
    path: "/api/v1/nodes",
    body: () => ({ metadata: { name: "node-c" } }),
  },
  {
    what: "another node's labels",
    method: "PATCH",
    path: `/api/v1/nodes/${OTHER_NODE}`,
    body: () => ({ metadata: { labels: { a: "b" } } }),
  },
  {
    what: "another node's status",
    method: "PATCH",
    path: `/api/v1/nodes/${OTHER_NODE}/status`,
    body: () => ({ status: { capacity: { cpu: "1" } } }),
  },
  { what: "a new ResourceSlice of another node", method: "POST", path: SLICES, body: () => slice("more", OTHER_NODE) },
  {
    what: "an existing ResourceSlice of another node",
    method: "PATCH",
    path: `${SLICES}/theirs`,
    body: () => ({ metadata: {} }),
  },
  { what: "another node's ResourceSlice", method: "DELETE", path: `${SLICES}/theirs` },
  { what: "all ResourceSlices", method: "DELETE", path: SLICES },
  { what: "another Node", method: "DELETE", path: `/api/v1/nodes/${OTHER_NODE}` },
  { what: "its own Node", method: "DELETE", path: `/api/v1/nodes/${NODE}` },
  {
    what: "the taints that another client gave it",
    method: "PATCH",
    path: `/api/v1/nodes/${NODE}`,
    body: () => ({ spec: { taints: [] } }),
  },
  {
    what: "a taint of its own",
    method: "PATCH",
    path: `/api/v1/nodes/${NODE}`,
    body: () => ({ spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }),
  },
  {
    what: "its owner references",
    method: "PATCH",
    path: `/api/v1/nodes/${NODE}`,
    body: () => ({ metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "x", uid: "u" }] } }),
  },
  {
    what: "a label of node-restriction.kubernetes.io",
    method: "PATCH",
    path: `/api/v1/nodes/${NODE}`,
    body: () => ({ metadata: { labels: { "node-restriction.kubernetes.io/x": "y" } } }),
  },
  {
    what: "a label of a node role",
    method: "PATCH",
    path: `/api/v1/nodes/${NODE}`,
    body: () => ({ metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } }),
  },
  { what: "an ordinary pod", method: "POST", path: `${CORE}/pods`, body: () => mirror({ annotations: {} }) },
  {
    what: "a mirror pod of another node",
    method: "POST",
    path: `${CORE}/pods`,
    body: () => mirror({}, { nodeName: OTHER_NODE }),
  },
  {
    what: "a mirror pod without an owner",
    method: "POST",
    path: `${CORE}/pods`,
    body: () => mirror({ ownerReferences: [] }),
  },
  { what: "a mirror pod of another Node object", method: "POST", path: `${CORE}/pods`, body: () => mirror() },
  {
    what: "a mirror pod with a secret",
    method: "POST",
    path: `${CORE}/pods`,
    body: () => mirror({}, { volumes: [{ name: "v", secret: { secretName: "unused" } }] }),
  },
  {
    what: "a pod's spec",
    method: "PATCH",
    path: `${CORE}/pods/${POD}`,
    body: () => ({ spec: { activeDeadlineSeconds: 1 } }),
  },
  { what: "another node's pod", method: "DELETE", path: `${CORE}/pods/there` },
  { what: "all pods", method: "DELETE", path: `${CORE}/pods` },
  {
    what: "the status of another node's pod",
    method: "PATCH",
    path: `${CORE}/pods/there/status`,
    body: () => ({ status: { phase: "Failed" } }),
  },
  {
    what: "the labels of a pod through its status",
    method: "PATCH",
    path: `${CORE}/pods/${POD}/status`,
    body: () => ({ metadata: { labels: { a: "b" } } }),
  },
  {
    what: "an eviction of another node's pod",
    method: "POST",
    path: `${CORE}/pods/there/eviction`,
    body: () => ({ metadata: { name: "there" } }),
  },
  {
    what: "a binding of a pod",
    method: "POST",
    path: `${CORE}/pods/there/binding`,
    body: () => ({ target: { name: NODE } }),
  },
  {
    what: "ephemeral containers of its pod",
    method: "PATCH",
    path: `${CORE}/pods/${POD}/ephemeralcontainers`,
    body: () => ({ spec: {} }),
  },
  {
    what: "a token that is bound to no object",
    method: "POST",
    path: `${CORE}/serviceaccounts/user/token`,
    body: () => ({ spec: {} }),
  },
  {
    what: "a token of another node's pod",
    method: "POST",
    path: `${CORE}/serviceaccounts/theirs/token`,
    body: tokenOf("there", () => "u"),
  },
  {
    what: "a token bound to another node's pod",
    method: "POST",
    path: `${CORE}/serviceaccounts/user/token`,
    body: tokenOf("there", () => "u"),
  },
  {
    what: "a token bound to a pod without its uid",
    method: "POST",
    path: `${CORE}/serviceaccounts/user/token`,
    body: tokenOf("here", () => ""),
  },
  {
    what: "a token for another audience",
    method: "POST",
    path: `${CORE}/serviceaccounts/user/token`,
    body: tokenOf("here", () => podUid, { audiences: ["vault"] }),
  },
  { what: "a new lease of another node", method: "POST", path: LEASES, body: () => ({ metadata: { name: "node-c" } }) },
  {
    what: "an existing lease of another node",
    method: "PATCH",
    path: `${LEASES}/${OTHER_NODE}`,
    body: () => ({ spec: { holderIdentity: NODE } }),
  },
  {
    what: "a lease in another namespace",
    method: "POST",
    path: `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`,
    body: () => ({ metadata: { name: NODE } }),
  },
  {
    what: "a new CSINode of another node",
    method: "POST",
    path: `${STORAGE}/csinodes`,
    body: () => ({ metadata: { name: "node-c" }, spec: { drivers: [] } }),
  },
  { what: "an existing CSINode of another node", method: "DELETE", path: `${STORAGE}/csinodes/${OTHER_NODE}` },
  {
    what: "a claim",
    method: "PATCH",
    path: `${CORE}/persistentvolumeclaims/used`,
    body: () => ({ metadata: { labels: { a: "b" } } }),
  },
  {
    what: "the metadata of a claim through its status",
    method: "PATCH",
    path: `${CORE}/persistentvolumeclaims/used/status`,
    body: () => ({ metadata: { annotations: { a: "b" } } }),
  },
  {
    what: "the status of a claim that no pod on it uses",
    method: "PATCH",
    path: `${CORE}/persistentvolumeclaims/unused/status`,
    body: () => ({ status: { capacity: { storage: "1Gi" } } }),
  },
  {
    what: "a secret that a pod uses",
    method: "POST",
    path: `${CORE}/secrets`,
    body: () => ({ metadata: { name: "pull" } }),
  },
]

test.each(WRITES)("a node cannot write or delete $what", async ({ method, path, body }) => {
  const { status, body: answer } = await identities.node.request(method, path, {
    headers: method === "PATCH" ? MERGE : {},
    ...(body === undefined ? {} : { body: body() }),
  })
  expect({ status, text: answer.toString() }).toMatchObject({ status: 403 })
})

test("a node can write its own objects", async () => {
  const send = async (method: string, path: string, body: object) =>
    (await identities.node.request(method, path, { headers: method === "PATCH" ? MERGE : {}, body })).status
  expect(await send("PATCH", `/api/v1/nodes/${NODE}/status`, { status: { capacity: { cpu: "2" } } })).toBe(200)
  expect(await send("PATCH", `/api/v1/nodes/${NODE}`, { metadata: { labels: { "kubernetes.io/os": "linux" } } })).toBe(
    200,
  )
  expect(await send("PATCH", `${CORE}/pods/here/status`, { status: { phase: "Running" } })).toBe(200)
  expect(await send("POST", LEASES, { metadata: { name: NODE } })).toBe(201)
  expect(await send("PATCH", `${LEASES}/${NODE}`, { spec: { holderIdentity: NODE } })).toBe(200)
  expect(await send("POST", `${STORAGE}/csinodes`, { metadata: { name: NODE }, spec: { drivers: [] } })).toBe(201)
  expect(await send("POST", `${CORE}/serviceaccounts/user/token`, tokenOf("here", () => podUid)())).toBe(201)
  expect(
    await send("PATCH", `${CORE}/persistentvolumeclaims/used/status`, { status: { capacity: { storage: "1Gi" } } }),
  ).toBe(200)
  expect(await send("POST", `${CORE}/pods/here/eviction`, { metadata: { name: "here" } })).toBe(201)
})
