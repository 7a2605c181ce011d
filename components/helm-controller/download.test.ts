import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { createServer as createPlain, type RequestListener } from "node:http"
import { createServer as createTls } from "node:https"
import type { AddressInfo, Server } from "node:net"
import { realClock } from "../../pkg/clock/real.ts"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { download } from "./download.ts"

const pki = openClusterPki({ now: realClock.now })
const { keyPem: key, certPem: cert } = pki.issue({
  name: "charts",
  authority: "server-ca",
  subject: { commonName: "charts", organizations: [] },
  dnsNames: ["localhost"],
})

/** The requests, with what they were authorized by. */
const asked: string[] = []
/** Where a path leads; others are answered. */
const redirects = new Map<string, string>()
const answerAs =
  (scheme: string): RequestListener =>
  (req, res) => {
    asked.push(`${scheme} ${req.url} ${req.headers.authorization ?? ""}`.trim())
    const location = redirects.get(`${scheme} ${req.url}`)
    if (location === undefined) res.end("chart")
    else res.writeHead(302, { location }).end()
  }
const plain = createPlain(answerAs("http"))
const tls = createTls({ key, cert }, answerAs("https"))
const portOf = (server: Server) => (server.address() as AddressInfo).port
beforeAll(async () => {
  for (const server of [plain, tls]) await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
})
afterAll(() => {
  for (const server of [plain, tls]) server.close()
})
beforeEach(() => {
  asked.length = 0
  redirects.clear()
})

const OPTIONS = { clock: realClock, authorization: "Basic secret", skipVerify: true }

describe("the credentials of a repository over TLS", () => {
  test("are sent over TLS", async () => {
    await download(`https://127.0.0.1:${portOf(tls)}/shop.tgz`, OPTIONS)
    expect(asked).toEqual(["https /shop.tgz Basic secret"])
  })

  test("are not sent without TLS, though host and port are the repository's", async () => {
    const host = `127.0.0.1:${portOf(plain)}`
    const { body } = await download(`http://${host}/shop.tgz`, { ...OPTIONS, home: `https://${host}/index.yaml` })
    expect([body.toString(), asked]).toEqual(["chart", ["http /shop.tgz"]])
  })

  test("are sent to a repository that has TLS only where its charts are", async () => {
    // given a chart whose index was read without TLS from the same host and port
    const host = `127.0.0.1:${portOf(tls)}`
    await download(`https://${host}/shop.tgz`, { ...OPTIONS, home: `http://${host}/index.yaml` })
    expect(asked).toEqual(["https /shop.tgz Basic secret"])
  })

  test("go no further when it redirects to an address without TLS", async () => {
    redirects.set("https /shop.tgz", `http://127.0.0.1:${portOf(plain)}/shop.tgz`)
    const got = download(`https://127.0.0.1:${portOf(tls)}/shop.tgz`, { ...OPTIONS, sendsToAll: true })
    await expect(got).rejects.toThrow("redirects to an address without TLS")
    expect(asked).toEqual(["https /shop.tgz Basic secret"])
  })
})

test("an address that redirects for ever is given up", async () => {
  const address = `http://127.0.0.1:${portOf(plain)}/shop.tgz`
  redirects.set("http /shop.tgz", address)
  await expect(download(address, OPTIONS)).rejects.toThrow("redirects more than 5 times")
  expect(asked).toHaveLength(6)
})
