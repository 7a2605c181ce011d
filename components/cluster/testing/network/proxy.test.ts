import { describe, expect, test } from "bun:test"
import { request } from "node:https"
import { Service, startCluster, type Cluster, type ImageBehaviour } from "../testing.ts"
import { web } from "../cluster.fixtures.ts"

/** An image that responds with the request that it got. */
const echo: ImageBehaviour = {
  http: async (asked, { pod }) => {
    const { pathname, search } = new URL(asked.url)
    if (pathname === "/page")
      return new Response('<a href="/next">next</a>', { headers: { "content-type": "text/html" } })
    if (pathname === "/broken") throw new Error("connection reset by peer")
    return new Response(
      JSON.stringify({
        pod: pod.name,
        method: asked.method,
        path: pathname + search,
        own: asked.headers.get("x-own"),
        body: await asked.text(),
      }),
      { status: 201, headers: { "content-type": "application/json", "x-from": "pod" } },
    )
  },
}

/** A cluster whose two pods answer, behind a Service; `send` asks its API server over TLS. */
async function start() {
  const cluster = await startCluster({ nodes: 2, images: { echo } })
  await cluster.apply(web(2, "echo"))
  await cluster.client.create(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  })
  await cluster.settle()
  const { port, token } = await cluster.listen()
  const send = (
    method: string,
    path: string,
    body = "",
  ): Promise<{
    readonly status: number | undefined
    readonly headers: Readonly<Record<string, unknown>>
    readonly text: string
  }> =>
    new Promise((resolve, reject) => {
      const call = request(
        {
          host: "127.0.0.1",
          port,
          method,
          path: `/api/v1/namespaces/default/${path}`,
          rejectUnauthorized: false,
          agent: false,
          headers: { authorization: `Bearer ${token}`, connection: "close", "x-own": "mine" },
        },
        (response) => {
          let text = ""
          response.on("data", (part: Buffer) => (text += part.toString("utf8")))
          response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }))
        },
      )
      call.on("error", reject)
      call.end(body)
    })
  return { cluster, send, [Symbol.asyncDispose]: () => cluster.stop() }
}
const podNames = async (cluster: Cluster) =>
  (await cluster.list(cluster.kind("v1", "Pod"))).map(({ metadata }) => metadata.name!)

describe("the API server's proxy to simulated pods", () => {
  test("forwards requests to a pod, and its responses back", async () => {
    await using started = await start()
    const { cluster, send } = started
    const [name = ""] = await podNames(cluster)
    // when
    const { status, headers, text } = await send("POST", `pods/${name}:8080/proxy/a%20b?x=1`, "hello")
    // then
    expect(JSON.parse(text)).toEqual({ pod: name, method: "POST", path: "/a%20b?x=1", own: "mine", body: "hello" })
    expect([status, headers["x-from"]]).toEqual([201, "pod"])
    expect((await send("GET", `pods/${name}/proxy/page`)).text).toBe(
      `<a href="/api/v1/namespaces/default/pods/${name}/proxy/next">next</a>`,
    )
  })

  test("forwards requests to the pods of a Service", async () => {
    await using started = await start()
    const { cluster, send } = started
    const asked = new Set<unknown>()
    for (let i = 0; i < 20; i++)
      asked.add((JSON.parse((await send("GET", "services/web:http/proxy/")).text) as { readonly pod: string }).pod)
    expect([...asked].toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual(
      (await podNames(cluster)).toSorted((a, b) => (a < b ? -1 : 1)),
    )
  })

  test("is not involved when pods reach Services by name and address", async () => {
    await using started = await start()
    const { cluster } = started
    const {
      spec: { clusterIP },
    } = await cluster.get(Service, "web")
    for (const host of ["web", "web.default", "web.default.svc.cluster.local", clusterIP ?? "?"]) {
      expect(((await (await cluster.fetch(`http://${host}/a`)).json()) as { readonly path: string }).path).toBe("/a")
    }
    const refused = await cluster.fetch("http://web:81/").then(
      () => undefined,
      (err: Error) => err,
    )
    expect(refused?.message).toBe(
      `dial tcp ${clusterIP}:81: connect: connection refused (Service default/web has no port 81)`,
    )
  })

  test("reports a pod that does not answer", async () => {
    await using started = await start()
    const { cluster, send } = started
    const [name = ""] = await podNames(cluster)
    const { status, text } = await send("GET", `pods/${name}/proxy/broken`)
    expect([status, (JSON.parse(text) as { readonly message: string }).message]).toEqual([
      503,
      "error trying to reach service: connection reset by peer",
    ])
  })
})
