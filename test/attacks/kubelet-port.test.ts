import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { Agent } from "node:https"
import { createServer } from "node:net"
import { join } from "node:path"
import { connect as connectTls } from "node:tls"
import { WebSocket } from "ws"
import { openClusterPki, type AuthorityName } from "../../pkg/pki/cluster-pki.ts"
import { connectRemoteCommand } from "../../pkg/streaming/remote-command-client.ts"
import { send, startServer, type TestServer } from "../harness/server.ts"
import { type Identities, type IdentityName, makeIdentities } from "./identities.ts"

/** The node that serves the kubelet's own API. It is not one of the identities' nodes. */
const NODE_NAME = "with-a-port"
const RBAC = "/apis/rbac.authorization.k8s.io/v1"

let server: TestServer
let identities: Identities
let port: number
const agents: Agent[] = []

beforeAll(async () => {
  port = await freePort()
  server = await startServer({
    agent: "simulated",
    flags: ["--node-name", NODE_NAME, "--node-ip", "127.0.0.1", "--kubelet-port", String(port)],
  })
  identities = await makeIdentities(server)
  const { administrator } = identities
  const { status } = await administrator.request("POST", "/api/v1/namespaces/default/pods", {
    body: {
      metadata: { name: "web" },
      spec: {
        nodeName: NODE_NAME,
        automountServiceAccountToken: false,
        containers: [{ name: "c", image: "registry.test/web" }],
      },
    },
  })
  expect(status).toBe(201)
  for (const subresource of RIGHTS.map(({ holder }) => holder)) await grant(subresource, ["get"])
  await untilRunning()
})
afterAll(async () => {
  for (const agent of agents) agent.destroy()
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

async function untilRunning(): Promise<void> {
  const { administrator } = identities
  const watch = "/api/v1/namespaces/default/pods?watch=true&timeoutSeconds=20&fieldSelector=status.phase%3DRunning"
  const { body } = await administrator.request("GET", watch.replace("timeoutSeconds=20", "timeoutSeconds=2"))
  expect(body.toString()).toContain('"phase":"Running"')
}

/** Gives the user named like the subresource the right on that subresource of nodes, and no other right. */
async function grant(subresource: string, verbs: readonly string[]): Promise<void> {
  const { administrator } = identities
  const resources = [`nodes/${subresource}`]
  for (const [kind, body] of [
    ["clusterroles", { metadata: { name: subresource }, rules: [{ apiGroups: [""], resources, verbs }] }],
    [
      "clusterrolebindings",
      {
        metadata: { name: subresource },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: subresource },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: `holder-of-${subresource}` }],
      },
    ],
  ] as const)
    expect((await administrator.request("POST", `${RBAC}/${kind}`, { body })).status).toBe(201)
}

interface Proof {
  readonly headers?: Readonly<Record<string, string>>
  readonly tls?: { readonly cert?: string; readonly key?: string }
}

function certified(commonName: string, organizations: readonly string[] = [], authority: AuthorityName = "client-ca") {
  const pki = openClusterPki({ dir: join(server.dataDir, "server/tls"), now: () => Date.now() })
  const { certPem: cert, keyPem: key } = pki.issue({
    name: "issued",
    authority,
    subject: { commonName, organizations },
    usages: ["client"],
  })
  return { tls: { cert, key } }
}

async function ask(method: string, path: string, { headers = {}, tls = {} }: Proof) {
  const agent = new Agent({ rejectUnauthorized: false, ...tls })
  agents.push(agent)
  const { status, body } = await send(agent, port, method, path, { ...headers })
  return { status, text: body.toString() }
}

/** Paths, each with a path that upstream serves below it, and the rights on nodes of which one suffices. */
const PATHS: readonly { readonly path: string; readonly opens: readonly string[]; readonly method?: string }[] = [
  { path: "/healthz", opens: ["healthz", "proxy"] },
  { path: "/healthz/syncloop", opens: ["healthz", "proxy"] },
  { path: "/pods", opens: ["pods", "proxy"] },
  { path: "/runningpods/", opens: ["pods", "proxy"] },
  { path: "/configz", opens: ["configz", "proxy"] },
  { path: "/stats/summary", opens: ["stats"] },
  { path: "/metrics", opens: ["metrics"] },
  { path: "/metrics/cadvisor", opens: ["metrics"] },
  { path: "/metrics/resource", opens: ["metrics"] },
  { path: "/metrics/probes", opens: ["metrics"] },
  { path: "/logs/", opens: ["log"] },
  { path: "/containerLogs/default/web/c", opens: ["proxy"] },
  { path: "/none", opens: ["proxy"] },
  { path: "/metrics/../containerLogs/default/web/c", opens: ["proxy"] },
  { path: "/stats/%2e%2e/configz", opens: ["configz", "proxy"] },
  { path: "//metrics", opens: ["proxy"] },
  { path: "/metricsx", opens: ["proxy"] },
  { path: "/metrics%2fresource", opens: ["proxy"] },
  // A user with only the right to get cannot start anything.
  { path: "/exec/default/web/c?command=id&output=1", opens: [] },
  { path: "/attach/default/web/c?output=1", opens: [] },
  { path: "/portForward/default/web", opens: [] },
  { path: "/run/default/web/c?cmd=id", opens: [], method: "POST" },
  { path: "/exec/default/web/c?command=id&output=1", opens: [], method: "POST" },
  { path: "/stats/summary", opens: [], method: "POST" },
  { path: "/metrics", opens: [], method: "HEAD" },
]
const RIGHTS = ["healthz", "pods", "configz", "stats", "metrics", "log", "proxy"].map((holder) => ({ holder }))

describe("the kubelet's port", () => {
  test.each<{ who: IdentityName | "front proxy" | "server" | "made-up token"; status: number }>([
    { who: "anonymous", status: 401 },
    { who: "made-up token", status: 401 },
    { who: "front proxy", status: 401 },
    { who: "server", status: 401 },
    { who: "outsider", status: 403 },
    { who: "namespaceAdmin", status: 403 },
    { who: "node", status: 403 },
    { who: "pod", status: 403 },
  ])("answers $who with $status on every path", async ({ who, status }) => {
    const speaking = { "x-remote-user": "system:admin", "x-remote-group": "system:masters" }
    const proof: Proof =
      who === "made-up token"
        ? { headers: { authorization: "Bearer made.up.token" } }
        : who === "front proxy"
          ? { headers: speaking, ...certified("system:auth-proxy", [], "request-header-ca") }
          : who === "server"
            ? certified("system:admin", ["system:masters"], "server-ca")
            : { ...identities[who], headers: { ...speaking, ...identities[who].headers } }
    const answers = await Promise.all(PATHS.map(({ method = "GET", path }) => ask(method, path, proof)))
    expect(answers.map((answer) => answer.status)).toEqual(PATHS.map(() => status))
  })

  test.each(RIGHTS)(
    "serves a user with the right on nodes/$holder what that right covers, and nothing else",
    async ({ holder }) => {
      const proof = certified(`holder-of-${holder}`)
      const answers = await Promise.all(PATHS.map(({ method = "GET", path }) => ask(method, path, proof)))
      const opened = PATHS.filter((_, index) => answers[index]!.status !== 403).map(({ path }) => path)
      expect(opened).toEqual(PATHS.filter(({ opens }) => opens.includes(holder)).map(({ path }) => path))
      expect(answers.map(({ status }) => status).every((status) => [200, 403, 404].includes(status))).toBe(true)
    },
  )

  test("answers the administrator, by a certificate or a token", async () => {
    const byToken = await ask("GET", "/stats/summary", identities.administrator)
    expect(JSON.parse(byToken.text)).toMatchObject({ node: { nodeName: NODE_NAME } })
    const byCertificate = await ask("GET", "/metrics/resource", certified("admin", ["system:masters"]))
    expect(byCertificate.text).toContain("node_memory_working_set_bytes")
    expect(await ask("POST", "/run/default/web/c?cmd=echo%20hello", identities.administrator)).toMatchObject({
      status: 200,
      text: "hello\n",
    })
    expect(await ask("POST", "/metrics", identities.administrator)).toMatchObject({ status: 405 })
    expect(await ask("GET", "/exec/%zz/web/c", identities.administrator)).toMatchObject({ status: 400 })
  })

  test("names the missing right", async () => {
    expect(await ask("GET", "/pods", identities.outsider)).toMatchObject({
      text: "Forbidden (user=outsider, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
    })
    expect((await ask("GET", "/metrics", identities.anonymous)).text).toBe("Unauthorized\n")
  })

  test("has a certificate of the cluster for the node's names and addresses", async () => {
    const ca = readFileSync(join(server.dataDir, "server/tls/server-ca.crt"), "utf8")
    for (const servername of [NODE_NAME, "localhost", "127.0.0.1"]) {
      const checked = await new Promise<boolean>((resolve, reject) => {
        const options = servername === "127.0.0.1" ? {} : { servername }
        const socket = connectTls({ host: "127.0.0.1", port, ca, ...options }, () => {
          resolve(socket.authorized)
          socket.destroy()
        })
        socket.on("error", reject)
      })
      expect(checked).toBe(true)
    }
  })

  test("runs commands over SPDY and WebSockets, for users with the right to create", async () => {
    const { headers } = identities.administrator
    const path = "/exec/default/web/c?command=echo&command=hello&output=1"
    const ca = readFileSync(join(server.dataDir, "server/tls/server-ca.crt"), "utf8")
    const command = await connectRemoteCommand({
      url: `https://127.0.0.1:${port}${path}`,
      tls: { ca },
      headers,
      streams: { stdin: false, stdout: true, stderr: false, tty: false },
    })
    let text = ""
    command.stdout!.on("data", (part: Buffer) => (text += part.toString()))
    expect(await command.status).toMatchObject({ status: "Success" })
    expect(text).toBe("hello\n")

    const said = (options: object, protocols: readonly string[]) =>
      new Promise<string>((resolve) => {
        let heard = ""
        const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, [...protocols], {
          rejectUnauthorized: false,
          ...options,
        })
        socket.on("message", (data: Buffer) => (heard += data[0] === 1 ? data.subarray(1).toString() : ""))
        socket.on("close", () => resolve(heard))
        socket.on("error", (err) => resolve(err.message))
      })
    expect(await said({ headers }, ["v5.channel.k8s.io"])).toBe("hello\n")
    // and with the token among the subprotocols, as browsers have to
    const token = `base64url.bearer.authorization.k8s.io.${Buffer.from(server.token).toString("base64url")}`
    expect(await said({}, ["v4.channel.k8s.io", token])).toBe("hello\n")
    expect(await said({}, ["v4.channel.k8s.io"])).toContain("401")
    expect(await said(certified("holder-of-proxy").tls, ["v4.channel.k8s.io"])).toContain("403")
  })

  test("is the one in the Node's status", async () => {
    const { body } = await identities.administrator.request("GET", `/api/v1/nodes/${NODE_NAME}`)
    expect(JSON.parse(body.toString())).toMatchObject({
      status: { daemonEndpoints: { kubeletEndpoint: { Port: port } } },
    })
  })
})

test("a port in use is reported, and nothing else fails", async () => {
  // given
  const other = createServer()
  await new Promise<void>((listening) => other.listen(0, "0.0.0.0", listening))
  const { port: taken } = other.address() as { port: number }
  // when
  await using without = await startServer({
    agent: "simulated",
    flags: ["--node-name", NODE_NAME, "--node-ip", "127.0.0.1", "--kubelet-port", String(taken)],
  })
  // then
  expect(without.output()).toContain(`Cannot listen on 0.0.0.0:${taken}: the address is in use`)
  expect(without.output()).toContain("--kubelet-port")
  const node = JSON.parse((await without.get(`/api/v1/nodes/${NODE_NAME}`)).body.toString()) as object
  expect(node).toMatchObject({ status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } } } })
  expect((await without.get(`/api/v1/nodes/${NODE_NAME}/proxy/healthz`)).status).toBe(200)
  other.close()
})
