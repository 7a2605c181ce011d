import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE } from "./identities.ts"
import { h2, head, helloOf, PART_OF_HELLO, type SilentClient, tcpClient, tlsClient } from "./raw-client.ts"

/** The number of concurrent writes. */
const WRITES = 10

/** The number of places at which each type of connection is cut off. */
const CUTS = 25

let server: TestServer
let identities: Identities
beforeAll(async () => {
  server = await startServer({
    flags: [
      ...["--read-header-timeout", "1s", "--idle-timeout", "2s", "--request-timeout", "2s"],
      ...["--max-mutating-requests-inflight", String(WRITES)],
    ],
  })
  identities = await makeIdentities(server)
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const CONFIGMAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const JSON_BODY = { "Content-Type": "application/json" }

/**
 * Every stage at which a client can stop. The server has to close the connection by itself, or answer and then close
 * it.
 */
const stages: Readonly<Record<string, () => Promise<SilentClient>>> = {
  "before TLS": () => tcpClient(server.port),
  "in the TLS hello": () => tcpClient(server.port, PART_OF_HELLO),
  "in plain text": () => tcpClient(server.port, Buffer.from("GET / HTTP/1.1\r\n")),
  "after the handshake": () => tlsClient(server.port, ""),
  "after the handshake, with a certificate": () => tlsClient(server.port, "", { as: identities.outsider }),
  "in the request line": () => tlsClient(server.port, "GET /api/v1/na"),
  "in the head": () => tlsClient(server.port, "GET /api/v1/pods HTTP/1.1\r\nHost: k3ts\r\nX-Never-Ends: "),
  "after an answered request": () => tlsClient(server.port, head("GET", "/version"), { as: identities.outsider }),
  "after an anonymous request": () => tlsClient(server.port, head("GET", "/version")),
  "in the head of a second request": () =>
    tlsClient(server.port, `${head("GET", "/version")}GET /version HTTP/1.1\r\n`),
  "before the body, without rights": () =>
    tlsClient(server.port, head("POST", CONFIGMAPS, { ...JSON_BODY, "Content-Length": "100" }), {
      as: identities.outsider,
    }),
  "before a large body, without rights": () =>
    tlsClient(server.port, head("POST", CONFIGMAPS, { ...JSON_BODY, "Content-Length": "3000000" }), {
      as: identities.outsider,
    }),
  "before a body too large": () =>
    tlsClient(server.port, head("POST", CONFIGMAPS, { ...JSON_BODY, "Content-Length": "4000000" }), {
      as: identities.namespaceAdmin,
    }),
  "before the body": () =>
    tlsClient(server.port, head("POST", CONFIGMAPS, { ...JSON_BODY, "Content-Length": "100" }), {
      as: identities.namespaceAdmin,
    }),
  "in the body": () =>
    tlsClient(server.port, `${head("POST", CONFIGMAPS, { ...JSON_BODY, "Content-Length": "100" })}{"meta`, {
      as: identities.namespaceAdmin,
    }),
  "in a chunk of the body": () =>
    tlsClient(server.port, `${head("POST", CONFIGMAPS, { ...JSON_BODY, "Transfer-Encoding": "chunked" })}10\r\n{"me`, {
      as: identities.namespaceAdmin,
    }),
  "between two chunks of the body": () =>
    tlsClient(
      server.port,
      `${head("PATCH", `${CONFIGMAPS}/a`, { "Content-Type": "application/merge-patch+json", "Transfer-Encoding": "chunked" })}2\r\n` +
        "{}\r\n",
      { as: identities.namespaceAdmin },
    ),
  "in the options of a deletion": () =>
    tlsClient(server.port, `${head("DELETE", CONFIGMAPS, { ...JSON_BODY, "Content-Length": "100" })}{`, {
      as: identities.namespaceAdmin,
    }),
  "in an upgrade that is refused": () =>
    tlsClient(
      server.port,
      head("GET", `/api/v1/namespaces/${NAMESPACE}/pods/inside/exec?command=sh&stdin=true`, {
        Connection: "Upgrade",
        Upgrade: "websocket",
      }),
      { as: identities.outsider },
    ),
  "after the handshake of HTTP/2": () => tlsClient(server.port, "", { protocol: "h2" }),
  "in the preface of HTTP/2": () => tlsClient(server.port, h2.preface.subarray(0, 10), { protocol: "h2" }),
  "after the preface of HTTP/2": () => tlsClient(server.port, h2.preface, { protocol: "h2" }),
  "after the settings of HTTP/2": () => tlsClient(server.port, h2.settings, { protocol: "h2" }),
  "in a frame of HTTP/2": () =>
    tlsClient(server.port, h2.headers("GET", "/version", "").subarray(0, 60), { protocol: "h2" }),
  "in the headers of HTTP/2": () => tlsClient(server.port, h2.headers("GET", "/version", "", 0), { protocol: "h2" }),
  "after an anonymous request over HTTP/2": () =>
    tlsClient(server.port, h2.headers("GET", "/version", ""), { protocol: "h2" }),
  "before the body, over HTTP/2, without rights": () =>
    tlsClient(server.port, h2.headers("POST", CONFIGMAPS, ""), { protocol: "h2", as: identities.outsider }),
  "before the body, over HTTP/2": () =>
    tlsClient(server.port, h2.headers("POST", CONFIGMAPS, ""), { protocol: "h2", as: identities.namespaceAdmin }),
  "in the body, over HTTP/2": () =>
    tlsClient(server.port, Buffer.concat([h2.headers("POST", CONFIGMAPS, ""), h2.data('{"meta')]), {
      protocol: "h2",
      as: identities.namespaceAdmin,
    }),
}

describe("a client that stops sending", () => {
  test("is disconnected after a timeout, at any stage", async () => {
    // given a client for each stage, all at once
    const clients = await Promise.all(
      Object.entries(stages).map(async ([stage, begin]) => ({ stage, client: await begin() })),
    )

    // when the times of head, idle connection and request have passed
    const left = new Set(clients.map(({ stage }) => stage))
    const all = Promise.all(clients.map(({ stage, client }) => client.closed.then(() => left.delete(stage))))
    await Promise.race([all, Bun.sleep(15_000)])

    // then no connection is left, and no request
    expect([...left]).toEqual([])
    for (const { client } of clients) client.socket.destroy()
    const metrics = (await server.get("/metrics")).body.toString()
    expect(metrics).toContain('apiserver_current_inflight_requests{request_kind="mutating"} 0\n')
  }, 30_000)

  test("is disconnected after a timeout, after any byte of a valid request", async () => {
    // given the bytes of a client that does all well, up to a TLS connection and on it
    const body = JSON.stringify({ metadata: { generateName: "cut-" }, data: { text: "x".repeat(100) } })
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const http1 = Buffer.from(head("POST", CONFIGMAPS, { ...JSON_BODY, "Transfer-Encoding": "chunked" }) + chunk)
    const http2 = Buffer.concat([
      h2.headers("POST", CONFIGMAPS, ""),
      h2.data(body.slice(0, 50)),
      h2.data(body.slice(50), true),
    ])
    const as = identities.namespaceAdmin
    const streams: readonly (readonly [string, Buffer, (bytes: Buffer) => Promise<SilentClient>])[] = [
      ["TLS", await helloOf("h2"), (bytes) => tcpClient(server.port, bytes)],
      ["HTTP/1.1", http1, (bytes) => tlsClient(server.port, bytes, { as })],
      ["HTTP/2", http2, (bytes) => tlsClient(server.port, bytes, { as, protocol: "h2" })],
    ]

    // when clients stop at many places of them, the last after the whole
    const left = new Set<string>()
    const all: Promise<unknown>[] = []
    for (const [name, bytes, open] of streams)
      for (let part = 1; part <= CUTS; part++) {
        const at = Math.round((bytes.length * part) / CUTS)
        const client = await open(bytes.subarray(0, at))
        const place = `${name} after ${at} of ${bytes.length} bytes`
        left.add(place)
        all.push(client.closed.then(() => left.delete(place)))
      }
    await Promise.race([Promise.all(all), Bun.sleep(15_000)])

    // then all are gone, and the whole requests were carried out
    expect([...left]).toEqual([])
    const { items } = JSON.parse((await server.get(CONFIGMAPS)).body.toString()) as {
      items: { metadata: { generateName?: string } }[]
    }
    expect(items.filter(({ metadata }) => metadata.generateName === "cut-")).toHaveLength(2)
  }, 30_000)

  test("gets a response with the reason, if it sent a complete head", async () => {
    const expected: Readonly<Record<string, string>> = {
      "before the body, without rights": "403",
      "before a large body, without rights": "403",
      "before a body too large": "413",
      "before the body": "504",
      "in the body": "504",
      "in a chunk of the body": "504",
      "between two chunks of the body": "504",
      "in the options of a deletion": "504",
    }
    const answers = await Promise.all(
      Object.keys(expected).map(async (stage) => {
        const client = await stages[stage]!()
        await client.closed
        return [stage, /"code":(\d+)/.exec(client.text())?.[1] ?? client.text()]
      }),
    )
    expect(Object.fromEntries(answers)).toEqual(expected)
  }, 30_000)

  test("takes no place from others while its body is incomplete", async () => {
    // given more writes of somebody with rights than there are places, none of which comes to its end
    const body = head("POST", CONFIGMAPS, { ...JSON_BODY, "Content-Length": "100" })
    const clients = await Promise.all(
      Array.from({ length: 3 * WRITES }, () => tlsClient(server.port, body, { as: identities.namespaceAdmin })),
    )

    // when another write comes
    const { status } = await identities.namespaceAdmin.request("POST", CONFIGMAPS, {
      body: { metadata: { name: "beside" } },
    })

    // then
    expect(status).toBe(201)
    for (const { socket } of clients) socket.destroy()
  })
})
