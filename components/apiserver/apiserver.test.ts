import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { connect as connectHttp2 } from "node:http2"
import { request } from "node:https"
import { WebSocket } from "ws"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { createTokenIssuer } from "../../pkg/jwt/service-account.ts"
import { cm, CONFIGMAPS, json, startHttpServer, type Call } from "./serving/http-server.fixtures.ts"

let host: Awaited<ReturnType<typeof startHttpServer>>
let server: typeof host.server
beforeAll(async () => {
  host = await startHttpServer()
  server = host.server
})
afterAll(() => host.stop())

const call = (method: string, path: string, options?: Call) => host.call(method, path, options)

describe("the user of a request", () => {
  test("is read from a client certificate that the client CA signed, and from no other certificate", async () => {
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

  test("is the one that a front proxy names for its client", async () => {
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

  test("is read from a service account's token while the account exists", async () => {
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

  test("can be anonymous only for the paths of health and version", async () => {
    for (const path of ["/healthz", "/livez", "/readyz", "/version"])
      expect((await call("GET", path, { token: undefined })).code).toBe(200)
    expect((await call("GET", "/livez/ping", { token: undefined })).code).toBe(403)
    for (const path of ["/", "/api", "/metrics", "/openapi/v2", "/healthzz"])
      expect((await call("GET", path, { token: undefined })).code).toBe(401)
  })

  test("cannot be impersonated by groups alone", async () => {
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

  test("that exists already, or was changed meanwhile, gives 409", async () => {
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

  test("is closed if its client does not read, and other watches continue", async () => {
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

  test("cannot be requested as YAML", async () => {
    expect((await call("GET", `${CONFIGMAPS}?watch=1`, { headers: { accept: "application/yaml" } })).code).toBe(406)
  })
})
