import { describe, expect, test } from "bun:test"
import { DEFINITIONS } from "../../../../../pkg/gateway-api/definitions.ts"
import { Ingress, Pod, Service, startCluster, type Cluster, type ClusterOptions } from "../../testing.ts"
import { outcome, podOf, serviceOf } from "../traffic.fixtures.ts"

const images: NonNullable<ClusterOptions["images"]> = {
  echo: {
    http: (request, { pod }) => {
      const { pathname } = new URL(request.url)
      if (pathname === "/broken") throw new Error("no")
      return new Response(`${pod.name} ${request.method} ${pathname} ${request.headers.get("x-forwarded-host")}`, {
        headers: { "x-from": "pod" },
      })
    },
  },
}
const ingressClass = {
  apiVersion: "networking.k8s.io/v1",
  kind: "IngressClass",
  metadata: { name: "k3ts" },
  spec: { controller: "k3ts.dev/ingress" },
}
const ingressOf = (host: string, service: string, spec: object = {}) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: service },
  spec: {
    ingressClassName: "k3ts",
    rules: [
      {
        host,
        http: {
          paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: service, port: { number: 80 } } } }],
        },
      },
    ],
    ...spec,
  },
})

async function start(options: ClusterOptions = {}): Promise<Cluster> {
  const cluster = await startCluster({ nodes: 2, images, ...options })
  await cluster.apply([ingressClass, podOf("shop", "echo"), serviceOf("shop"), ingressOf("shop.example.com", "shop")])
  await cluster.settle()
  return cluster
}

describe("fetch reaches an Ingress", () => {
  test("by its host, from pods and from outside, over HTTP and TLS", async () => {
    await using cluster = await start()
    for (const from of [undefined, { ip: "203.0.113.7" }, { node: "node-1" }] as const)
      for (const scheme of ["http", "https"])
        expect(await outcome(cluster.fetch(`${scheme}://shop.example.com/a`, from === undefined ? {} : { from }))).toBe(
          "shop GET /a shop.example.com",
        )
    const { status, headers } = await cluster.fetch("http://shop.example.com/", { method: "POST", body: "hello" })
    expect([status, headers.get("x-from")]).toEqual([200, "pod"])
    // and by the address of a node, with its host in the request
    const named = cluster.fetch("http://192.168.0.3/", { headers: { host: "shop.example.com" } })
    expect(await outcome(named)).toBe("shop GET / shop.example.com")
    expect((await cluster.fetch("http://192.168.0.3/")).status).toBe(404)
    // and no other host has an address
    expect(await outcome(cluster.fetch("http://other.example.com/"))).toBe("ENOTFOUND")
  })

  test("whose routes and pods change", async () => {
    await using cluster = await start()
    await cluster.apply([podOf("new", "echo"), serviceOf("new"), ingressOf("new.example.com", "new")])
    expect(await outcome(cluster.fetch("http://new.example.com/"))).toBe("new GET / new.example.com")
    await cluster.delete(Pod, "new")
    expect((await cluster.fetch("http://new.example.com/")).status).toBe(503)
    await cluster.delete(Ingress, "new")
    expect(await outcome(cluster.fetch("http://new.example.com/"))).toBe("ENOTFOUND")
  })

  test("whose pod breaks the connection, and gets the proxy's answer", async () => {
    await using cluster = await start()
    expect((await cluster.fetch("http://shop.example.com/broken", { method: "POST" })).status).toBe(502)
  })

  test("although a NetworkPolicy isolates the pod, as the node's proxy asks it", async () => {
    await using cluster = await start()
    await cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "none" },
      spec: { podSelector: {}, policyTypes: ["Ingress"] },
    })
    expect(await outcome(cluster.fetch("http://shop/", { timeout: "5s" }))).toBe("ETIMEDOUT")
    expect(await outcome(cluster.fetch("http://shop.example.com/"))).toBe("shop GET / shop.example.com")
  })

  test("and a node that hears of endpoints late sends requests to pods that have ended", async () => {
    await using cluster = await start()
    const at = (address: string) => cluster.fetch(`http://${address}/`, { headers: { host: "shop.example.com" } })
    expect((await at("192.168.0.2")).status).toBe(200)
    await using _lag = await cluster.faults.endpointsLag("node-0", "5s")
    await cluster.delete(Pod, "shop")
    expect([(await at("192.168.0.2")).status, (await at("192.168.0.3")).status]).toEqual([502, 503])
    await cluster.advance("5s")
    expect((await at("192.168.0.2")).status).toBe(503)
  })

  test("of a cluster with a real network, which has the class and its status too", async () => {
    await using cluster = await startCluster({ nodes: 2, images, network: "real" })
    const { ingressClassName: _class, ...spec } = ingressOf("shop.example.com", "shop").spec
    await cluster.apply([podOf("shop", "echo"), serviceOf("shop"), { ...ingressOf("shop.example.com", "shop"), spec }])
    await cluster.advance("5s")
    const { status } = await cluster.get(Ingress, "shop")
    expect(status.loadBalancer?.ingress?.map(({ ip }) => ip)).toEqual(["192.168.0.2", "192.168.0.3"])
    expect(await outcome(cluster.fetch("http://shop.example.com/"))).toBe("shop GET / shop.example.com")
  })
})

test("fetch reaches Services and Ingresses where servers share a log, but not across a parted network", async () => {
  await using cluster = await startCluster({ servers: 3, nodes: 2, images })
  const shop = podOf("shop", "echo", { nodeName: "node-1" })
  await cluster.apply([ingressClass, shop, serviceOf("shop"), ingressOf("shop.example.com", "shop")])
  await cluster.advance("10s")
  expect(await outcome(cluster.fetch("http://shop/"))).toBe("shop GET / null")
  expect(await outcome(cluster.fetch("http://shop.example.com/"))).toBe("shop GET / shop.example.com")
  await using _parted = await cluster.faults.partitioned(["node-0"], ["node-1"])
  expect(await outcome(cluster.fetch("http://shop/", { timeout: "5s" }))).toBe("ETIMEDOUT")
  const { spec } = await cluster.get(Service, "shop")
  expect(await outcome(cluster.fetch(`http://${spec.clusterIP}/`, { from: { node: "node-1" } }))).toBe(
    "shop GET / null",
  )
})

test("fetch reaches the routes of a Gateway by their hosts, with their filters", async () => {
  await using cluster = await startCluster({ nodes: 1, images })
  for (const each of DEFINITIONS) await cluster.apply(each as never)
  const api = "gateway.networking.k8s.io/v1"
  await cluster.apply([
    podOf("shop", "echo"),
    serviceOf("shop"),
    {
      apiVersion: api,
      kind: "Gateway",
      metadata: { name: "web" },
      spec: { gatewayClassName: "k3ts", listeners: [{ name: "http", port: 8000, protocol: "HTTP" }] },
    },
    {
      apiVersion: api,
      kind: "HTTPRoute",
      metadata: { name: "shop" },
      spec: {
        parentRefs: [{ name: "web" }],
        hostnames: ["*.example.com"],
        rules: [
          {
            matches: [{ path: { type: "PathPrefix", value: "/old" } }],
            filters: [
              { type: "URLRewrite", urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/new" } } },
            ],
            backendRefs: [{ name: "shop", port: 80 }],
          },
        ],
      },
    },
  ])
  await cluster.settle()
  expect(await outcome(cluster.fetch("http://shop.example.com:8000/old/a"))).toBe(
    "shop GET /new/a shop.example.com:8000",
  )
  expect((await cluster.fetch("http://shop.example.com:8000/other")).status).toBe(404)
  expect(await outcome(cluster.fetch("http://shop.example.org:8000/old"))).toBe("ENOTFOUND")
  expect(await outcome(cluster.fetch("http://shop.example.com/old"))).toBe("ECONNREFUSED")
})
