/** What an attacker can do with a token of agents, or with the files on the disk of an agent. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { certificateKinds } from "../../components/cluster/agent-identities.ts"
import { SUPERVISOR_PATHS } from "../../components/supervisor/supervisor-paths.ts"
import { AgentFiles } from "../../components/supervisor/agent/agent-files.ts"
import { Membership } from "../../components/supervisor/agent/membership.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import { signedRequest } from "../../pkg/pki/request/certificate-request.fixtures.ts"
import { membershipIn } from "../../pkg/pki/node-membership.ts"
import { agentToken } from "../harness/agent.ts"
import { send, startServer, type TestServer } from "../harness/server.ts"

const NODE = "stolen"
const VOLUMES = "/api/v1/persistentvolumes"
const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
const JSON_BODY = { "content-type": "application/json" }
const MERGE = "application/merge-patch+json"

let server: TestServer
let folder: string
let membership: Membership
beforeAll(async () => {
  server = await startServer()
  folder = mkdtempSync(join(tmpdir(), "k3ts-attacks-"))
  membership = await joined(NODE)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** A machine that has joined, and has registered its Node. */
async function joined(nodeName: string): Promise<Membership> {
  const dir = join(folder, nodeName)
  const made = new Membership({
    files: new AgentFiles(dir, join(dir, "password")),
    token: agentToken(server),
    nodeName,
    nodeIps: () => ["192.0.2.7"],
    clock: realClock,
    random: systemRandom,
    log: silent,
  })
  await made.refresh(`https://127.0.0.1:${server.port}`)
  const asKubelet = by(made, "kubelet")
  expect(await asKubelet("POST", "/api/v1/nodes", { metadata: { name: nodeName } })).toBe(201)
  asKubelet.agent.destroy()
  return made
}

/**
 * Returns a function that sends requests with one of a machine's certificates, over one connection, and returns the
 * status.
 */
function by(machine: Membership, kind: string) {
  const { certPem: cert, keyPem: key } = machine.certificate(kind)
  return asking({ cert, key })
}

function asking(certificate: { readonly cert: string; readonly key: string } | undefined) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false, ...certificate })
  const ask = async (method: string, path: string, body?: object, headers = JSON_BODY): Promise<number> =>
    (await send(agent, server.port, method, path, headers, body === undefined ? undefined : JSON.stringify(body)))
      .status
  return Object.assign(ask, { agent })
}

/** Sets what a provisioner waits for in a claim: the provisioner of the class, and the node of the pod. */
async function claim(name: string, selected: string): Promise<string> {
  const annotations = {
    "volume.kubernetes.io/storage-provisioner": "rancher.io/local-path",
    "volume.kubernetes.io/selected-node": selected,
  }
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
  const { status, body } = await server.send("POST", CLAIMS, { metadata: { name, annotations }, spec })
  expect(status).toBe(201)
  return (JSON.parse(body.toString()) as { metadata: { uid: string } }).metadata.uid
}

const volume = (
  name: string,
  uid: string,
  node: string,
  { reached = node, ...spec }: Record<string, unknown> = {},
) => ({
  metadata: {
    name: `pv-${name}`,
    annotations: {
      "pv.kubernetes.io/provisioned-by": "rancher.io/local-path",
      "local.path.provisioner/selected-node": node,
    },
  },
  spec: {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    persistentVolumeReclaimPolicy: "Delete",
    hostPath: { path: "/var/lib/x" },
    claimRef: { namespace: "default", name, uid },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [reached] }] },
        ],
      },
    },
    ...spec,
  },
})

describe("a machine without a token", () => {
  test("gets the certificates of the authorities from the supervisor, and nothing else", async () => {
    const nobody = asking(undefined)
    const paths = [
      SUPERVISOR_PATHS.authorities,
      SUPERVISOR_PATHS.config,
      `${SUPERVISOR_PATHS.certificates}kubelet`,
      `${SUPERVISOR_PATHS.certificates}../config`,
    ]
    expect(await Promise.all(paths.map((path) => nobody("GET", path)))).toEqual([200, 401, 401, 401])
    expect(await nobody("POST", `${SUPERVISOR_PATHS.certificates}kubelet`, {})).toBe(401)
    nobody.agent.destroy()
  })
})

describe("a user with the certificates of a machine", () => {
  test("writes, changes and deletes no volume of another node, nor one that other nodes would mount", async () => {
    // given a volume of another node, and claims that wait for each node
    const [own, foreign] = [await claim("own", NODE), await claim("foreign", "other")]
    const theirs = volume("theirs", foreign, "other")
    expect((await server.send("POST", VOLUMES, theirs)).status).toBe(201)
    const ask = by(membership, "local-storage")
    // then
    const patch = { "content-type": MERGE }
    for (const [refused, made] of [
      ["for a claim that waits for another", volume("foreign", foreign, NODE)],
      ["for a claim that is not there", volume("own", "0-0", NODE)],
      ["in the name of another", volume("own", own, "other")],
      ["reached from others", volume("own", own, NODE, { reached: "other" })],
      ["reached from everywhere", volume("own", own, NODE, { nodeAffinity: null })],
      ["of no local folder", volume("own", own, NODE, { hostPath: null, nfs: { server: "h", path: "/" } })],
    ] as const)
      expect([refused, await ask("POST", VOLUMES, made)]).toEqual([refused, 403])
    const other = { metadata: { annotations: { "local.path.provisioner/selected-node": NODE } } }
    expect(await ask("PUT", `${VOLUMES}/pv-theirs`, { ...theirs, spec: { ...theirs.spec, ...other } })).toBe(403)
    expect(await ask("PATCH", `${VOLUMES}/pv-theirs`, other, patch)).toBe(403)
    expect(await ask("DELETE", `${VOLUMES}/pv-theirs`)).toBe(403)
    // and it makes and deletes its own
    expect(await ask("POST", VOLUMES, volume("own", own, NODE))).toBe(201)
    expect(await ask("DELETE", `${VOLUMES}/pv-own`)).toBe(200)
    ask.agent.destroy()
  })

  test("changes no claim of another node, and of its own only that it has selected the node", async () => {
    await claim("waits-here", NODE)
    await claim("waits-there", "other")
    const ask = by(membership, "local-storage")
    const put = async (name: string, change: object) => {
      const found = JSON.parse((await server.get(`${CLAIMS}/${name}`)).body.toString()) as {
        metadata: { annotations: Record<string, string> }
      }
      const { "volume.kubernetes.io/selected-node": _, ...annotations } = found.metadata.annotations
      return ask("PUT", `${CLAIMS}/${name}`, { ...found, metadata: { ...found.metadata, annotations, ...change } })
    }
    expect(await put("waits-there", {})).toBe(403)
    expect(await put("waits-here", { labels: { a: "b" } })).toBe(403)
    expect(await put("waits-here", {})).toBe(200)
    ask.agent.destroy()
  })

  test("gets no certificate from the API that is valid longer", async () => {
    const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    const ask = by(membership, "kubelet")
    const spec = {
      request: signedRequest(`system:node:${NODE}`, "system:nodes"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "key encipherment", "client auth"],
    }
    expect(await ask("POST", requests, { metadata: { name: "more" }, spec })).toBe(201)
    const conditions = [{ type: "Approved", status: "True", reason: "Asked", message: "" }]
    await server.send("PATCH", `${requests}/more/approval`, { status: { conditions } }, MERGE)
    let signed: string | undefined
    while (signed === undefined) {
      const { body } = await server.get(`${requests}/more`)
      signed = (JSON.parse(body.toString()) as { status: { certificate?: string } }).status.certificate
    }
    const own = membershipIn(Buffer.from(membership.certificate("kubelet").certPem))
    expect(own?.node).toBe(NODE)
    expect(membershipIn(Buffer.from(signed, "base64"))).toEqual(own!)
    ask.agent.destroy()
  })

  test("loses its rights when the Node is deleted, and its open watches are closed", async () => {
    // given another machine with open connections
    const machine = await joined("leaving")
    const asks = certificateKinds([]).map((kind) => by(machine, kind))
    const review = (ask: (typeof asks)[number]) =>
      ask("POST", REVIEWS, { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }).catch(() => 0)
    expect(new Set(await Promise.all(asks.map(review)))).toEqual(new Set([201]))
    const watching = watch(machine, "/api/v1/services?watch=true")
    await watching.began
    // when its membership ends, by the way that needs no wait until a machine may have no Node any more
    await server.send("DELETE", "/api/v1/namespaces/kube-system/secrets/leaving.node-password.k3ts", {})
    await watching.ended
    // then
    expect(new Set(await Promise.all(asks.map(review)))).toEqual(new Set([401]))
    expect(await asks[0]!("GET", SUPERVISOR_PATHS.config)).toBe(401)
    for (const { agent } of asks) agent.destroy()
  })
})

/** A watch by the certificate of kube-proxy. */
function watch(machine: Membership, path: string) {
  const { certPem: cert, keyPem: key } = machine.certificate("kube-proxy")
  const req = request({
    host: "127.0.0.1",
    port: server.port,
    path,
    cert,
    key,
    rejectUnauthorized: false,
    agent: false,
  })
  req.on("error", () => undefined)
  req.end()
  const began = once(req, "response").then(([answer]) => answer as NodeJS.ReadableStream)
  const ended = began.then(async (answer) => {
    answer.on("error", () => undefined) // how a connection that is cut off ends
    answer.resume()
    await new Promise<void>((resolve) => answer.once("close", resolve))
  })
  return { began, ended }
}
