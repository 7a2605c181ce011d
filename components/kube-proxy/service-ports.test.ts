import { expect, test } from "bun:test"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { servicePorts } from "./service-ports.ts"

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
