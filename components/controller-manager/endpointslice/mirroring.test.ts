import { expect, test } from "bun:test"
import { Endpoints } from "../../../pkg/api/core/v1/service/endpoints.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"

test("Endpoints of a Service without selector are mirrored, and their slices changed and removed with them", async () => {
  // given a Service without a selector and its Endpoints
  await using cluster = await startCluster()
  const { client } = cluster
  const db = { name: "db", namespace: "default" }
  await client.create(Service, { metadata: db, spec: { ports: [{ name: "sql", port: 5432 }] } })
  await client.create(Endpoints, {
    metadata: { ...db, labels: { tier: "data" } },
    subsets: [
      {
        addresses: [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }],
        notReadyAddresses: [{ ip: "192.0.2.2", hostname: "spare" }],
        ports: [{ name: "sql", port: 5432 }],
      },
    ],
  })
  const slices = async () =>
    (
      await client.list(EndpointSlice, { namespace: "default", labelSelector: "kubernetes.io/service-name=db" })
    ).items.toSorted((a, b) => (a.addressType < b.addressType ? -1 : 1))
  await cluster.settle()
  // then
  const [v4, v6] = await slices()
  expect(v4).toMatchObject({
    addressType: "IPv4",
    ports: [{ name: "sql", port: 5432, protocol: "TCP" }],
    endpoints: [
      { addresses: ["192.0.2.1"], conditions: { ready: true } },
      { addresses: ["192.0.2.2"], conditions: { ready: false }, hostname: "spare" },
    ],
    metadata: {
      labels: { tier: "data", "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io" },
      ownerReferences: [{ kind: "Endpoints", name: "db" }],
    },
  })
  expect(v6).toMatchObject({ addressType: "IPv6", endpoints: [{ addresses: ["2001:db8::1"] }] })
  // when an address goes
  await client.patch(Endpoints, db, {
    type: "merge",
    body: { subsets: [{ addresses: [{ ip: "192.0.2.2" }], ports: [{ name: "sql", port: 5432 }] }] },
  })
  await cluster.settle()
  expect(
    (await slices()).map(({ metadata, endpoints }) => [metadata.name, endpoints?.map(({ addresses }) => addresses)]),
  ).toEqual([[v4!.metadata.name, [[["192.0.2.2"]]].flat()]])
  // when they are not to be mirrored any more
  await client.patch(Endpoints, db, {
    type: "merge",
    body: { metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } } },
  })
  await cluster.settle()
  expect(await slices()).toEqual([])
})

test("the Endpoints of Services with a selector are not mirrored", async () => {
  await using cluster = await startCluster()
  await cluster.client.create(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
  })
  await cluster.settle()
  const all = (
    await cluster.client.list(EndpointSlice, { namespace: "default", labelSelector: "kubernetes.io/service-name=web" })
  ).items
  expect(all.map(({ metadata }) => metadata.labels?.["endpointslice.kubernetes.io/managed-by"])).toEqual([
    "endpointslice-controller.k8s.io",
  ])
})
