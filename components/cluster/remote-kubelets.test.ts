import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { connect } from "node:net"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { ApiError, badRequest } from "../../pkg/apimachinery/errors.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { realClock } from "../../pkg/clock/real.ts"
import type { NodeConnector } from "../../pkg/component/node-connector.ts"
import { silent } from "../../pkg/log/log.ts"
import { connectPortForward } from "../../pkg/streaming/port-forward-client.ts"
import { connectRemoteCommand } from "../../pkg/streaming/remote-command-client.ts"
import { json, startHttpServer } from "../apiserver/serving/http-server.fixtures.ts"
import { machineAddress } from "../apiserver/serving/machine-address.fixtures.ts"
import {
  heardFrom,
  NO_STREAMS,
  POD,
  repeating,
  TALKING_PORTS,
} from "../apiserver/kubelet-client/stream-server.fixtures.ts"
import type { ApiServer } from "../apiserver/apiserver.ts"
import { containerLogs } from "../kubelet/server/container-logs.ts"
import { openKubeletPort, type KubeletPort } from "../kubelet/server/port/kubelet-port.ts"
import { nodeUser } from "./clients.ts"

/** The tunnels that agents have opened, by node. */
const tunnels = new Map<string, () => Promise<ReturnType<typeof connect>>>()
/** The uids of the pods, by name. */
const uids = new Map<string, string>()
let host: Awaited<ReturnType<typeof startHttpServer>>
const kubelets: KubeletPort[] = []

/**
 * Starts the port of a kubelet with a certificate for `name`, which serves `connector` and asks the API server whether
 * a client is allowed.
 */
async function startKubelet(server: ApiServer, name: string, connector: NodeConnector): Promise<number> {
  const { pki } = server.files!
  const { certPem: cert, keyPem: key } = pki.issue({
    name: "serving",
    authority: "server-ca",
    subject: { commonName: `system:node:${name}`, organizations: ["system:nodes"] },
    dnsNames: [name],
  })
  const port = await openKubeletPort({
    client: newClient(server.transportFor({ ...nodeUser(name), groups: ["system:nodes", "system:authenticated"] })),
    clock: realClock,
    log: silent,
    nodeName: name,
    serving: {
      host: "0.0.0.0",
      port: 0,
      certificates: () => ({ cert, key, clientCa: pki.authorities["client-ca"].certPem }),
    },
    connector,
    podOf: (namespace, pod) =>
      ({
        metadata: { namespace, name: pod, uid: uids.get(pod) },
        spec: { containers: [{ name: "c" }] },
      }) as unknown as Pod,
  })
  kubelets.push(port)
  return port.port
}

async function makeNode(name: string, port: number): Promise<void> {
  await host.call("POST", "/api/v1/nodes", json({ metadata: { name } }))
  await host.call("PATCH", `/api/v1/nodes/${name}/status`, {
    headers: { "content-type": "application/merge-patch+json" },
    body: JSON.stringify({
      status: {
        addresses: [{ type: "InternalIP", address: machineAddress() }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    }),
  })
}

async function makePod(name: string, nodeName: string): Promise<void> {
  const { text } = await host.call(
    "POST",
    "/api/v1/namespaces/default/pods",
    json({ metadata: { name }, spec: { nodeName, containers: [{ name: "c", image: "i" }] } }),
  )
  uids.set(name, (JSON.parse(text) as Pod).metadata.uid!)
}

beforeAll(async () => {
  host = await startHttpServer({ tunnelTo: (node) => tunnels.get(node) })
})
afterAll(async () => {
  await Promise.all(kubelets.map((kubelet) => kubelet.stop()))
  await host.stop()
})

const asked: unknown[] = []
const CONNECTOR: NodeConnector = {
  ...NO_STREAMS,
  async logs(pod, options) {
    asked.push(pod, options)
    if (options.previous) throw badRequest('previous terminated container "c" in pod "web" not found')
    return (async function* () {
      yield Buffer.from("one\n")
      yield Buffer.from("two\n")
    })()
  },
  exec: repeating(asked),
  portForward: TALKING_PORTS,
  async proxy(request) {
    const url = new URL(request.url)
    if (!url.pathname.startsWith("/containerLogs/"))
      return Response.json({ path: url.pathname, method: request.method })
    return containerLogs(CONNECTOR.logs, url, request.signal).catch((err: unknown) => {
      const { code, message } = ApiError.from(err)
      return new Response(`${message}\n`, { status: code })
    })
  },
}

describe.each([
  { title: "at its address", node: "direct", isTunnelled: false },
  { title: "through its agent's tunnel", node: "tunnelled", isTunnelled: true },
  { title: "whose node's name has the form of an address", node: "198.51.100.9", isTunnelled: true },
])("a kubelet on another machine, $title", ({ node, isTunnelled }) => {
  beforeAll(async () => {
    const port = await startKubelet(host.server, node, CONNECTOR)
    if (isTunnelled) tunnels.set(node, async () => connect(port, "127.0.0.1"))
    await makeNode(node, isTunnelled ? 0 : port)
    await host.call("DELETE", `${POD}?gracePeriodSeconds=0`)
    await makePod("web", node)
  })
  const dial = () => ({ tls: { ca: host.ca }, headers: { authorization: `Bearer ${host.adminToken}` } })
  const url = (path: string) => `https://127.0.0.1:${host.port}${path}`

  test("returns logs, with the options of the request", async () => {
    asked.length = 0
    const { code, text } = await host.call("GET", `${POD}/log?tailLines=2&timestamps=true&sinceSeconds=9`)
    expect([code, text]).toEqual([200, "one\ntwo\n"])
    expect(asked[1]).toMatchObject({ container: "c", tailLines: 2, timestamps: true, follow: false, sinceSeconds: 9 })
  })

  test("refuses a request with the kubelet's own message", async () => {
    const { code, text } = await host.call("GET", `${POD}/log?previous=true`)
    expect([code, (JSON.parse(text) as { message: string }).message]).toEqual([
      400,
      'previous terminated container "c" in pod "web" not found',
    ])
  })

  test("runs commands with their input, output and exit code", async () => {
    // when
    const streams = { stdin: true, stdout: true, stderr: false, tty: false }
    const command = await connectRemoteCommand({
      url: url(`${POD}/exec?command=cat&command=a%20b&stdin=true&stdout=true`),
      streams,
      ...dial(),
    })
    command.stdin!.end("hello")
    let text = ""
    for await (const part of command.stdout! as AsyncIterable<Buffer>) text += part.toString()
    // then
    expect(text).toBe("hello")
    expect(await command.status).toMatchObject({ status: "Failure", reason: "NonZeroExitCode" })
    expect(asked.at(-1)).toMatchObject({ container: "c", command: ["cat", "a b"], streams })
    command.close()
  })

  test("forwards ports", async () => {
    const forward = await connectPortForward({ url: url(`${POD}/portforward`), ...dial() })
    expect(await heardFrom(forward, 80, "hello")).toBe("port 80 says hello")
    forward.close()
  })

  test("serves the kubelet's own paths", async () => {
    const { code, text } = await host.call("GET", `/api/v1/nodes/${node}/proxy/stats/summary`)
    expect([code, JSON.parse(text)]).toEqual([200, { path: "/stats/summary", method: "GET" }])
  })
})

describe("the API server", () => {
  test("refuses a kubelet whose certificate is for another node, at the address of a node", async () => {
    // given
    await makeNode("victim", await startKubelet(host.server, "attacker", CONNECTOR))
    await makePod("secret", "victim")
    // when
    const { code, text } = await host.call("GET", "/api/v1/namespaces/default/pods/secret/log")
    // then
    expect(code).toBe(500)
    expect(text).not.toContain("one")
  })

  test("reports with upstream's message that a kubelet cannot be reached", async () => {
    // given
    const port = await startKubelet(host.server, "away", CONNECTOR)
    await kubelets.pop()!.stop()
    await makeNode("away", port)
    await makePod("lost", "away")
    // then
    const { code, text } = await host.call("GET", "/api/v1/namespaces/default/pods/lost/log")
    const { message } = JSON.parse(text) as { message: string }
    expect(code).toBe(500)
    expect(message).toBe(
      `Get "https://${machineAddress()}:${port}/containerLogs/default/lost/c": dial tcp ${machineAddress()}:${port}: ` +
        "connect: connection refused",
    )
  })

  test("connects to no loopback address that a Node reports", async () => {
    // given
    const port = await startKubelet(host.server, "liar", CONNECTOR)
    await makeNode("liar", port)
    await host.call("PATCH", "/api/v1/nodes/liar/status", {
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ status: { addresses: [{ type: "InternalIP", address: "127.0.0.1" }] } }),
    })
    await makePod("trap", "liar")
    // then
    const { text } = await host.call("GET", "/api/v1/namespaces/default/pods/trap/log")
    expect((JSON.parse(text) as { message: string }).message).toContain("address not allowed")
  })
})
