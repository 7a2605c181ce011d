import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { connect } from "node:tls"
import { cm, CONFIGMAPS, json, startHttpServer, type Call } from "./serving/http-server.fixtures.ts"

let host: Awaited<ReturnType<typeof startHttpServer>>
let server: typeof host.server
beforeAll(async () => {
  host = await startHttpServer()
  server = host.server
})
afterAll(() => host.stop())

const call = (method: string, path: string, options?: Call) => host.call(method, path, options)

describe("a request that is wrong", () => {
  const rows: [what: string, method: string, path: string, options: Call, code: number, reason: string][] = [
    [
      "invalid JSON",
      "POST",
      CONFIGMAPS,
      { headers: { "content-type": "application/json" }, body: "{" },
      400,
      "BadRequest",
    ],
    [
      "a body that is no UTF-8",
      "POST",
      CONFIGMAPS,
      { headers: { "content-type": "application/json" }, body: Uint8Array.of(0x22, 0xff, 0x22) },
      400,
      "BadRequest",
    ],
    [
      "invalid protobuf",
      "POST",
      CONFIGMAPS,
      { headers: { "content-type": "application/vnd.kubernetes.protobuf" }, body: "k8s" },
      400,
      "BadRequest",
    ],
    [
      "a broken protobuf message",
      "POST",
      CONFIGMAPS,
      {
        headers: { "content-type": "application/vnd.kubernetes.protobuf" },
        body: Uint8Array.of(0x6b, 0x38, 0x73, 0, 0x0a, 0xff),
      },
      400,
      "BadRequest",
    ],
    [
      "invalid YAML",
      "POST",
      CONFIGMAPS,
      { headers: { "content-type": "application/yaml" }, body: "a: [" },
      400,
      "BadRequest",
    ],
    [
      "another kind",
      "POST",
      CONFIGMAPS,
      json({ apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }),
      400,
      "BadRequest",
    ],
    ["a broken escape in the path", "GET", "/api/v1/namespaces/%zz/configmaps", {}, 400, "BadRequest"],
    ["a limit that is no number", "GET", `${CONFIGMAPS}?limit=many`, {}, 400, "BadRequest"],
    ["an invalid label selector", "GET", `${CONFIGMAPS}?labelSelector=a%20b`, {}, 400, "BadRequest"],
    [
      "a patch of what does not exist, which is no object either",
      "PATCH",
      `${CONFIGMAPS}/none`,
      { headers: { "content-type": "application/merge-patch+json" }, body: "[]" },
      404,
      "NotFound",
    ],
    ["no credentials", "GET", CONFIGMAPS, { token: undefined }, 401, "Unauthorized"],
    ["an unknown token", "GET", CONFIGMAPS, { token: "nobody" }, 401, "Unauthorized"],
    ["an unknown token, even for health", "GET", "/readyz", { token: "nobody" }, 401, "Unauthorized"],
    ["an object that does not exist", "GET", `${CONFIGMAPS}/none`, {}, 404, "NotFound"],
    ["a resource that does not exist", "GET", "/api/v1/nothings", {}, 404, "NotFound"],
    ["a version that does not exist", "GET", "/api/v2/things", {}, 404, "NotFound"],
    ["a resource that does not exist in the version", "GET", "/api/v1/things", {}, 404, "NotFound"],
    ["a write to the deprecated watch path", "POST", "/api/v1/watch/namespaces", json({}), 405, "MethodNotAllowed"],
    [
      "an Accept header with a wildcard",
      "GET",
      CONFIGMAPS,
      { headers: { accept: "application/*" } },
      406,
      "NotAcceptable",
    ],
    ["a name of two dots", "GET", `${CONFIGMAPS}/%2E%2E`, {}, 400, "BadRequest"],
    ["a subresource that does not exist", "GET", `${CONFIGMAPS}/a/status`, {}, 404, "NotFound"],
    ["a path below a subresource", "GET", "/api/v1/namespaces/default/status/more", {}, 404, "NotFound"],
    ["one object without a namespace", "GET", "/api/v1/configmaps/a", {}, 404, "NotFound"],
    ["a method that the resource does not support", "OPTIONS", CONFIGMAPS, {}, 405, "MethodNotAllowed"],
    ["a POST to an object", "POST", `${CONFIGMAPS}/a`, json(cm("a")), 405, "MethodNotAllowed"],
    ["a PUT to a collection", "PUT", CONFIGMAPS, json(cm("a")), 405, "MethodNotAllowed"],
    [
      "an Accept header without a supported type",
      "GET",
      CONFIGMAPS,
      { headers: { accept: "text/html" } },
      406,
      "NotAcceptable",
    ],
    [
      "a body over 3 MiB",
      "POST",
      CONFIGMAPS,
      {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(cm("big", { data: { a: "x".repeat(3 * 1024 * 1024) } })),
      },
      413,
      "RequestEntityTooLarge",
    ],
    [
      "a body of unknown type",
      "POST",
      CONFIGMAPS,
      { headers: { "content-type": "text/plain" }, body: "x" },
      415,
      "UnsupportedMediaType",
    ],
    [
      "a patch of unknown type",
      "PATCH",
      `${CONFIGMAPS}/a`,
      { headers: { "content-type": "application/json" }, body: "{}" },
      415,
      "UnsupportedMediaType",
    ],
    ["an invalid name", "POST", CONFIGMAPS, json(cm("Not_A_Name")), 422, "Invalid"],
    ["an invalid dryRun", "POST", `${CONFIGMAPS}?dryRun=Some`, json(cm("a")), 422, "Invalid"],
    ["an invalid fieldValidation", "POST", `${CONFIGMAPS}?fieldValidation=Maybe`, json(cm("a")), 422, "Invalid"],
  ]
  test.each(rows)(
    "(%s) gets the same response as from Kubernetes",
    async (_what, method, path, options, code, reason) => {
      const answer = await call(method, path, options)
      expect({ code: answer.code, ...(JSON.parse(answer.text) as object) }).toMatchObject({
        code,
        reason,
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
      })
      expect(answer.headers["audit-id"]).toBeTruthy()
    },
  )

  test("(a duplicate or unknown field) is refused, warned about or ignored, according to fieldValidation", async () => {
    const body = '{"metadata":{"name":"twice"},"data":{"a":"1","a":"2"},"foo":1}'
    const send = (validation: string) =>
      call("POST", `${CONFIGMAPS}?dryRun=All&fieldValidation=${validation}`, {
        headers: { "content-type": "application/json" },
        body,
      })
    const strict = await send("Strict")
    expect(strict.code).toBe(400)
    expect(strict.text).toContain('strict decoding error: duplicate field \\"data.a\\", unknown field \\"foo\\"')
    const warned = await send("Warn")
    expect(warned.code).toBe(201)
    expect(warned.headers.warning).toContain('299 - "duplicate field \\"data.a\\""')
    expect((await send("Ignore")).headers.warning).toBeUndefined()
  })

  test("a request for a deprecated kind gets a warning", async () => {
    expect((await call("GET", "/api/v1/namespaces/default/endpoints")).headers.warning).toBe(
      '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"',
    )
    expect((await call("GET", "/api/v1/componentstatuses")).headers.warning).toBe(
      '299 - "v1 ComponentStatus is deprecated in v1.19+"',
    )
    expect((await call("GET", CONFIGMAPS)).headers.warning).toBeUndefined()
  })

  test("(random bytes on the connection) does not end the server", async () => {
    const noise = [
      "\r\n\r\n",
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      `GET / HTTP/1.1\r\nX: ${"y".repeat(200_000)}\r\n\r\n`,
      "\x00\xff\x16\x03",
      "POST /api/v1/namespaces/a/pods HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\ngarbage",
    ]
    await Promise.all(
      noise.map(
        (text) =>
          new Promise<void>((done) => {
            const socket = connect({ host: "127.0.0.1", port: server.port!, rejectUnauthorized: false }, () =>
              socket.end(text),
            )
            socket.on("data", () => socket.destroy())
            socket.on("error", () => socket.destroy())
            socket.on("close", () => done())
          }),
      ),
    )
    expect((await call("GET", "/readyz", { token: undefined })).text).toBe("ok")
  })

  test("(a client that disconnects half way) does not end the server", async () => {
    const head = `Host: a\r\nAuthorization: Bearer ${server.files!.adminToken}\r\n`
    const upgrade = (protocol: string) => `${head}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`
    const requests = [
      `POST ${CONFIGMAPS} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"a":`,
      `PUT ${CONFIGMAPS}/x HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":`,
      `GET ${CONFIGMAPS}?watch=1 HTTP/1.1\r\n${head}\r\n`,
      `GET /apis/rbac.authorization.k8s.io/v1/clusterroles HTTP/1.1\r\n${head}Accept-Encoding: gzip\r\n\r\n`,
      `GET /openapi/v2 HTTP/1.1\r\n${head}\r\n`,
      `GET /api/v1/namespaces/default/pods/none/exec?command=a HTTP/1.1\r\n${upgrade("SPDY/3.1")}\r\n`,
      `GET ${CONFIGMAPS}?watch=1 HTTP/1.1\r\n${upgrade("websocket")}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      `GET ${CONFIGMAPS}?watch=1 HTTP/1.1\r\n${upgrade("websocket")}\r\n`,
    ]
    // A client that waits for a response in vain disconnects once the server has answered a later client.
    const somebody = () => call("GET", "/readyz", { token: undefined })
    const leave = (text: string, when: "sent" | "answered") =>
      new Promise<void>((left) => {
        const socket = connect({ host: "127.0.0.1", port: server.port!, rejectUnauthorized: false }, () =>
          socket.write(
            text,
            () => void (when === "sent" ? Promise.resolve() : somebody()).finally(() => socket.destroy()),
          ),
        )
        socket.on("data", () => socket.destroy())
        socket.on("error", () => {})
        socket.on("close", () => left())
      })
    for (let round = 0; round < 5; round++)
      await Promise.all(requests.flatMap((text) => [leave(text, "sent"), leave(text, "answered")]))
    expect((await call("GET", "/readyz", { token: undefined })).text).toBe("ok")
  })

  test("(random bytes in paths, queries and bodies) is answered, never with 500", async () => {
    let seed = 7
    const next = (below: number) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % below
    const pieces = [
      "%",
      "%2F",
      "%00",
      "..",
      "//",
      "?",
      "&",
      "=",
      "watch",
      "api",
      "v1",
      "namespaces",
      "configmaps",
      "a",
      "{",
      "}",
      "[",
      '"',
      ":",
      ",",
      "null",
      "1e999",
      "\\u0000",
      "metadata",
      "-1",
    ]
    const text = (count: number) => Array.from({ length: count }, () => pieces[next(pieces.length)]).join("")
    for (let round = 0; round < 150; round++) {
      const path = `/${["api/v1/", "apis/", ""][next(3)]}${encodeURI(text(next(6))).replaceAll("%25", "%")}?${encodeURI(text(next(4)))}&timeoutSeconds=1`
      const read = await call(["GET", "DELETE", "HEAD"][next(3)]!, path.includes("watch") ? "/" : path)
      expect([read.code, path]).not.toEqual([500, path])
      const written = await call("POST", CONFIGMAPS, {
        headers: {
          "content-type": ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"][next(3)]!,
        },
        body: text(next(12)),
      })
      expect(written.code).toBeLessThan(500)
    }
  })
})
