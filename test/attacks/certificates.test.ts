import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectHttp2 } from "node:http2"
import { Agent } from "node:https"
import { join } from "node:path"
import { type CertificatePair, createCa, issueCertificate } from "../../pkg/pki/certificate.ts"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { send, startServer, type TestServer } from "../harness/server.ts"

const HOUR = 3_600_000
const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

let server: TestServer
let clientCa: CertificatePair
beforeAll(async () => {
  server = await startServer()
  clientCa = openClusterPki({ dir: join(server.dataDir, "server/tls"), now: Date.now }).authorities["client-ca"]
})
afterAll(() => server[Symbol.asyncDispose]())

const life = (ms = HOUR) => ({ notBefore: new Date(Date.now() - HOUR), notAfter: new Date(Date.now() + ms) })
const client = (issuer: CertificatePair, ms?: number) =>
  issueCertificate(issuer, {
    subject: { commonName: "jane", organizations: ["devs"] },
    usages: ["client"],
    validity: life(ms),
  })
const authority = (commonName: string, issuer?: CertificatePair, ms?: number) =>
  createCa({ commonName, validity: life(ms), ...(issuer === undefined ? {} : { issuer }) })

/** Returns a client with these certificates. `who` returns the user whom the server takes it for; 401 for nobody. */
function asks({ keyPem }: CertificatePair, ...chain: readonly CertificatePair[]) {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    rejectUnauthorized: false,
    key: keyPem,
    cert: chain.map(({ certPem }) => certPem).join(""),
  })
  const who = async (): Promise<string> => {
    const { status, body } = await send(agent, server.port, "POST", REVIEWS, JSON_BODY, "{}")
    if (status !== 201) return String(status)
    return (JSON.parse(body.toString()) as { status: { userInfo: { username: string } } }).status.userInfo.username
  }
  return { who, agent }
}
const JSON_BODY = { "content-type": "application/json" }

describe("a client certificate of an intermediate CA", () => {
  test("is accepted if the client sends the chain up to the cluster's CA", async () => {
    const upper = authority("upper", clientCa)
    const lower = authority("lower", upper)
    const leaf = client(lower)
    const seen = await Promise.all(
      [asks(leaf, leaf, lower, upper), asks(leaf, leaf, upper, lower), asks(leaf, leaf, lower), asks(leaf, leaf)].map(
        ({ who }) => who(),
      ),
    )
    expect(seen).toEqual(["jane", "jane", "401", "401"])
  })

  test("is refused when the intermediate has expired, is not a CA, or is not of the cluster", async () => {
    const expired = authority("expired", clientCa, -1000)
    const leaf = client(clientCa)
    const stranger = authority("stranger")
    const seen = await Promise.all(
      [expired, leaf, stranger].map((issuer) => {
        const bad = client(issuer)
        return asks(bad, bad, issuer).who()
      }),
    )
    expect(seen).toEqual(["401", "401", "401"])
  })
})

describe("a client certificate that expires while its connection is open", () => {
  test("is refused with the next request over HTTP/1.1, and so is one whose intermediate expires", async () => {
    // given connections that began when all was well
    const short = client(clientCa, 4000)
    const intermediate = authority("short", clientCa, 4000)
    const long = client(intermediate)
    const connections = [asks(short, short), asks(long, long, intermediate)]
    expect(await Promise.all(connections.map(({ who }) => who()))).toEqual(["jane", "jane"])

    // when time goes on
    for (const { who } of connections) while ((await who()) === "jane") await Bun.sleep(50)

    // then
    expect(await Promise.all(connections.map(({ who }) => who()))).toEqual(["401", "401"])
    for (const { agent } of connections) agent.destroy()
  }, 20_000)

  test("is refused with the next request over HTTP/2", async () => {
    const { certPem, keyPem } = client(clientCa, 4000)
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, {
      rejectUnauthorized: false,
      cert: certPem,
      key: keyPem,
    })
    const status = async (): Promise<number> => {
      const stream = session.request({ ":method": "GET", ":path": "/api/v1/pods" })
      const [headers] = (await once(stream, "response")) as [{ ":status": number }]
      stream.resume()
      return headers[":status"]
    }
    // "jane" is known, and has no rights
    expect(await status()).toBe(403)
    let last = 403
    while (last === 403) {
      await Bun.sleep(50)
      last = await status()
    }
    expect(last).toBe(401)
    session.destroy()
  }, 20_000)
})
