import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { connect as connectHttp2 } from "node:http2"
import { request } from "node:https"
import { connect } from "node:tls"
import { WebSocket } from "ws"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { createTokenIssuer } from "../../pkg/jwt/service-account.ts"
import { cm, CONFIGMAPS, json, startHttpServer, type Call } from "./http-server.fixtures.ts"

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
      "JSON that is none",
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
      "protobuf that is none",
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
      "YAML that is none",
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
    ["a label selector that is none", "GET", `${CONFIGMAPS}?labelSelector=a%20b`, {}, 400, "BadRequest"],
    [
      "a patch that is no object",
      "PATCH",
      `${CONFIGMAPS}/none`,
      { headers: { "content-type": "application/merge-patch+json" }, body: "[]" },
      400,
      "BadRequest",
    ],
    ["no credentials", "GET", CONFIGMAPS, { token: undefined }, 401, "Unauthorized"],
    ["a token nobody has", "GET", CONFIGMAPS, { token: "nobody" }, 401, "Unauthorized"],
    ["a token nobody has, even for health", "GET", "/readyz", { token: "nobody" }, 401, "Unauthorized"],
    ["an object that is not there", "GET", `${CONFIGMAPS}/none`, {}, 404, "NotFound"],
    ["a resource that is not there", "GET", "/api/v1/nothings", {}, 404, "NotFound"],
    ["a version that is not there", "GET", "/api/v2/things", {}, 404, "NotFound"],
    ["a resource that is not there", "GET", "/api/v1/things", {}, 404, "NotFound"],
    ["a write under the path of old watches", "POST", "/api/v1/watch/namespaces", json({}), 405, "MethodNotAllowed"],
    ["a form with a wildcard", "GET", CONFIGMAPS, { headers: { accept: "application/*" } }, 406, "NotAcceptable"],
    ["a name that leads elsewhere", "GET", `${CONFIGMAPS}/%2E%2E`, {}, 400, "BadRequest"],
    ["a subresource that is not there", "GET", `${CONFIGMAPS}/a/status`, {}, 404, "NotFound"],
    ["a path below a subresource", "GET", "/api/v1/namespaces/default/status/more", {}, 404, "NotFound"],
    ["one object of all namespaces", "GET", "/api/v1/configmaps/a", {}, 404, "NotFound"],
    ["a method the resource does not take", "OPTIONS", CONFIGMAPS, {}, 405, "MethodNotAllowed"],
    ["a creation under a name", "POST", `${CONFIGMAPS}/a`, json(cm("a")), 405, "MethodNotAllowed"],
    ["an update without a name", "PUT", CONFIGMAPS, json(cm("a")), 405, "MethodNotAllowed"],
    ["a form nobody can give", "GET", CONFIGMAPS, { headers: { accept: "text/html" } }, 406, "NotAcceptable"],
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
    ["a name that is none", "POST", CONFIGMAPS, json(cm("Not_A_Name")), 422, "Invalid"],
    ["a dry run of some stages", "POST", `${CONFIGMAPS}?dryRun=Some`, json(cm("a")), 422, "Invalid"],
    ["a field validation that is none", "POST", `${CONFIGMAPS}?fieldValidation=Maybe`, json(cm("a")), 422, "Invalid"],
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

  test("(a field that stands twice or is unknown) is refused, warned about or ignored, according to fieldValidation", async () => {
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

  test("(noise on the wire) does not end the server", async () => {
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

  test("(a client that leaves half way) does not end the server", async () => {
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
    // Who waits for an answer that does not come leaves when the server has answered somebody who came later.
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

  test("(bytes at random in paths, queries and bodies) is answered, never with 500", async () => {
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

describe("the user of a request", () => {
  test("is in a client certificate of the client CA, and of no other", async () => {
    const { pki, admin } = server.files!
    expect((await call("GET", CONFIGMAPS, { token: undefined, certificate: admin })).code).toBe(200)
    const foreign = pki.issue({
      name: "x",
      authority: "server-ca",
      subject: { commonName: "system:admin", organizations: ["system:masters"] },
      usages: ["client"],
    })
    expect((await call("GET", CONFIGMAPS, { token: undefined, certificate: foreign })).code).toBe(401)
  })

  test("is named by a front proxy for its clients", async () => {
    const { pki } = server.files!
    const certificate = pki.issue({
      name: "x",
      authority: "request-header-ca",
      subject: { commonName: "system:auth-proxy", organizations: ["system:masters"] },
    })
    const whoami = async (headers: Call["headers"]) =>
      JSON.parse(
        (
          await call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
            token: undefined,
            certificate,
            body: "{}",
            headers: { ...headers, "content-type": "application/json" },
          })
        ).text,
      ) as object
    expect(
      await whoami({ "x-remote-user": "jane", "x-remote-group": ["a", "b"], "x-remote-extra-scopes": ["x", "y"] }),
    ).toMatchObject({
      status: {
        userInfo: { username: "jane", groups: ["a", "b", "system:authenticated"], extra: { scopes: ["x", "y"] } },
      },
    })
    expect(await whoami({ "x-remote-user": "Jürgen" })).toMatchObject({ status: { userInfo: { username: "Jürgen" } } })
    expect(await whoami({})).toMatchObject({ code: 401 })
    const other = pki.issue({
      name: "x",
      authority: "request-header-ca",
      subject: { commonName: "somebody", organizations: [] },
    })
    expect(
      (await call("GET", "/version", { token: undefined, certificate: other, headers: { "x-remote-user": "jane" } }))
        .code,
    ).toBe(401)
    expect(
      (
        await call("GET", CONFIGMAPS, {
          token: undefined,
          certificate: other,
          headers: { "x-remote-user": "system:admin", "x-remote-group": "system:masters" },
        })
      ).code,
    ).toBe(401)
  })

  test("is in a service account's token while the account exists", async () => {
    // given an account and its token
    const made = await call(
      "POST",
      "/api/v1/namespaces/default/serviceaccounts",
      json({ metadata: { name: "builder" } }),
    )
    const { uid } = (JSON.parse(made.text) as { metadata: { uid: string } }).metadata
    const { token } = createTokenIssuer({
      key: server.files!.signingKey,
      clock: realClock,
      random: systemRandom,
    }).issue({ namespace: "default", serviceAccount: { name: "builder", uid }, audiences: [], expirationSeconds: 600 })
    expect((await call("GET", "/version", { token })).code).toBe(200)

    // when the account is deleted and made anew
    await call("DELETE", "/api/v1/namespaces/default/serviceaccounts/builder")
    expect((await call("GET", "/version", { token })).code).toBe(401)
    await call("POST", "/api/v1/namespaces/default/serviceaccounts", json({ metadata: { name: "builder" } }))

    // then the token speaks for nobody
    expect((await call("GET", "/version", { token })).code).toBe(401)
  })

  test("may be anonymous for health and version only", async () => {
    for (const path of ["/healthz", "/livez", "/readyz", "/version"])
      expect((await call("GET", path, { token: undefined })).code).toBe(200)
    expect((await call("GET", "/livez/ping", { token: undefined })).code).toBe(403)
    for (const path of ["/", "/api", "/metrics", "/openapi/v2", "/healthzz"])
      expect((await call("GET", path, { token: undefined })).code).toBe(401)
  })

  test("groups to be impersonated need a user", async () => {
    expect((await call("GET", CONFIGMAPS, { headers: { "impersonate-group": "a" } })).code).toBe(400)
    expect(
      (await call("GET", "/version", { headers: { "impersonate-user": "jane", "impersonate-group": ["a", "b"] } }))
        .code,
    ).toBe(200)
  })
})

describe("an object", () => {
  test("is returned in the format that the client accepts", async () => {
    await call("POST", CONFIGMAPS, json(cm("forms", { data: { a: "1" } })))
    const get = async (accept: string) => {
      const { headers, text } = await call("GET", `${CONFIGMAPS}/forms`, { headers: { accept } })
      return { type: headers["content-type"], text }
    }
    expect(JSON.parse((await get("application/json")).text)).toMatchObject({ kind: "ConfigMap", data: { a: "1" } })
    expect((await get("application/yaml")).text).toContain("kind: ConfigMap\n")
    expect((await get("application/vnd.kubernetes.protobuf")).text).toStartWith("k8s\0")
    expect(JSON.parse((await get("application/json;as=Table;v=v1;g=meta.k8s.io")).text)).toMatchObject({
      kind: "Table",
      rows: [{ cells: ["forms", 1, expect.any(String)] }],
    })
    expect(JSON.parse((await get("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")).text)).toMatchObject({
      kind: "PartialObjectMetadata",
      metadata: { name: "forms" },
    })
    expect((await get("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")).text).toContain(
      "NotAcceptable",
    )
  })

  test("cannot be requested with HEAD, as no resource can", async () => {
    expect((await call("HEAD", CONFIGMAPS)).code).toBe(405)
  })

  test("is indented with `pretty`, and compressed when it is large", async () => {
    expect((await call("GET", `${CONFIGMAPS}?pretty=true`)).text).toStartWith('{\n  "kind": "ConfigMapList"')
    await call("POST", CONFIGMAPS, json(cm("large", { data: { a: "x".repeat(200_000) } })))
    expect(
      (await call("GET", `${CONFIGMAPS}/large`, { headers: { "accept-encoding": "gzip" } })).headers[
        "content-encoding"
      ],
    ).toBe("gzip")
    expect((await call("GET", `${CONFIGMAPS}/large`)).headers["content-encoding"]).toBeUndefined()
  })

  test("can be conflicted with", async () => {
    await call("POST", CONFIGMAPS, json(cm("once")))
    expect(JSON.parse((await call("POST", CONFIGMAPS, json(cm("once")))).text)).toMatchObject({
      code: 409,
      reason: "AlreadyExists",
    })
    expect(
      JSON.parse(
        (
          await call(
            "PUT",
            `${CONFIGMAPS}/once`,
            json({ ...cm("once"), metadata: { name: "once", resourceVersion: "1" } }),
          )
        ).text,
      ),
    ).toMatchObject({ code: 409, reason: "Conflict" })
  })
})

describe("a watch", () => {
  const watchUntil = (
    path: string,
    accept: string,
    wanted: (text: string) => boolean,
  ): Promise<{ readonly type: string | undefined; readonly text: string }> =>
    new Promise((resolve, reject) => {
      const req = request(
        {
          host: "127.0.0.1",
          port: server.port!,
          path,
          rejectUnauthorized: false,
          agent: false,
          headers: { authorization: `Bearer ${server.files!.adminToken}`, accept },
        },
        (res) => {
          let text = ""
          res.on("data", (part: Buffer) => {
            text += part.toString("latin1")
            if (!wanted(text)) return
            resolve({ type: res.headers["content-type"], text })
            req.destroy()
          })
          res.on("end", () => resolve({ type: res.headers["content-type"], text }))
        },
      )
      req.on("error", reject)
      req.end()
    })

  test("sends events as lines of JSON, as tables, as frames of protobuf and as WebSocket messages", async () => {
    // given an object in a namespace of its own
    const path = "/api/v1/namespaces/watched/configmaps"
    await call("POST", "/api/v1/namespaces", json({ metadata: { name: "watched" } }))
    await call("POST", path, json(cm("seen")))
    const initial = `${path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`

    // when it is watched, then each form tells it
    const lines = await watchUntil(initial, "application/json", (text) => text.includes("BOOKMARK"))
    const [added, bookmark] = lines.text
      .split("\n")
      .slice(0, 2)
      .map((line) => JSON.parse(line) as { type: string; object: { metadata: object } })
    expect(added).toMatchObject({ type: "ADDED", object: { kind: "ConfigMap", metadata: { name: "seen" } } })
    expect(bookmark).toMatchObject({
      type: "BOOKMARK",
      object: { metadata: { annotations: { "k8s.io/initial-events-end": "true" } } },
    })

    const table = await watchUntil(`${path}?watch=1`, "application/json;as=Table;v=v1;g=meta.k8s.io", (text) =>
      text.includes("\n"),
    )
    expect(JSON.parse(table.text.split("\n")[0]!)).toMatchObject({
      type: "ADDED",
      object: { kind: "Table", rows: [{ cells: ["seen", 0, expect.any(String)] }] },
    })

    const frames = await watchUntil(`${path}?watch=1`, "application/vnd.kubernetes.protobuf", (text) =>
      text.includes("seen"),
    )
    expect([frames.type, frames.text.slice(4, 11)]).toEqual([
      "application/vnd.kubernetes.protobuf;stream=watch",
      "\n\x05ADDED",
    ])

    const message = await new Promise<string>((resolve, reject) => {
      const ws = new WebSocket(`wss://127.0.0.1:${server.port!}${path}?watch=1`, {
        rejectUnauthorized: false,
        headers: { authorization: `Bearer ${server.files!.adminToken}` },
      })
      ws.on("message", (data: Buffer) => {
        resolve(data.toString())
        ws.close()
      })
      ws.on("error", reject)
    })
    expect(JSON.parse(message)).toMatchObject({ type: "ADDED", object: { metadata: { name: "seen" } } })
  })

  test("ends after timeoutSeconds", async () => {
    expect(
      (
        await watchUntil(
          `${CONFIGMAPS}?watch=1&timeoutSeconds=1&resourceVersion=0&labelSelector=none=none`,
          "application/json",
          () => false,
        )
      ).text,
    ).toBe("")
  })

  test("of a client that does not read is closed, and others continue", async () => {
    // given a client that opens a watch and reads nothing of it
    const session = connectHttp2(`https://127.0.0.1:${server.port!}`, { rejectUnauthorized: false })
    const stream = session.request({
      ":path": `${CONFIGMAPS}?watch=1&resourceVersion=0`,
      authorization: `Bearer ${server.files!.adminToken}`,
    })
    stream.on("error", () => {})
    await new Promise((opened) => stream.once("response", opened))
    stream.pause()
    const cut = new Promise<void>((closed) => stream.once("close", closed))

    // when more happens than the server keeps for it
    const client = newClient(server.transportFor({ name: "admin", groups: ["system:masters"] }))
    let object = await client.create(ConfigMap, { metadata: { name: "growing", namespace: "default" } })
    for (let i = 0; i < 40; i++)
      object = await client.update(ConfigMap, { ...object, data: { a: String(i).padEnd(900_000, "x") } })

    // then its stream is closed
    await cut
    session.destroy()
    expect((await call("GET", `${CONFIGMAPS}/growing`)).code).toBe(200)
    await client.delete(ConfigMap, object.metadata)
  })

  test("cannot be YAML", async () => {
    expect((await call("GET", `${CONFIGMAPS}?watch=1`, { headers: { accept: "application/yaml" } })).code).toBe(406)
  })
})
