import { describe, expect, test } from "bun:test"
import { Endpoints } from "../../../pkg/api/core/v1/service/endpoints.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { startCluster, type Cluster, type ImageBehaviour } from "../../cluster/testing/testing.ts"

const pod = (name: string, more: object = {}) => ({
  metadata: { name, namespace: "default", labels: { app: "web" } },
  spec: { containers: [{ name: "web", image: "web", ports: [{ name: "http", containerPort: 8080 }] }], ...more },
})
const service = (more: object = {}) => ({
  metadata: { name: "web", namespace: "default" },
  spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }], ...more },
})

const start = (web: ImageBehaviour = {}) =>
  startCluster({ nodes: [{ labels: { "topology.kubernetes.io/zone": "z1" } }], images: { web } })
const slicesOf = async ({ client }: Cluster) =>
  (await client.list(EndpointSlice, { namespace: "default", labelSelector: "kubernetes.io/service-name=web" })).items
const get = ({ client }: Cluster) => client.get(Endpoints, { name: "web", namespace: "default" })

describe("endpoints of a Service", () => {
  test("are its ready pods, with the port number that each pod gives a named port", async () => {
    await using cluster = await start()
    await cluster.client.create(Service, service())
    await cluster.client.create(Pod, pod("a"))
    await cluster.settle()
    // then
    const [slice] = await slicesOf(cluster)
    const {
      metadata: { uid },
      status: { podIP },
    } = await cluster.get(Pod, "a")
    expect(slice).toMatchObject({
      addressType: "IPv4",
      ports: [{ name: "", protocol: "TCP", port: 8080 }],
      endpoints: [
        {
          addresses: [podIP],
          conditions: { ready: true, serving: true, terminating: false },
          nodeName: "node-0",
          zone: "z1",
          targetRef: { kind: "Pod", name: "a", uid },
        },
      ],
    })
    expect((await get(cluster)).subsets).toMatchObject([
      {
        addresses: [{ ip: podIP, nodeName: "node-0", targetRef: { name: "a" } }],
        ports: [{ port: 8080, protocol: "TCP" }],
      },
    ])
  })

  test("are in another slice while one that was deleted is kept by a finalizer", async () => {
    // given
    await using cluster = await start()
    await cluster.client.create(Service, service())
    await cluster.client.create(Pod, pod("a"))
    await cluster.settle()
    const [slice] = await slicesOf(cluster)
    const body = { metadata: { finalizers: ["example.com/hold"] } }
    await cluster.client.patch(EndpointSlice, slice!.metadata, { type: "merge", body })
    // when
    await cluster.client.delete(EndpointSlice, slice!.metadata)
    await cluster.settle()
    // then
    expect((await slicesOf(cluster)).map(({ endpoints }) => endpoints?.length)).toEqual([1, 1])
  })

  const ZONES = [{ name: "z1" }]
  test.each<[trafficDistribution: string, wants: object | undefined]>([
    ["PreferClose", { forZones: ZONES }],
    ["PreferSameZone", { forZones: ZONES }],
    ["PreferSameNode", { forZones: ZONES, forNodes: [{ name: "node-0" }] }],
  ])("have hints for their zone or node with trafficDistribution %s, and none without it", async (asked, wants) => {
    await using cluster = await start()
    const { client } = cluster
    await client.create(Service, service({ trafficDistribution: asked }))
    await client.create(Pod, pod("a"))
    await cluster.settle()
    const hints = async () => (await slicesOf(cluster))[0]?.endpoints?.[0]?.hints
    expect(await hints()).toEqual(wants)
    // when
    const now = await client.get(Service, { name: "web", namespace: "default" })
    const { trafficDistribution: _, ...spec } = now.spec
    await client.update(Service, { ...now, spec })
    await cluster.settle()
    // then
    expect(await hints()).toBeUndefined()
  })

  test("follow labels and readiness", async () => {
    // given two pods, each ready while it says so
    const unready = new Set<string>()
    await using cluster = await start({
      http: (_request, container) => new Response("", { status: unready.has(container.pod.name) ? 503 : 200 }),
    })
    const { client } = cluster
    const probed = {
      containers: [
        {
          name: "web",
          image: "web",
          ports: [{ name: "http", containerPort: 8080 }],
          readinessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 5, failureThreshold: 1 },
        },
      ],
    }
    await client.create(Service, service())
    await client.create(Pod, pod("a", probed))
    await client.create(Pod, pod("b", probed))
    await cluster.settle()
    expect((await slicesOf(cluster))[0]?.endpoints).toHaveLength(2)
    // when one is relabelled and the other turns unready
    await client.patch(
      Pod,
      { name: "a", namespace: "default" },
      { type: "merge", body: { metadata: { labels: { app: "other" } } } },
    )
    unready.add("b")
    await cluster.advance("6s")
    // then
    const [slice] = await slicesOf(cluster)
    expect(slice?.endpoints?.map(({ targetRef, conditions }) => [targetRef?.name, conditions?.ready])).toEqual([
      ["b", false],
    ])
    expect((await get(cluster)).subsets).toMatchObject([{ notReadyAddresses: [{ targetRef: { name: "b" } }] }])
  })

  test("are one empty slice while there is no pod, and are deleted with the Service", async () => {
    await using cluster = await start()
    const { client } = cluster
    await client.create(Service, service())
    await cluster.settle()
    expect((await slicesOf(cluster)).map(({ endpoints }) => endpoints)).toEqual([null])
    // when
    await client.delete(Service, { name: "web", namespace: "default" })
    await cluster.settle()
    // then
    expect(await slicesOf(cluster)).toEqual([])
    expect(
      (await client.list(Endpoints, { namespace: "default" })).items.map(({ metadata }) => metadata.name),
    ).not.toContain("web")
  })

  test("take the place of the empty slice, which pods that are not ready leave as it is", async () => {
    // given a Service without pods
    await using cluster = await start()
    const writes: string[] = []
    await cluster.faults.requests({
      resource: "endpointslices",
      user: "system:serviceaccount:kube-system:endpointslice-controller",
      verb: ["create", "update", "delete"],
      error: ({ verb }) => void writes.push(verb),
    })
    await cluster.client.create(Service, service())
    await cluster.settle()
    const [empty] = await slicesOf(cluster)
    // when pods have no address yet
    const far = { nodeSelector: { far: "away" } }
    await cluster.client.create(Pod, pod("waiting", far))
    await cluster.settle()
    await cluster.client.patch(Pod, "waiting", { type: "merge", body: { metadata: { annotations: { a: "1" } } } })
    await cluster.settle()
    // then
    expect(writes).toEqual(["create"])
    // when one runs
    await cluster.client.create(Pod, pod("a"))
    await cluster.settle()
    // then
    expect(writes).toEqual(["create", "update"])
    expect(await slicesOf(cluster)).toMatchObject([
      { metadata: { name: empty!.metadata.name }, ports: [{ port: 8080 }], endpoints: [{ nodeName: "node-0" }] },
    ])
    // when it is gone
    await cluster.delete(Pod, "a")
    await cluster.advance("1m")
    // then
    expect(writes).not.toContain("delete")
    expect(await slicesOf(cluster)).toMatchObject([{ metadata: { name: empty!.metadata.name } }])
  })

  test("carry the hostname of pods of a headless Service", async () => {
    await using cluster = await start()
    await cluster.client.create(Service, service({ clusterIP: "None" }))
    await cluster.client.create(Pod, pod("a", { hostname: "first", subdomain: "web" }))
    await cluster.settle()
    const [slice] = await slicesOf(cluster)
    expect(slice?.endpoints?.[0]?.hostname).toBe("first")
    expect(slice?.metadata.labels).toHaveProperty(["service.kubernetes.io/headless"], "")
  })

  test("are divided into slices of a hundred", async () => {
    await using cluster = await start()
    const { client } = cluster
    await client.create(Service, service())
    await Promise.all(Array.from({ length: 105 }, (_, i) => client.create(Pod, pod(`p${i}`))))
    await cluster.settle()
    expect((await slicesOf(cluster)).map(({ endpoints }) => endpoints?.length ?? 0).sort((a, b) => a - b)).toEqual([
      5, 100,
    ])
  })
})
