/**
 * A server that goes away while kubectl follows something, and comes back. kubectl 1.36.3 says the same and ends with
 * the same codes, before a real server that is killed and started again.
 */
import { expect, test } from "bun:test"
import type { ServerResponse } from "node:http"
import { apiServer, kubectl, type LoopbackServer } from "./loopback.fixtures.ts"

const resource = (name: string, kind: string) => ({
  ...{ name, kind, singularName: kind.toLowerCase(), namespaced: true },
  verbs: ["get", "list", "watch"],
})
const DISCOVERY = {
  "GET /api": { kind: "APIVersions", versions: ["v1"] },
  "GET /apis": {
    kind: "APIGroupList",
    groups: [
      {
        name: "apps",
        versions: [{ groupVersion: "apps/v1", version: "v1" }],
        preferredVersion: { groupVersion: "apps/v1", version: "v1" },
      },
    ],
  },
  "GET /api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [resource("pods", "Pod"), resource("configmaps", "ConfigMap")],
  },
  "GET /apis/apps/v1": {
    kind: "APIResourceList",
    groupVersion: "apps/v1",
    resources: [resource("deployments", "Deployment")],
  },
}

const metadata = (name: string, resourceVersion = "1") => ({
  ...{ name, namespace: "default", uid: "1", resourceVersion, generation: 1 },
})
const POD = { apiVersion: "v1", kind: "Pod", metadata: metadata("a"), spec: { containers: [{ name: "c" }] } }
const ready = (status: string, version: string) => ({
  ...POD,
  metadata: metadata("a", version),
  status: { conditions: [{ type: "Ready", status }] },
})
const deployment = (available: number, version: string) => ({
  ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: metadata("web", version), spec: { replicas: 1 } },
  status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: available },
})
const table = (name: string) => ({
  ...{ kind: "Table", apiVersion: "meta.k8s.io/v1", metadata: { resourceVersion: "1" } },
  columnDefinitions: [{ name: "Name", type: "string", format: "name", description: "", priority: 0 }],
  rows: [
    {
      cells: [name],
      object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: metadata(name) },
    },
  ],
})

/** The object as a watch begins with it, and the mark that this was all. */
function initial(res: ServerResponse, object: { readonly apiVersion: string; readonly kind: string }): void {
  const { apiVersion, kind } = object
  const annotations = { "k8s.io/initial-events-end": "true" }
  const mark = { apiVersion, kind, metadata: { resourceVersion: "1", annotations } }
  for (const event of [
    { type: "ADDED", object },
    { type: "BOOKMARK", object: mark },
  ])
    res.write(`${JSON.stringify(event)}\n`)
}

/** The server is away at the first wait of kubectl, and is back at the third. */
function awayFor(server: LoopbackServer) {
  const waited: number[] = []
  return {
    waited,
    wait: async (ms: number) => {
      if (waited.push(ms) === 3) await server.comeBack()
    },
  }
}

test.each([
  {
    command: "wait --for=condition=Ready pod/a --timeout=60s",
    one: "/api/v1/namespaces/default/pods/a",
    all: "/api/v1/namespaces/default/pods",
    states: [ready("False", "1"), ready("True", "2")],
    says: "pod/a condition met\n",
  },
  {
    command: "rollout status deployment/web",
    one: "/apis/apps/v1/namespaces/default/deployments/web",
    all: "/apis/apps/v1/namespaces/default/deployments",
    states: [deployment(0, "1"), deployment(1, "2")],
    says:
      'Waiting for deployment "web" rollout to finish: 0 of 1 updated replicas are available...\n' +
      'deployment "web" successfully rolled out\n',
  },
])(
  "kubectl $command goes on when the server is back, and says nothing of it",
  async ({ command, one, all, states, says }) => {
    // given a server that goes away after the first state, and comes back with the second
    let watches = 0
    await using server: LoopbackServer = await apiServer({
      ...DISCOVERY,
      [`GET ${one}`]: states[0]!,
      [`watch ${all}`]: (res: ServerResponse) => {
        initial(res, states[watches++]!)
        if (watches === 1) setImmediate(() => void server.leave())
      },
    })
    const { wait, waited } = awayFor(server)

    // when
    const ran = await kubectl(server.port, command, wait)

    // then the wait for the server was a second each time
    expect(ran).toEqual({ code: 0, stdout: says, stderr: "" })
    expect([watches, waited.every((ms) => ms === 1000)]).toEqual([2, true])
  },
)

test("kubectl get --watch ends without a word and with code 0 when the server goes away", async () => {
  // given a server that goes away in the middle of an event
  await using server: LoopbackServer = await apiServer({
    ...DISCOVERY,
    "GET /api/v1/namespaces/default/configmaps": table("a"),
    "watch /api/v1/namespaces/default/configmaps": (res) => {
      res.write(`${JSON.stringify({ type: "ADDED", object: table("b") })}\n{"type":"ADDED","obj`)
      setImmediate(() => void server.leave())
    },
  })
  // when and then
  expect(await kubectl(server.port, "get configmaps --watch")).toEqual({ code: 0, stdout: "NAME\na\nb\n", stderr: "" })
})

test("kubectl logs -f ends with an error when the server goes away, after all that has come", async () => {
  // given a log that is cut off in the middle of a line
  await using server: LoopbackServer = await apiServer({
    ...DISCOVERY,
    "GET /api/v1/namespaces/default/pods/a": POD,
    "GET /api/v1/namespaces/default/pods/a/log": (res) => {
      res.write("first\nsec")
      setImmediate(() => void server.leave())
    },
  })
  // when and then
  const stderr = "unexpected EOF\nerror: unexpected EOF\n"
  expect(await kubectl(server.port, "logs -f a")).toEqual({ code: 1, stdout: "first\nsec", stderr })
})
