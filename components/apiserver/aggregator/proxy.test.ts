import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { IncomingMessage, ServerResponse } from "node:http"
import { connect } from "node:tls"
import { json, startHttpServer } from "../serving/http-server.fixtures.ts"
import {
  FLUNDERS,
  GROUP,
  register,
  startExtensionServer,
  untilAvailability,
  type HttpServer,
} from "./extension-server.fixtures.ts"

let http: HttpServer
let extension: Awaited<ReturnType<typeof startExtensionServer>>
let answering: (req: IncomingMessage, res: ServerResponse) => void = (_req, res) => res.end("{}")

beforeAll(async () => {
  http = await startHttpServer()
  const { certPem } = http.server.files!.pki.authorities["request-header-ca"]
  extension = await startExtensionServer(certPem, (req, res) => answering(req, res))
  await register(http, extension.port, { caBundle: Buffer.from(extension.caPem).toString("base64") })
  await untilAvailability(http, "Passed")
})
afterAll(async () => {
  await http.stop()
  extension.stop()
})

const GROUPS = "system:masters, system:authenticated"
const bodyOf = async (req: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const part of req) text += String(part)
  return text
}

describe("a request for a version of an extension server", () => {
  test("is proxied as it was sent, with the user's name in headers, and the response is returned", async () => {
    // given
    let sent = ""
    answering = (req, res) =>
      void bodyOf(req).then((body) => {
        sent = body
        res.writeHead(201, { "x-wardle": "1", "content-type": "application/x" }).end("made")
      })

    // when the request has headers that would name somebody else
    const answer = await http.call("POST", `${FLUNDERS}?fieldManager=a%2Fb`, {
      headers: {
        "x-remote-user": "root",
        "x-remote-group": "system:masters",
        "x-remote-extra-a": "b",
        te: "trailers",
        "x-forwarded-host": "elsewhere",
        "x-forwarded-proto": "ftp",
      },
      body: "body",
    })

    // then
    expect(answer).toMatchObject({ code: 201, text: "made", headers: { "x-wardle": "1" } })
    const { url, method, headers } = extension.asked().at(-1)!
    expect([method, url, sent]).toEqual(["POST", `${FLUNDERS}?fieldManager=a%2Fb`, "body"])
    expect(headers).toMatchObject({ "x-remote-user": "system:admin", "x-remote-group": GROUPS })
    expect(headers["audit-id"]).toBe(answer.headers["audit-id"] as string)
    expect(headers).toMatchObject({ "x-forwarded-host": headers.host, "x-forwarded-proto": "https" })
    for (const name of ["authorization", "x-remote-extra-a", "te"]) expect(headers[name]).toBeUndefined()
  })

  test.each([
    ["the server's own certificate", () => extension.certPem],
    ["its authority", () => extension.caPem],
  ])("is sent to a server whose caBundle is %s", async (_what, pem) => {
    answering = (_req, res) => res.end("{}")
    const spec = { caBundle: Buffer.from(pem()).toString("base64") }
    await http.call("PATCH", `/apis/apiregistration.k8s.io/v1/apiservices/v1.${GROUP}`, {
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ spec }),
    })
    expect((await http.call("GET", FLUNDERS)).code).toBe(200)
  })

  test("has the impersonated user with groups and extra", async () => {
    answering = (_req, res) => res.end("{}")
    // Each byte of UTF-8 is a character to node:http.
    const onTheWire = Buffer.from("Jürgen", "utf8").toString("latin1")
    const headers = {
      "impersonate-user": onTheWire,
      "impersonate-uid": "7",
      "impersonate-group": ["a", "system:masters"],
      "impersonate-extra-acme.com%2fproject": "x",
    }
    expect((await http.call("GET", FLUNDERS, { headers })).code).toBe(200)
    const seen = extension.asked().at(-1)!
    expect(seen.headers["x-remote-user"]).toBe(onTheWire)
    expect(seen.headers).toMatchObject({
      "x-remote-uid": "7",
      "x-remote-group": "a, system:masters, system:authenticated",
      "x-remote-extra-acme.com%2fproject": "x",
    })
    expect(Object.keys(seen.headers).filter((name) => name.startsWith("impersonate"))).toEqual([])
  })

  test("is authorized here first", async () => {
    // given
    const before = extension.asked().length
    const headers = { "impersonate-user": "nobody" }
    // when
    const refused = await http.call("GET", FLUNDERS, { headers })
    const discovery = await http.call("GET", `/apis/${GROUP}/v1`, { headers })
    // then
    expect(JSON.parse(refused.text)).toMatchObject({
      code: 403,
      message: `flunders.${GROUP} is forbidden: User "nobody" cannot list resource "flunders" in API group "${GROUP}" in the namespace "default"`,
    })
    expect(discovery.code).toBe(200)
    expect(extension.asked()).toHaveLength(before)
  })

  test.each(["/..%2f..", "/../x", "/%2E%2e/x", "//flunders", "/a\\b"])(
    "is refused if its path can be read in two ways: %s",
    async (path) => {
      const before = extension.asked().length
      const { code } = await rawRequest(`/apis/${GROUP}/v1/namespaces/default${path}`)
      expect(code).toBe(404)
      expect(extension.asked()).toHaveLength(before)
    },
  )

  test("gets 502 if the extension server redirects it, since the client would follow with its credentials", async () => {
    answering = (_req, res) => res.writeHead(307, { location: "https://elsewhere.example/" }).end()
    expect(await http.call("GET", FLUNDERS)).toMatchObject({
      code: 502,
      text: "the backend attempted to redirect this request, which is not permitted",
    })
  })

  test("can be a watch, which sends each event at once, and ends when its client disconnects", async () => {
    // given a server that says one thing and then waits
    const gone = Promise.withResolvers<void>()
    answering = (req, res) => {
      res.writeHead(200, { "content-type": "application/json" })
      res.write('{"type":"ADDED"}\n')
      req.socket.once("close", () => gone.resolve())
    }
    // when
    const client = connect({ host: "127.0.0.1", port: http.port, ca: http.ca })
    client.write(`GET ${FLUNDERS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.adminToken}\r\n\r\n`)
    let text = ""
    for await (const part of client) if ((text += String(part)).includes("ADDED")) break
    client.destroy()
    // then
    await gone.promise
  })

  test("may switch protocols", async () => {
    const client = connect({ host: "127.0.0.1", port: http.port, ca: http.ca })
    client.write(
      `GET ${FLUNDERS}/a/console HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.adminToken}\r\n` +
        "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n",
    )
    let text = ""
    let hasSent = false
    for await (const part of client) {
      text += String(part)
      if (text.includes("hello")) break
      if (text.includes("\r\n\r\n") && !hasSent) hasSent = client.write("hello") || true
    }
    client.destroy()
    expect(text).toStartWith("HTTP/1.1 101 Switching Protocols\r\n")
  })

  test("completes even if its APIService changes meanwhile", async () => {
    // given a request that the server has and does not answer yet
    const [arrived, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    answering = (_req, res) => {
      arrived.resolve()
      void held.promise.then(() => res.end("late"))
    }
    const first = http.call("GET", FLUNDERS)
    await arrived.promise
    // when the APIService is changed, and the next request is sent as the change says
    await http.call("PATCH", `/apis/apiregistration.k8s.io/v1/apiservices/v1.${GROUP}`, {
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ spec: { versionPriority: 400 } }),
    })
    answering = (_req, res) => res.end("soon")
    expect(await http.call("GET", FLUNDERS)).toMatchObject({ code: 200, text: "soon" })
    held.resolve()
    // then
    expect(await first).toMatchObject({ code: 200, text: "late" })
  })

  test("succeeds although the server closes its connections between requests", async () => {
    answering = (_req, res) => res.end("{}")
    for (let i = 0; i < 5; i++) {
      expect((await http.call("GET", FLUNDERS)).code).toBe(200)
      extension.closeIdle()
    }
  })
})

describe("an APIService whose server is not available", () => {
  test("has the reason in its status, and requests for its version fail at once", async () => {
    // given a certificate of a stranger
    const stranger = http.server.files!.pki.authorities["client-ca"].certPem
    await http.call("PATCH", `/apis/apiregistration.k8s.io/v1/apiservices/v1.${GROUP}`, {
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ spec: { caBundle: Buffer.from(stranger).toString("base64") } }),
    })
    // when
    const condition = await untilAvailability(http, "FailedDiscoveryCheck")
    // then
    const url = `https://localhost:${extension.port}/apis/${GROUP}/v1`
    expect(condition).toMatchObject({
      status: "False",
      message:
        `failing or missing response from ${url}: Get "${url}": tls: failed to verify certificate: x509: ` +
        "certificate signed by unknown authority",
    })
    expect(await http.call("GET", FLUNDERS)).toMatchObject({
      code: 503,
      text: "service unavailable\n",
      headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    })
    // and all else is served, the group shown as stale
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    const all = JSON.parse((await http.call("GET", "/apis", { headers: { accept } })).text) as {
      items: { metadata: { name: string }; versions: object[] }[]
    }
    expect(all.items.find(({ metadata }) => metadata.name === GROUP)?.versions).toEqual([
      { version: "v1", freshness: "Stale" },
    ])
    expect(all.items.length).toBeGreaterThan(10)
  })

  test("is not served any more once it is deleted", async () => {
    await http.call("DELETE", `/apis/apiregistration.k8s.io/v1/apiservices/v1.${GROUP}`, json({}))
    expect(await http.call("GET", FLUNDERS)).toMatchObject({ code: 404, text: "404 page not found\n" })
    expect((await http.call("GET", `/apis/${GROUP}`)).code).toBe(404)
  })
})

/** Sends a request whose path is not normalized, and returns the response's code. */
async function rawRequest(path: string): Promise<{ readonly code: number }> {
  const client = connect({ host: "127.0.0.1", port: http.port, ca: http.ca })
  client.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.adminToken}\r\nConnection: close\r\n\r\n`,
  )
  let text = ""
  for await (const part of client) text += String(part)
  return { code: Number(text.split(" ")[1]) }
}
