import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE, NODE, POD } from "./identities.ts"
import { CORE, LEASES, makeNodeObjects, OTHER_NODE, selecting, SLICES, STORAGE } from "./node-objects.ts"

let server: TestServer
let identities: Identities

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
  await makeNodeObjects(identities)
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const PODS = "/api/v1/pods"
const OWN = [
  `/api/v1/nodes/${NODE}`,
  `/api/v1/nodes?${selecting("metadata.name", NODE)}`,
  `/api/v1/nodes?watch=true&timeoutSeconds=1&${selecting("metadata.name", NODE)}`,
  `${CORE}/pods/${POD}`,
  `${CORE}/pods?${selecting("metadata.name", POD)}`,
  `${CORE}/pods?${selecting("spec.nodeName", NODE)}`,
  `${PODS}?${selecting("spec.nodeName", NODE)}`,
  `${PODS}?${selecting("status.phase", "Running")},spec.nodeName=${NODE}`,
  `${PODS}?watch=true&timeoutSeconds=1&${selecting("spec.nodeName", NODE)}`,
  `${CORE}/serviceaccounts/user`,
  ...["used", "here-e"].map((name) => `${CORE}/persistentvolumeclaims/${name}`),
  "/api/v1/persistentvolumes/mine",
  `${STORAGE}/volumeattachments/mine`,
  `${SLICES}/mine`,
  `${SLICES}?${selecting("spec.nodeName", NODE)}`,
]
const OTHERS = [
  "/api/v1/nodes",
  "/api/v1/nodes?watch=true",
  `/api/v1/nodes/${OTHER_NODE}`,
  `/api/v1/nodes?${selecting("metadata.name", OTHER_NODE)}`,
  `/api/v1/nodes?${selecting("spec.unschedulable", "false")}`,
  `/api/v1/nodes?fieldSelector=metadata.name!%3D${OTHER_NODE}`,
  `/api/v1/watch/nodes/${OTHER_NODE}`,
  `/api/v1/watch/nodes`,
  `${CORE}/pods`,
  PODS,
  `${CORE}/pods/there`,
  `${PODS}?watch=true`,
  `${PODS}?${selecting("spec.nodeName", OTHER_NODE)}`,
  `${PODS}?${selecting("metadata.name", POD)}`,
  `${CORE}/pods?${selecting("metadata.name", "there")}`,
  `${PODS}?fieldSelector=spec.nodeName!%3D${NODE}`,
  `${PODS}?fieldSelector=spec.nodeName!%3D${OTHER_NODE}`,
  `${PODS}?fieldSelector=spec.nodeName%3D`,
  `${PODS}?labelSelector=spec.nodeName%3D${NODE}`,
  `${PODS}?fieldSelector=&fieldSelector=spec.nodeName%3D${NODE}`,
  `/api/v1/watch/pods?${selecting("spec.nodeName", NODE)}`,
  `/api/v1/watch/namespaces/${NAMESPACE}/pods/there?${selecting("spec.nodeName", NODE)}`,
  `${CORE}/serviceaccounts/theirs`,
  `${CORE}/serviceaccounts`,
  ...["unused", "none"].map((name) => `${CORE}/persistentvolumeclaims/${name}`),
  `${CORE}/persistentvolumeclaims`,
  ...["theirs", "free", "none"].map((name) => `/api/v1/persistentvolumes/${name}`),
  "/api/v1/persistentvolumes",
  `${STORAGE}/volumeattachments/theirs`,
  `${STORAGE}/volumeattachments`,
  `${STORAGE}/csinodes/${OTHER_NODE}`,
  `${STORAGE}/csinodes`,
  `${STORAGE}/csinodes?${selecting("metadata.name", NODE)}`,
  `${SLICES}/theirs`,
  SLICES,
  `${SLICES}?${selecting("spec.nodeName", OTHER_NODE)}`,
  `${SLICES}?${selecting("spec.driver", "gpu.test")}`,
  `${LEASES}/${OTHER_NODE}`,
  LEASES,
  `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${NODE}`,
  ...["secrets", "configmaps"].flatMap((kind) => [
    `${CORE}/${kind}`,
    `/api/v1/${kind}`,
    `${CORE}/${kind}/unused`,
    `${CORE}/${kind}?${selecting("metadata.name", "unused")}`,
    `/api/v1/namespaces/default/${kind}/mounted`,
    `/api/v1/${kind}?${selecting("metadata.name", "mounted")}`,
  ]),
  ...["mounting-theirs", "attaching-mine", "attaching-theirs"].map((name) => `${CORE}/secrets/${name}`),
  `${CORE}/pods/${POD}/log`,
  `/api/v1/nodes/${NODE}/proxy/metrics`,
]
/** Objects that the pod on the node uses and that do not exist: a kubelet is answered 404. */
const USED = [
  ...["pull", "init", "variable", "mounted", "projected", "inline", "mounting-mine"].map((name) => `secrets/${name}`),
  ...["init", "variable", "mounted", "projected"].map((name) => `configmaps/${name}`),
]

describe("a node reads", () => {
  test.each(OWN)("its own: %s", async (path) => {
    const { status } = await identities.node.request("GET", path)
    expect(status).toBe(200)
  })

  test.each(USED)("objects that a pod on it uses: %s", async (what) => {
    const { status } = await identities.node.request("GET", `${CORE}/${what}`)
    expect(status).toBe(404)
  })

  test.each(OTHERS)("no objects of others: %s", async (path) => {
    const { status, body } = await identities.node.request("GET", path)
    expect({ status, text: body.toString() }).toMatchObject({ status: 403, text: expect.stringContaining("forbidden") })
  })

  test("only its own objects in lists, whatever selectors it sends", async () => {
    const { body } = await identities.node.request("GET", `${PODS}?${selecting("spec.nodeName", NODE)}`)
    const { items } = JSON.parse(body.toString()) as { items: { spec: { nodeName: string } }[] }
    expect(items.map(({ spec }) => spec.nodeName)).toEqual([NODE, NODE, NODE])
  })
})

test.each([
  { user: "system:node:", group: "system:nodes", what: "without a name" },
  { user: `system:node:${NODE}`, group: "dev", what: "that is not in the group system:nodes" },
  { user: NODE, group: "system:nodes", what: "whose user name does not begin with system:node:" },
])("a node $what has no rights of a node", async ({ user, group }) => {
  // Who is impersonated as a node without a group is in that of nodes: KEP-5284.
  const headers = { "impersonate-user": user, "impersonate-group": group }
  for (const path of [`/api/v1/nodes/${NODE}`, "/api/v1/services", `${PODS}?${selecting("spec.nodeName", "")}`])
    expect((await identities.administrator.request("GET", path, { headers })).status).toBe(403)
})
