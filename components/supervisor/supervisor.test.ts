/** Tests both ends of joining: the supervisor of a server, and the membership of a machine. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { X509Certificate } from "node:crypto"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Cluster } from "../cluster/testing/testing.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { nodePasswordSecret } from "../../pkg/api/core/v1/secret/node-password.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import type { Client } from "../../pkg/client/client.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import { newPrivateKey } from "../../pkg/pki/certificate.ts"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { makeCertificateRequest } from "../../pkg/pki/request/make-request.ts"
import { subjectOf } from "../../pkg/pki/der/subject.ts"
import { answer, listenTls, type Listener } from "../../pkg/runtime/http/listen.ts"
import {
  API_SERVER,
  clusterWithAnotherServer,
  listenAsSupervisor,
  PASSWORD,
  pki,
  token,
} from "./supervisor.fixtures.ts"
import { SUPERVISOR_PATHS, NODE_HEADERS, SERVING } from "./supervisor-paths.ts"
import { AgentFiles } from "./agent/agent-files.ts"
import { askSupervisor, SupervisorRefused, upgradeAtSupervisor } from "./agent/ask-supervisor.ts"
import { Membership } from "./agent/membership.ts"
import { authorizationOf } from "./join-token.ts"
import { NodePasswords } from "./node-passwords.ts"
import { TUNNEL_PROTOCOL } from "./tunnel/protocol.ts"

const DAY_MS = 86_400_000

let cluster: Cluster
let listener: Listener
const strangers: Listener[] = []
let server: string
/** How far the clocks of server and machine are ahead of the real time, in milliseconds. */
let ahead = 0
const clock = { ...realClock, now: () => realClock.now() + ahead }
/** The verification of a token waits for this promise. */
let held: (() => Promise<void>) | undefined
let folder: string
/** What the audit log would be told of each request. */
let noted: string[][] = []
beforeAll(async () => void (cluster = await clusterWithAnotherServer()))
afterAll(() => cluster[Symbol.asyncDispose]())
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-supervisor-"))
  noted = []
  listener = await listenAsSupervisor(cluster, clock, () => held?.(), noted)
  server = `https://127.0.0.1:${listener.port}`
})
afterEach(async () => {
  ahead = 0
  held = undefined
  await Promise.all(strangers.splice(0).map((stranger) => stranger.stop()))
  await listener.stop({ graceMs: 0 })
  rmSync(folder, { recursive: true })
  for (const { metadata } of (await cluster.client.list(Node)).items) await cluster.client.delete(Node, metadata)
  const { items } = await cluster.client.list(Secret, { namespace: "kube-system" })
  for (const { metadata } of items) await cluster.client.delete(Secret, metadata)
})

/** A machine with a disk of its own. */
const machine = (name: string, options: Partial<ConstructorParameters<typeof Membership>[0]> = {}) =>
  new Membership({
    files: new AgentFiles(join(folder, name), join(folder, name, "password")),
    token,
    nodeName: "web",
    nodeIps: () => ["192.0.2.7"],
    clock,
    random: systemRandom,
    log: silent,
    ...options,
  })
const refusal = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => "nothing was refused",
    (err: unknown) => (err instanceof SupervisorRefused ? `${err.status} ${err.message}` : `an error: ${String(err)}`),
  )
const register = (name: string) => cluster.client.create(Node, { metadata: { name } })

describe("a machine that joins", () => {
  test("gets a certificate for each of its components, whose keys only root can read", async () => {
    // given
    const membership = machine("a")
    // when
    expect(await membership.refresh(server)).toBe(true)
    // then
    expect(subjectOf(membership.certificate("kubelet").certPem)).toEqual({
      commonName: "system:node:web",
      organizations: ["system:nodes"],
    })
    expect(subjectOf(membership.certificate("kube-proxy").certPem).commonName).toBe("system:kube-proxy")
    expect(new X509Certificate(membership.certificate(SERVING).certPem).subjectAltName).toBe(
      "DNS:web, IP Address:192.0.2.7",
    )
    expect(statSync(join(folder, "a/agent/client-kubelet.key")).mode & 0o777).toBe(0o600)
    // then the machine also starts without a server and without a token
    expect(machine("a", { token: undefined }).isComplete).toBe(true)
    // and a second refresh asks for no certificate
    expect(await machine("a").refresh(server)).toBe(false)
  })

  test("is named in the audit log with the token that it shows and the certificates that it gets", async () => {
    // when
    await machine("a").refresh(server)
    await refusal(machine("b", { token: token.replace(PASSWORD, "wrong") }).refresh(server))
    // then
    const certificate = (kind: string) => [
      `sender ${kind === "kubelet" ? "k3ts:join-token:node" : "system:node:web"}`,
      `k3ts.io/certificate ${kind}`,
      "k3ts.io/node web",
    ]
    expect(noted[0]).toEqual(["sender system:anonymous"]) // it reads the CA
    for (const kind of ["kubelet", "kube-proxy", SERVING]) expect(noted).toContainEqual(certificate(kind))
    expect(noted.at(-1)).toEqual(["refused Unauthorized"])
  })

  test("is named in the audit log with the tunnel that it opens", async () => {
    // given
    const membership = machine("a")
    await membership.refresh(server)
    const open = (kind: string, protocol: string) => {
      const { certPem: cert, keyPem: key } = membership.certificate(kind)
      const call = { clock, server, path: SUPERVISOR_PATHS.tunnel, ca: pki.authorities["server-ca"].certPem }
      return upgradeAtSupervisor({ ...call, protocol, signal: AbortSignal.any([]), certificate: { cert, key } })
    }
    // when
    const { socket } = await open("kubelet", TUNNEL_PROTOCOL)
    // then
    expect(noted.at(-1)).toEqual(["sender system:node:web", "upgraded"])
    socket.destroy()
    expect(await refusal(open("kubelet", "websocket"))).toStartWith("400")
    expect(noted.at(-1)).toEqual(["sender system:node:web", "refused BadRequest"])
    expect(await refusal(open("kube-proxy", TUNNEL_PROTOCOL))).toStartWith("401")
    expect(noted.at(-1)).toEqual(["refused Unauthorized"])
  })

  test("renews certificates with less than a third of their lifetime left, authenticated by its certificate only", async () => {
    await machine("a").refresh(server)
    await register("web")
    const renewing = machine("a", { token: undefined })
    const before = renewing.certificate("kubelet").certPem
    ahead = 250 * DAY_MS
    expect(await renewing.refresh(server)).toBe(true)
    expect(renewing.certificate("kubelet").certPem).not.toBe(before)
    // but not when its Node is gone
    await cluster.client.delete(Node, { name: "web" })
    ahead = 500 * DAY_MS
    rmSync(join(folder, "a/agent/client-kube-proxy.key"))
    expect(await refusal(machine("a", { token: undefined }).refresh(server))).toContain("401")
  })

  test("cannot take the node name of another machine until the Node of that name is deleted", async () => {
    // given a machine that has joined
    await machine("a").refresh(server)
    // then another machine with the same name is refused, even while the first one has no Node yet
    const taken = "the name web belongs to another machine"
    expect(await refusal(machine("b").refresh(server))).toContain(taken)
    await register("web")
    ahead = 120_000
    expect(await refusal(machine("b").refresh(server))).toContain(taken)
    // and it is accepted when the Node has been deleted
    await cluster.client.delete(Node, { name: "web" })
    expect(await machine("b").refresh(server)).toBe(true)
    // and no machine gets the name of a Node whose kubelet did not join through the supervisor
    await register("server")
    expect(await refusal(machine("c", { nodeName: "server" }).refresh(server))).toContain("the name server belongs to")
  })

  test("gets all its certificates again, by its token, when its Node has been deleted", async () => {
    // given
    const membership = machine("a")
    await membership.refresh(server)
    await register("web")
    const kinds = ["kubelet", "kube-proxy", SERVING]
    const certificates = () => kinds.map((kind) => membership.certificate(kind).certPem)
    const before = certificates()
    expect(await membership.refresh(server)).toBe(false)
    // when
    await cluster.client.delete(Node, { name: "web" })
    ahead = 120_000
    expect(await refusal(machine("a", { token: undefined }).refresh(server))).toContain("the node web is gone")
    ahead = 0
    await cluster.client.delete(Secret, { namespace: "kube-system", name: nodePasswordSecret("web") })
    expect(await membership.refresh(server)).toBe(true)
    // then
    expect(certificates().filter((pem) => before.includes(pem))).toEqual([])
    // and these belong to the new membership
    await register("web")
    expect(await membership.refresh(server)).toBe(false)
    expect(await machine("a", { token: undefined }).refresh(server)).toBe(false)
  })

  test("does not get the name of a deleted Node that another machine takes at the same moment", async () => {
    // given the password of a machine whose Node is gone, and two machines whose requests have read that password
    const { client } = cluster.contextFor("system:k3ts-supervisor", [])
    const passwords = (by: Client) => new NodePasswords({ client: by, clock, random: systemRandom })
    await passwords(client).verify("web", "a".repeat(32))
    ahead = 120_000
    const slower: Client = {
      ...client,
      async delete(...args) {
        await passwords(client).verify("web", "b".repeat(32))
        return client.delete(...args)
      },
    }
    // when
    const refused = passwords(slower).verify("web", "c".repeat(32))
    // then
    await expect(refused).rejects.toThrow("the name web belongs to another machine")
    await passwords(client).verify("web", "b".repeat(32))
  })

  test.each([
    { title: "has another CA", status: 200, wants: "its CA is not the one that the token names" },
    { title: "has no supervisor", status: 404, wants: "refuses" },
  ])("that is a member treats a server that $title as one that is down", async ({ status, wants }) => {
    // given
    const foreign = openClusterPki({ now: () => realClock.now() })
    const other = foreign.authorities["server-ca"].certPem
    const { certPem, keyPem } = foreign.issue({ name: "other", ...API_SERVER })
    const stranger = await listenTls({
      host: "127.0.0.1",
      port: 0,
      cert: certPem,
      key: keyPem,
      clientCa: other,
      onRequest: (_req, res) => answer(res, status, {}, other),
    })
    strangers.push(stranger)
    const url = `https://127.0.0.1:${stranger.port}`
    expect(await refusal(machine("a").refresh(url))).not.toStartWith("an error")
    // when
    await machine("a").refresh(server)
    // then the agent asks another server instead of ending
    const told = await refusal(machine("a").refresh(url))
    expect(told).toStartWith("an error")
    expect(told).toContain(wants)
  })

  test("refuses a server whose CA is not in the token, and accepts any server with a token without a hash", async () => {
    const other = `K10${"0".repeat(64)}::node:${PASSWORD}`
    expect(await refusal(machine("a", { token: other }).refresh(server))).toContain("403")
    expect(await machine("b", { token: PASSWORD }).refresh(server)).toBe(true)
  })

  test("must wait after ten wrong tokens from its address", async () => {
    const wrong = machine("a", { token: token.replace(PASSWORD, PASSWORD.toUpperCase()) })
    for (let i = 0; i < 10; i++) expect(await refusal(wrong.refresh(server))).toContain("401")
    expect(await refusal(machine("b").refresh(server))).toContain("429")
  })

  test("cannot try more than ten wrong tokens by trying them all at once", async () => {
    // given verifications that end when all have begun
    const { promise, resolve } = Promise.withResolvers<void>()
    let begun = 0
    held = () => {
      if (++begun === 30) resolve()
      return promise
    }
    // when
    const wrong = token.replace(PASSWORD, PASSWORD.toUpperCase())
    const tries = Array.from({ length: 30 }, (_, i) => refusal(machine(`m${i}`, { token: wrong }).refresh(server)))
    // then
    const answers = (await Promise.all(tries)).map((answer) => answer.slice(0, 3))
    expect(answers.filter((answer) => answer === "401")).toHaveLength(10)
    expect(answers.filter((answer) => answer === "429")).toHaveLength(20)
  })
})

test("names of nodes are given to one address up to a hundred times in a minute, and those that it has do not count", async () => {
  const request = makeCertificateRequest(newPrivateKey())
  const join = (node: string) =>
    refusal(
      askSupervisor({
        clock,
        server,
        ca: pki.authorities["server-ca"].certPem,
        method: "POST",
        path: `${SUPERVISOR_PATHS.certificates}kubelet`,
        headers: {
          authorization: authorizationOf({ user: "node", password: PASSWORD }),
          [NODE_HEADERS.name]: node,
          [NODE_HEADERS.password]: PASSWORD,
        },
        body: request,
      }),
    )
  for (let i = 0; i < 100; i++) expect(await join(`n${i}`)).toBe("nothing was refused")
  expect(await join("n100")).toStartWith("429")
  expect(await join("n0")).toBe("nothing was refused")
}, 60_000)

describe("a request for a certificate", () => {
  const request = makeCertificateRequest(newPrivateKey())
  const ask = (
    kind: string,
    { node = "web", ips = "192.0.2.7", body = request, ...options }: Record<string, string> & { node?: string } = {},
    certificate?: { readonly cert: string; readonly key: string },
  ) =>
    refusal(
      askSupervisor({
        clock,
        server,
        ca: pki.authorities["server-ca"].certPem,
        method: "POST",
        path: `${SUPERVISOR_PATHS.certificates}${kind}`,
        headers: {
          authorization: options["authorization"] ?? authorizationOf({ user: "node", password: PASSWORD }),
          [NODE_HEADERS.name]: node,
          [NODE_HEADERS.password]: options["password"] ?? PASSWORD,
          [NODE_HEADERS.addresses]: ips,
        },
        body,
        ...(certificate === undefined ? {} : { certificate }),
      }),
    )

  /** Expects a refusal with a status and the beginning of its reason, and that the name is free as before. */
  async function expectRefused(kind: string, given: Readonly<Record<string, string>>, wants: string): Promise<void> {
    expect((await ask(kind, given)).replace(`${server} refuses: `, "")).toStartWith(wants)
    const secrets = await cluster.client.list(Secret, { namespace: "kube-system" })
    expect(secrets.items.map(({ metadata }) => metadata.name)).not.toContain(nodePasswordSecret("web"))
  }
  const foreign = (what: string) => `403 ${what} is a name or an address of the API server, or a cluster IP`
  const NO_ADDRESS = "400 k3ts-node-ip must be one address, or one of each family"

  test.each([
    { title: "of an unknown kind", kind: "admin", given: {}, wants: '404 there is no certificate "admin"' },
    {
      title: "for an invalid node name",
      given: { node: "../x" },
      wants: '400 k3ts-node-name "../x" is not a node name',
    },
    { title: "without a password", given: { password: "short" }, wants: "400 k3ts-node-password must have 16 to 256" },
    { title: "whose body is no certificate request", given: { body: "x" }, wants: "400 PEM block type must be" },
    { title: "of 100 KB", given: { body: "x".repeat(100_000) }, wants: "413 the body is larger than 65536 bytes" },
    {
      title: "of a node with the name of a Service",
      given: { node: "web.shop.svc.cluster.local" },
      wants: "403 no node can have the name web.shop.svc.cluster.local",
    },
  ])("$title is refused", async ({ kind = "kubelet", given, wants }) => {
    await expectRefused(kind, given, wants)
  })

  test.each([
    { title: "an address of the API server", given: { ips: "192.0.2.1" }, wants: foreign("192.0.2.1") },
    { title: "an address of the API server, written as IPv6", given: { ips: "::ffff:192.0.2.1" }, wants: NO_ADDRESS },
    { title: "an address with a zone", given: { ips: "fe80::1%eth0" }, wants: NO_ADDRESS },
    { title: "an address of another API server", given: { ips: "2001:DB8:0:0::2" }, wants: foreign("2001:db8::2") },
    { title: "the name of the API server", given: { node: "kubernetes" }, wants: foreign("kubernetes") },
    { title: "the name of another API server", given: { node: "other-server" }, wants: foreign("other-server") },
    { title: "an address in another server's certificate", given: { ips: "192.0.2.99" }, wants: foreign("192.0.2.99") },
    { title: "a cluster IP", given: { ips: "10.43.0.10" }, wants: foreign("10.43.0.10") },
    { title: "a text that is no address", given: { ips: "a,b" }, wants: NO_ADDRESS },
  ])("of a serving certificate for $title is refused", ({ given, wants }) => expectRefused(SERVING, given, wants))

  test("for a node is signed for that node only, and only if it has joined", async () => {
    // given
    const membership = machine("a")
    await membership.refresh(server)
    const { certPem: cert, keyPem: key } = membership.certificate("kubelet")
    // then
    expect(await ask("kubelet", { node: "other" }, { cert, key })).toStartWith("403")
    expect(await ask("kubelet", {}, { cert, key })).toBe("nothing was refused")
    // and a certificate of its user that belongs to no membership is none, whoever signed it
    const signed = pki.issue({
      name: "node",
      authority: "client-ca",
      subject: { commonName: "system:node:web", organizations: ["system:nodes"] },
    })
    const asked = await ask("kubelet", { authorization: "" }, { cert: signed.certPem, key: signed.keyPem })
    expect(asked).toStartWith("401")
  })
})
