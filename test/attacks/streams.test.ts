import { afterAll, beforeAll, expect, test } from "bun:test"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE, NODE, POD } from "./identities.ts"
import { dial, received } from "./target.ts"

let server: TestServer
let identities: Identities

/** Requests that start something in a pod, by the resource whose rights they need. */
const STREAMS = [
  { resource: "pods/exec", path: `/api/v1/namespaces/${NAMESPACE}/pods/${POD}/exec?command=id&stdout=true` },
  { resource: "pods/attach", path: `/api/v1/namespaces/${NAMESPACE}/pods/${POD}/attach?stdout=true` },
  { resource: "pods/portforward", path: `/api/v1/namespaces/${NAMESPACE}/pods/${POD}/portforward` },
  { resource: "nodes/proxy", path: `/api/v1/nodes/${NODE}/proxy/exec/${NAMESPACE}/${POD}/main?command=id&output=1` },
  { resource: "nodes/proxy", path: `/api/v1/nodes/${NODE}/proxy/attach/${NAMESPACE}/${POD}/main?output=1` },
  { resource: "nodes/proxy", path: `/api/v1/nodes/${NODE}/proxy/portForward/${NAMESPACE}/${POD}` },
  { resource: "nodes/proxy", path: `/api/v1/nodes/${NODE}/proxy/run/${NAMESPACE}/${POD}/main?cmd=id`, post: true },
]

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
  // The outsider may read all that stands behind the streams, and start nothing.
  const { administrator } = identities
  const rbac = "/apis/rbac.authorization.k8s.io/v1"
  const resources = [...new Set(STREAMS.map(({ resource }) => resource))]
  for (const [kind, body] of [
    ["clusterroles", { metadata: { name: "reader" }, rules: [{ apiGroups: [""], resources, verbs: ["get"] }] }],
    [
      "clusterrolebindings",
      {
        metadata: { name: "reader" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: identities.outsider.user }],
      },
    ],
  ] as const)
    expect((await administrator.request("POST", `${rbac}/${kind}`, { body })).status).toBe(201)
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const UPGRADES = [
  { protocol: "websocket", more: "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" },
  { protocol: "SPDY/3.1", more: "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n" },
  { protocol: "a plain request", more: "" },
]

test.each(
  STREAMS.flatMap((stream) =>
    UPGRADES.flatMap((upgrade) =>
      (stream.post === true ? ["POST"] : ["GET", "POST"]).map((method) => ({ ...stream, ...upgrade, method })),
    ),
  ),
)("who may only get $resource starts nothing: $method $path as $protocol", async ({ path, protocol, more, method }) => {
  // given
  const socket = await dial(server, identities.outsider.tls)
  const upgrade =
    protocol === "a plain request" ? "Connection: close\r\n" : `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n${more}`

  // when
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: cluster.test\r\n${upgrade}\r\n`)
  const answer = await received(socket, "}\n")
  socket.destroy()

  // then
  expect(answer).toStartWith("HTTP/1.1 403")
  expect(answer).toContain("cannot create resource")
})

test("a user with the right to get nodes/proxy can still read", async () => {
  const { status, body } = await identities.outsider.request("GET", `/api/v1/nodes/${NODE}/proxy/metrics`)
  expect(status).toBe(503) // allowed, and no kubelet runs here
  expect(body.toString()).toContain("its kubelet is not connected")
})
