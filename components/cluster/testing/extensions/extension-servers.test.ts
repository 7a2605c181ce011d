import { describe, expect, test } from "bun:test"
import { ConfigMap, Namespace, startCluster, type ExtensionServer, type KubeObject, type Cluster } from "../testing.ts"

const GROUP = "wardle.example.com"
const apiService = (version = "v1") => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: `${version}.${GROUP}` },
  spec: {
    group: GROUP,
    version,
    groupPriorityMinimum: 2000,
    versionPriority: 10,
    service: { namespace: "wardle", name: "api" },
  },
})

/** Keeps Flunders in memory, as an extension server would keep them in a store. */
class FlunderServer {
  readonly flunders = new Map<string, KubeObject>()
  readonly asked: string[] = []
  readonly users = new Set<string>()
  problem: string | undefined
  readonly #watchers = new Set<(event: object) => void>()
  #revision = 0

  readonly serve: ExtensionServer = async (request, user) => {
    const { pathname, searchParams } = new URL(request.url)
    this.asked.push(`${request.method} ${pathname}`)
    this.users.add(user.name)
    if (this.problem !== undefined) throw new Error(this.problem)
    if (pathname === "/apis") return new Response(null, { status: 404 })
    if (pathname === `/apis/${GROUP}/v1`) return Response.json(RESOURCES)
    const [, , , , , namespace, , name] = pathname.startsWith(`/apis/${GROUP}/v1/namespaces/`)
      ? pathname.split("/")
      : []
    switch (request.method) {
      case "POST":
        return Response.json(this.#put("ADDED", (await request.json()) as KubeObject), { status: 201 })
      case "DELETE":
        for (const [key, flunder] of this.flunders)
          if (flunder.metadata.namespace === namespace && (name === undefined || flunder.metadata.name === name)) {
            this.flunders.delete(key)
            this.#tell("DELETED", flunder)
          }
        return Response.json({ kind: "Status", apiVersion: "v1", status: "Success" })
      default:
        if (searchParams.get("watch") === "true") return this.#watch(request.signal)
        if (name !== undefined) {
          const found = this.flunders.get(`${namespace}/${name}`)
          return found === undefined
            ? Response.json({ kind: "Status", code: 404, reason: "NotFound" }, { status: 404 })
            : Response.json(found)
        }
        return Response.json({
          kind: "FlunderList",
          apiVersion: `${GROUP}/v1`,
          metadata: { resourceVersion: String(this.#revision) },
          items: [...this.flunders.values()].filter(
            ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
          ),
        })
    }
  }

  #put(type: string, { metadata, ...rest }: KubeObject): KubeObject {
    this.#revision++
    const flunder = {
      ...rest,
      metadata: { ...metadata, uid: `flunder-${this.#revision}`, resourceVersion: String(this.#revision) },
    } as KubeObject
    this.flunders.set(`${metadata.namespace}/${metadata.name}`, flunder)
    this.#tell(type, flunder)
    return flunder
  }

  #tell(type: string, object: KubeObject): void {
    for (const watcher of this.#watchers) watcher({ type, object })
  }

  #watch(signal: AbortSignal): Response {
    const encoder = new TextEncoder()
    let watcher: (event: object) => void
    return new Response(
      new ReadableStream({
        start: (controller) => {
          watcher = (event) => controller.enqueue(encoder.encode(`${JSON.stringify(event)}\n`))
          this.#watchers.add(watcher)
          signal.addEventListener("abort", () => {
            this.#watchers.delete(watcher)
            controller.close()
          })
        },
      }),
    )
  }
}

const RESOURCES = {
  kind: "APIResourceList",
  groupVersion: `${GROUP}/v1`,
  resources: [
    {
      name: "flunders",
      singularName: "flunder",
      namespaced: true,
      kind: "Flunder",
      verbs: ["create", "delete", "deletecollection", "get", "list", "watch"],
    },
  ],
}
const ofName = (name: string, metadata: object = {}) => ({
  apiVersion: `${GROUP}/v1`,
  kind: "Flunder",
  metadata: { name, namespace: "sea", ...metadata },
})

async function clusterWith(server: FlunderServer): Promise<Cluster> {
  const cluster = await startCluster({ extensionServers: { "wardle/api": server.serve } })
  await cluster.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: "sea" } }, apiService()])
  return cluster
}
const availability = async (cluster: Cluster) => {
  const service = await cluster.get(cluster.kind("apiregistration.k8s.io/v1", "APIService"), `v1.${GROUP}`)
  return (service as unknown as { status: { conditions?: { status: string; reason: string; message: string }[] } })
    .status.conditions?.[0]
}

describe("an extension server that is a function of the test", () => {
  test("becomes Available, and its kinds are used like built-in ones", async () => {
    // given
    const server = new FlunderServer()
    await using cluster = await clusterWith(server)
    expect(await availability(cluster)).toMatchObject({
      status: "True",
      reason: "Passed",
      message: "all checks passed",
    })
    // when
    const flunder = cluster.kind(`${GROUP}/v1`, "Flunder")
    await cluster.client.create(flunder, ofName("a"))
    // then
    expect([...server.flunders.keys()]).toEqual(["sea/a"])
    expect((await cluster.client.list(flunder, { namespace: "sea" })).items).toMatchObject([
      { kind: "Flunder", metadata: { name: "a" } },
    ])
  })

  test("gets no request of a user who is not authorized for it", async () => {
    const server = new FlunderServer()
    await using cluster = await clusterWith(server)
    const flunder = cluster.kind(`${GROUP}/v1`, "Flunder")
    const refused = await cluster
      .as("nobody")
      .list(flunder, { namespace: "sea" })
      .catch((err: unknown) => err as Error)
    expect((refused as Error).message).toContain('User "nobody" cannot list resource "flunders"')
    expect(server.users.has("nobody")).toBe(false)
  })

  test("is checked every 30 seconds, and not Available from a failure until the next success", async () => {
    // given
    const server = new FlunderServer()
    await using cluster = await clusterWith(server)
    // when
    server.problem = "out of order"
    await cluster.advance("31s")
    // then
    const told = await availability(cluster)
    expect(told).toMatchObject({ status: "False", reason: "FailedDiscoveryCheck" })
    expect(told?.message).toContain("out of order")
    const flunder = cluster.kind(`${GROUP}/v1`, "Flunder")
    const refused = await cluster.client.list(flunder, { namespace: "sea" }).catch((err: unknown) => err as Error)
    expect((refused as Error).message).toBe("service unavailable")
    // and when
    server.problem = undefined
    await cluster.advance("31s")
    expect(await availability(cluster)).toMatchObject({ status: "True", reason: "Passed" })
  })

  test("gets no more requests once its APIService is deleted", async () => {
    const server = new FlunderServer()
    await using cluster = await clusterWith(server)
    await cluster.client.delete(cluster.kind("apiregistration.k8s.io/v1", "APIService"), { name: `v1.${GROUP}` })
    await cluster.settle()
    const before = server.asked.length
    await cluster.advance("5m")
    expect(server.asked).toHaveLength(before)
  })
})

describe("objects of an extension server", () => {
  test("are deleted with their namespace", async () => {
    const server = new FlunderServer()
    await using cluster = await clusterWith(server)
    await cluster.client.create(cluster.kind(`${GROUP}/v1`, "Flunder"), ofName("a"))
    // when
    await cluster.delete(Namespace, "sea")
    await cluster.advance("1m")
    // then
    expect(server.flunders.size).toBe(0)
    expect(await cluster.find(Namespace, "sea")).toBeUndefined()
  })

  test("keep namespaces from being deleted while their server does not answer", async () => {
    // given
    const server = new FlunderServer()
    await using cluster = await clusterWith(server)
    server.problem = "out of order"
    await cluster.advance("31s")
    // when
    await cluster.delete(Namespace, "sea")
    await cluster.advance("10s")
    // then
    const { status } = await cluster.get(Namespace, "sea")
    expect(status.conditions?.find(({ type }) => type === "NamespaceDeletionDiscoveryFailure")).toMatchObject({
      status: "True",
      reason: "DiscoveryFailed",
      message:
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: " +
        `${GROUP}/v1: stale GroupVersion discovery: ${GROUP}/v1`,
    })
    // and when the server is well again
    server.problem = undefined
    await cluster.advance("2m")
    expect(await cluster.find(Namespace, "sea")).toBeUndefined()
  })

  test("can own other objects, which are deleted with their owner, and not because their server fails", async () => {
    // given
    const server = new FlunderServer()
    await using cluster = await clusterWith(server)
    const flunder = cluster.kind(`${GROUP}/v1`, "Flunder")
    const owner = await cluster.client.create(flunder, ofName("a"))
    const ownerReferences = [{ apiVersion: `${GROUP}/v1`, kind: "Flunder", name: "a", uid: owner.metadata.uid! }]
    await cluster.client.create(ConfigMap, { metadata: { name: "of-a", namespace: "sea", ownerReferences } })
    // when
    server.problem = "out of order"
    await cluster.advance("10m")
    expect(await cluster.find(ConfigMap, { namespace: "sea", name: "of-a" })).toBeDefined()
    server.problem = undefined
    await cluster.advance("2m")
    await cluster.client.delete(flunder, { namespace: "sea", name: "a" })
    await cluster.advance("2m")
    // then
    expect(await cluster.find(ConfigMap, { namespace: "sea", name: "of-a" })).toBeUndefined()
  })
})
