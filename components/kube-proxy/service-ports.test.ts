import { expect, test } from "bun:test"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { MOST_ENTRIES, servicePorts } from "./service-ports.ts"

/** Every address can be a Service's. */
const FREE = { externalProblem: () => undefined, clusterProblem: () => undefined }

test("endpoints with invalid port numbers are left out, and the others are used", async () => {
  // given
  await using cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  const service = await cluster.client.create(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { ports: [{ port: 80 }] },
  })
  const slices = await Promise.all(
    [-1, 0, 8080, 70_000].map((port) =>
      cluster.client.create(EndpointSlice, {
        metadata: { generateName: "web-", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
        addressType: "IPv4",
        endpoints: [{ addresses: ["192.0.2.7"] }],
        ports: [{ name: "", port }],
      }),
    ),
  )
  // when
  const [port] = servicePorts(service, slices, "IPv4", { nodeName: "n1", zone: undefined }, FREE)
  // then
  expect(port?.cluster).toMatchObject([{ ip: "192.0.2.7", port: 8080 }])
})

test("a Service whose ports, addresses and endpoints multiply is served as far as the limit goes", async () => {
  // given 20,000 ports at 20,000 addresses outside of the cluster: an object that the server takes
  await using cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  const many = Array.from({ length: 20_000 }, (_, i) => i)
  const service = await cluster.client.create(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      ports: many.map((i) => ({ name: `p${i}`, port: i + 1 })),
      externalIPs: many.map((i) => `192.0.${i >> 8}.${i & 255}`),
    },
  })
  // when
  const limited: number[] = []
  const ports = servicePorts(service, [], "IPv4", { nodeName: "n1", zone: undefined }, FREE, (n) => limited.push(n))
  // then the first ports have all their entries, and the number of the others is told
  expect(ports.length * (ports[0]?.externalIps.length ?? 0)).toBeLessThanOrEqual(MOST_ENTRIES)
  expect(ports.map(({ port }) => port)).toEqual([1, 2, 3, 4])
  expect(limited).toEqual([19_996])
})
