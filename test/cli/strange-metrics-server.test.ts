import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { Agent, createServer, request } from "node:https"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { startServer, type TestServer } from "../harness/server.ts"

const NODE = "measured"
const RBAC = "/apis/rbac.authorization.k8s.io/v1"
const ROOT = "/apis/metrics.k8s.io/v1beta1"

/**
 * The manifests of metrics-server without its Deployment: a program on this machine stands in for the pod, so the
 * Service leads to this machine. Source: kubernetes-sigs/metrics-server manifests/base.
 */
const MANIFESTS = [
  {
    path: "/api/v1/namespaces/kube-system/serviceaccounts",
    object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "metrics-server" } },
  },
  {
    path: `${RBAC}/clusterroles`,
    object: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "system:metrics-server" },
      rules: [
        { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
        { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
      ],
    },
  },
  {
    path: `${RBAC}/clusterrolebindings`,
    object: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "system:metrics-server" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:metrics-server" },
      subjects: [{ kind: "ServiceAccount", name: "metrics-server", namespace: "kube-system" }],
    },
  },
  {
    path: "/api/v1/namespaces/kube-system/services",
    object: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "metrics-server", labels: { "k8s-app": "metrics-server" } },
      spec: { type: "ExternalName", externalName: "localhost" },
    },
  },
]

/** Asks the node's port as metrics-server does: with its token, and for a certificate of the cluster. */
function scrape(port: number, token: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ ca })
    const req = request(
      { agent, host: "127.0.0.1", port, path: "/metrics/resource", headers: { authorization: `Bearer ${token}` } },
      (res) => {
        let text = ""
        res.on("data", (part: Buffer) => (text += part.toString()))
        res.on("end", () => {
          agent.destroy()
          if (res.statusCode === 200) resolve(text)
          else reject(new Error(`${res.statusCode}: ${text}`))
        })
      },
    )
    req.on("error", reject)
    req.end()
  })
}

const figure = (text: string, name: string): number => Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)![1])

/** A metrics-server: its answers are what the kubelet's port says. `window` tells it from the one in k3ts. */
async function strangeMetricsServer(scraped: () => Promise<string>) {
  const pki = openClusterPki({ now: () => Date.now() })
  const { certPem: cert, keyPem: key } = pki.issue({
    name: "metrics-server",
    authority: "server-ca",
    subject: { commonName: "metrics-server", organizations: [] },
    dnsNames: ["metrics-server.kube-system.svc"],
  })
  const server = createServer({ cert, key }, (req, res) => {
    const send = (body: object) => void res.setHeader("content-type", "application/json").end(JSON.stringify(body))
    if (req.url === ROOT)
      return send({
        kind: "APIResourceList",
        apiVersion: "v1",
        groupVersion: "metrics.k8s.io/v1beta1",
        resources: [
          { name: "nodes", singularName: "", namespaced: false, kind: "NodeMetrics", verbs: ["get", "list"] },
        ],
      })
    if (req.url?.startsWith(`${ROOT}/nodes`) !== true) return void res.writeHead(404).end()
    scraped().then(
      (text) =>
        send({
          kind: "NodeMetricsList",
          apiVersion: "metrics.k8s.io/v1beta1",
          metadata: {},
          items: [
            {
              metadata: { name: NODE },
              timestamp: new Date().toISOString(),
              window: "42s",
              usage: { cpu: "1m", memory: `${figure(text, "node_memory_working_set_bytes")}` },
            },
          ],
        }),
      (err: Error) => void res.writeHead(500).end(err.message),
    )
  })
  await new Promise<void>((listening) => server.listen(0, "localhost", listening))
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Creates an object, as Helm does: one of this name that it has not made would keep it from installing the chart. */
async function create(server: TestServer, path: string, object: { metadata: { name: string } }): Promise<void> {
  const { status } = await server.send("POST", path, object)
  expect({ path, status }).toEqual({ path, status: 201 })
}

test("an installed metrics-server scrapes the node's port and takes the place of the metrics API in k3ts until it is deleted", async () => {
  // given
  const port = await freePort()
  await using server = await startServer({
    agent: "simulated",
    flags: ["--node-name", NODE, "--node-ip", "127.0.0.1", "--kubelet-port", String(port)],
  })
  /** Asks until the metrics have been measured over such a window. */
  const untilWindow = async (window: string): Promise<string> => {
    for (const deadline = performance.now() + 20_000; ;) {
      const { body } = await server.get(`${ROOT}/nodes`)
      if (body.includes(`"window":"${window}"`)) return body.toString()
      if (performance.now() > deadline) throw new Error(body.toString())
    }
  }
  await untilWindow("10s")
  for (const { path, object } of MANIFESTS) await create(server, path, object)
  const { body } = await server.send("POST", `${MANIFESTS[0]!.path}/metrics-server/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {},
  })
  const { status } = JSON.parse(body.toString()) as { status: { token: string } }
  const ca = readFileSync(join(server.dataDir, "server/tls/server-ca.crt"), "utf8")
  const stranger = await strangeMetricsServer(() => scrape(port, status.token, ca))

  // when its APIService is created
  await create(server, "/apis/apiregistration.k8s.io/v1/apiservices", {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1beta1.metrics.k8s.io" },
    spec: {
      group: "metrics.k8s.io",
      version: "v1beta1",
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { namespace: "kube-system", name: "metrics-server", port: stranger.port },
    },
  } as { metadata: { name: string } })

  // then it is asked, and says what it has read from the node's port
  expect(JSON.parse(await untilWindow("42s"))).toMatchObject({
    items: [{ metadata: { name: NODE }, usage: { memory: expect.stringMatching(/^\d+$/) } }],
  })
  // when it is deleted
  const { status: deleted } = await server.send(
    "DELETE",
    "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io",
    {},
  )
  expect(deleted).toBe(200)
  // then the metrics are those of k3ts again
  await untilWindow("10s")
  stranger.stop()
}, 60_000)
