import { describe, expect, test } from "bun:test"
import { Endpoints } from "../../../../pkg/api/core/v1/service/endpoints.ts"
import { EndpointSlice } from "../../../../pkg/api/discovery/v1/endpointslice.ts"
import type { Family } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { Node, Pod, Service, startCluster, type ImageBehaviour } from "../testing.ts"

/** An image that responds with the address at which the request arrived, its environment and its hosts file. */
const echo: ImageBehaviour = {
  http: async (asked, container) =>
    Response.json({
      host: new URL(asked.url).hostname,
      pod: container.pod.name,
      env: container.env,
      hosts: await container.read("/etc/hosts"),
    }),
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1)
const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } })
const pod = (name: string, spec: object = {}) => ({
  metadata: { name, namespace: "default", labels: { app: "web" } },
  spec: {
    containers: [
      {
        name: "web",
        image: "echo",
        ports: [{ containerPort: 8080 }],
        env: [
          { name: "POD_IPS", ...field("status.podIPs") },
          { name: "HOST_IPS", ...field("status.hostIPs") },
        ],
        readinessProbe: { httpGet: { path: "/", port: 8080 } },
      },
    ],
    ...spec,
  },
})

/** Starts a cluster with two ready pods: one with a pod address, one on its node's network. */
async function start(ipFamilies: readonly Family[]) {
  const cluster = await startCluster({ nodes: 1, ipFamilies, images: { echo } })
  const { client } = cluster
  await client.create(Pod, pod("web"))
  await client.create(Pod, pod("host", { hostNetwork: true }))
  await cluster.advance("30s")
  const slicesOf = async (service: string) =>
    (await client.list(EndpointSlice, { labelSelector: `kubernetes.io/service-name=${service}` })).items
      .map(
        ({ addressType, endpoints }) =>
          `${addressType} ${(endpoints ?? []).flatMap(({ addresses }) => addresses).toSorted()}`,
      )
      .toSorted()
  const get = (name: string) => client.get(Pod, { name, namespace: "default" })
  return { cluster, client, get, slicesOf }
}

const LISTS: readonly {
  readonly families: readonly Family[]
  readonly node: string[]
  readonly ranges: string[]
  readonly pod: string[]
}[] = [
  { families: ["IPv4"], node: ["192.168.0.2"], ranges: ["10.42.0.0/24"], pod: ["10.42.0.2"] },
  { families: ["IPv6"], node: ["fd00::2"], ranges: ["fd42::/64"], pod: ["fd42::2"] },
  {
    families: ["IPv4", "IPv6"],
    node: ["192.168.0.2", "fd00::2"],
    ranges: ["10.42.0.0/24", "fd42::/64"],
    pod: ["10.42.0.2", "fd42::2"],
  },
  {
    families: ["IPv6", "IPv4"],
    node: ["fd00::2", "192.168.0.2"],
    ranges: ["fd42::/64", "10.42.0.0/24"],
    pod: ["fd42::2", "10.42.0.2"],
  },
]

describe.each([...LISTS])("in a cluster of $families", ({ families, node, ranges, pod: ips }) => {
  test("nodes and pods have addresses of each family, the primary one first", async () => {
    const { cluster, client, get } = await start(families)
    await using _ = cluster
    // then the node has addresses and ranges
    const { spec, status } = await client.get(Node, { name: "node-0" })
    expect((status.addresses ?? []).filter(({ type }) => type === "InternalIP").map(({ address }) => address)).toEqual(
      node,
    )
    expect([spec.podCIDR, spec.podCIDRs]).toEqual([ranges[0], ranges])
    // and its pods have addresses in their status, their environment and their hosts file
    const [web, host] = [await get("web"), await get("host")]
    const lists = ({ status }: Pod) => [
      status.podIP,
      status.podIPs?.map(({ ip }) => ip),
      status.hostIPs?.map(({ ip }) => ip),
    ]
    expect([lists(web), lists(host)]).toEqual([
      [ips[0], ips, node],
      [node[0], node, node],
    ])
    for (const ip of ips) {
      const answer = (await (await cluster.fetch(`http://${ip.includes(":") ? `[${ip}]` : ip}:8080/`)).json()) as {
        readonly env: Readonly<Record<string, string>>
        readonly hosts: string
      }
      expect([answer.env.POD_IPS, answer.env.HOST_IPS]).toEqual([ips.join(), node.join()])
      expect(answer.hosts).toContain(ips.map((own) => `${own}\tweb\n`).join(""))
    }
  })

  test("the Service kubernetes and its endpoints have the primary family", async () => {
    const { cluster, client, get, slicesOf } = await start(families)
    await using _ = cluster
    const service = await client.get(Service, { name: "kubernetes", namespace: "default" })
    const address = { IPv4: "10.43.0.1", IPv6: "fd43::1" }[families[0]!]
    expect([service.spec.clusterIPs, service.spec.ipFamilies]).toEqual([[address], [families[0]!]])
    expect(await slicesOf("kubernetes")).toEqual([`${families[0]} ${families[0] === "IPv4" ? "127.0.0.1" : "::1"}`])
    expect((await get("web")).spec.containers[0]!.env).toHaveLength(2)
    const answer = (await (
      await cluster.fetch(`http://${ips[0]!.includes(":") ? `[${ips[0]}]` : ips[0]}:8080/`)
    ).json()) as {
      readonly env: Readonly<Record<string, string>>
    }
    const host = families[0] === "IPv4" ? address : `[${address}]`
    expect([answer.env.KUBERNETES_SERVICE_HOST, answer.env.KUBERNETES_PORT]).toEqual([address, `tcp://${host}:443`])
  })

  test("a Service has an EndpointSlice for each of its families, and Endpoints of the first family", async () => {
    const { cluster, client, slicesOf } = await start(families)
    await using _ = cluster
    const metadata = { name: "web", namespace: "default" }
    const ports = [{ port: 80, targetPort: 8080 }]
    // given a Service that prefers both families
    const { spec } = await client.create(Service, {
      metadata,
      spec: { selector: { app: "web" }, ports, ipFamilyPolicy: "PreferDualStack" },
    })
    await cluster.settle()
    expect(spec.ipFamilies).toEqual([...families])
    const slices = families.map((family, i) => `${family} ${[ips[i]!, node[i]!].toSorted(byText)}`)
    expect(await slicesOf("web")).toEqual(slices.toSorted())
    const { subsets } = await client.get(Endpoints, metadata)
    expect(subsets?.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip))).toEqual(
      [ips[0]!, node[0]!].toSorted(),
    )
    // then its pods are reached by each of its addresses
    for (const ip of spec.clusterIPs!)
      expect((await cluster.fetch(`http://${ip.includes(":") ? `[${ip}]` : ip}/`)).status).toBe(200)
    // and when it is given one family, one slice is left
    await client.patch(Service, metadata, { type: "merge", body: { spec: { ipFamilyPolicy: "SingleStack" } } })
    await cluster.settle()
    expect(await slicesOf("web")).toEqual(slices.slice(0, 1))
  })
})

test("in a cluster of both families a Service of the second family has Endpoints of that family", async () => {
  const { cluster, client, slicesOf } = await start(["IPv4", "IPv6"])
  await using _ = cluster
  const metadata = { name: "web", namespace: "default" }
  await client.create(Service, {
    metadata,
    spec: { selector: { app: "web" }, ports: [{ port: 80 }], ipFamilies: ["IPv6"], clusterIP: "None" },
  })
  await cluster.settle()
  expect(await slicesOf("web")).toEqual(["IPv6 fd00::2,fd42::2"])
  const { subsets } = await client.get(Endpoints, metadata)
  expect(subsets?.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip))).toEqual(["fd00::2", "fd42::2"])
})

test.each([
  { given: [], wants: "[]" },
  { given: ["IPv6", "IPv6"], wants: '["IPv6","IPv6"]' },
  { given: ["IPv5"], wants: '["IPv5"]' },
])("ipFamilies $wants are refused", async ({ given, wants }) => {
  const refused = startCluster({ ipFamilies: [...given] as readonly string[] as readonly Family[] })
  const err = await refused.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  expect(String(err)).toContain(
    `Cannot start a cluster with ipFamilies: ${wants}: expected "IPv4", "IPv6" or both, the primary family first`,
  )
})
