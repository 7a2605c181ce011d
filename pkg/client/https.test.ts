import { afterAll, describe, expect, test } from "bun:test"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { ConfigMap } from "../api/core/v1/configmap.ts"
import { notFound, type ApiError } from "../apimachinery/errors.ts"
import { openClusterPki } from "../pki/cluster-pki.ts"
import { kubeconfigYaml } from "../pki/kubeconfig.ts"
import { createHttpsSender, createHttpsTransport } from "./https.ts"
import { parseKubeconfig } from "./kubeconfig.ts"
import { newClient } from "./new-client.ts"

const pki = openClusterPki({ now: () => Date.now() })
const serving = pki.leaf({
  name: "serving",
  authority: "server-ca",
  subject: { commonName: "localhost", organizations: [] },
  dnsNames: ["localhost"],
  ipAddresses: ["127.0.0.1"],
})
const seen: {
  method: string
  url: string
  type: string | undefined
  authorization: string | undefined
  body: string
}[] = []
const object = {
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name: "a", namespace: "default", resourceVersion: "5" },
}
const server = createServer({ key: serving.keyPem, cert: serving.certPem }, (req, res) => {
  let body = ""
  req.on("data", (chunk: Buffer) => (body += chunk.toString()))
  req.on("end", () => {
    seen.push({
      method: req.method!,
      url: req.url!,
      type: req.headers["content-type"],
      authorization: req.headers.authorization,
      body,
    })
    const answer = (code: number, value: unknown) =>
      res.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(value))
    if (req.url!.includes("watch=true")) {
      res.writeHead(200)
      const line = `${JSON.stringify({ type: "ADDED", object })}\n`
      res.write(line.slice(0, 20))
      setTimeout(
        () =>
          res.end(
            line.slice(20) +
              `${JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } })}\n`,
          ),
        5,
      )
    } else if (req.url!.endsWith("/slow"))
      res
        .writeHead(504, { "content-type": "text/plain; charset=utf-8" })
        .end(
          '{"metadata":{},"status":"Failure","message":"Timeout: too slow","reason":"Timeout","details":{},"code":504}\n',
        )
    else if (req.url!.endsWith("/starting"))
      res.writeHead(503, { "Retry-After": "2" }).end("the API server is starting\n")
    else if (req.url!.endsWith("/missing")) answer(404, notFound(ConfigMap, "missing").toStatus())
    else if (req.method === "GET" && req.url!.includes("configmaps?"))
      answer(200, {
        kind: "ConfigMapList",
        apiVersion: "v1",
        metadata: { resourceVersion: "5" },
        items: [{ metadata: { name: "a" } }],
      })
    else answer(200, object)
  })
})
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
const config = parseKubeconfig(
  kubeconfigYaml({ server: url, caPem: pki.authorities["server-ca"].certPem, user: { token: "secret" } }),
)
const transport = createHttpsTransport({ config, userAgent: "test/1" })
const client = newClient(transport)
afterAll(() => {
  transport.close()
  server.close()
})

describe("the HTTPS transport", () => {
  test("parses the response to a request that timed out, although it is no complete Status", async () => {
    const failed = await client.get(ConfigMap, { name: "slow", namespace: "default" }).catch((err: unknown) => err)
    expect(failed).toMatchObject({ code: 504, reason: "Timeout", message: "Timeout: too slow" })
  })

  test("sends calls as requests, with the credentials of the kubeconfig", async () => {
    await client.get(ConfigMap, { name: "a", namespace: "default" })
    expect(seen.at(-1)).toEqual({
      method: "GET",
      url: "/api/v1/namespaces/default/configmaps/a",
      type: undefined,
      authorization: "Bearer secret",
      body: "",
    })
    await client.patch(
      ConfigMap,
      { name: "a", namespace: "default" },
      { type: "apply", body: { data: {} } },
      { fieldManager: "m", force: true },
    )
    expect(seen.at(-1)).toMatchObject({
      method: "PATCH",
      url: "/api/v1/namespaces/default/configmaps/a?fieldManager=m&force=true",
      type: "application/apply-patch+yaml",
      body: '{"data":{}}',
    })
    await client.delete(ConfigMap, { name: "a", namespace: "default" }, { propagationPolicy: "Orphan" })
    expect(JSON.parse(seen.at(-1)!.body)).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Orphan",
    })
  })

  test("reports after how many seconds a refused request may be sent again", async () => {
    const sender = createHttpsSender({ config, userAgent: "test/1" })
    const { code, retryAfterSeconds } = await sender.send({ method: "GET", path: "/starting" }).answer
    expect([code, retryAfterSeconds]).toEqual([503, 2])
    sender.close()
  })

  test("returns lists whose items have their kind, and the server's errors", async () => {
    const list = await client.list(ConfigMap, { namespace: "default", limit: 1 })
    expect(list.items).toEqual([{ metadata: { name: "a" }, apiVersion: "v1", kind: "ConfigMap" }])
    const err = await client
      .get(ConfigMap, { name: "missing", namespace: "default" })
      .catch((err: unknown) => err as ApiError)
    expect(err).toMatchObject({ reason: "NotFound", message: 'configmaps "missing" not found' })
  })

  test("reads a watch from lines that arrive in pieces, and ends with the server's error", async () => {
    const events: string[] = []
    const error = await new Promise<ApiError | undefined>((resolve) =>
      client.watch(
        ConfigMap,
        { resourceVersion: "4" },
        { onEvent: (event) => void events.push(event.type), onEnd: resolve },
      ),
    )
    expect(events).toEqual(["ADDED"])
    expect(error?.reason).toBe("Expired")
    expect(seen.at(-1)!.url).toBe("/api/v1/configmaps?resourceVersion=4&watch=true")
  })

  test("reports that the server cannot be reached or that its certificate is not trusted", async () => {
    const stranger = createHttpsTransport({ config: { server: url }, userAgent: "t" })
    const refused = await newClient(stranger)
      .get(ConfigMap, { name: "a", namespace: "default" })
      .catch((err: unknown) => err as ApiError)
    expect(refused).toMatchObject({ reason: "ServiceUnavailable" })
    stranger.close()
  })
})

describe("a kubeconfig", () => {
  test("with a missing field is refused with the field's name", () => {
    expect(() => parseKubeconfig("clusters: []")).toThrow('it has no context ""; it has none')
    expect(() => parseKubeconfig("contexts: [{name: a, context: {cluster: b, user: c}}]\ncurrent-context: a")).toThrow(
      'names cluster "b", which is not in it',
    )
  })
})
