import { expect, test } from "bun:test"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { Backends } from "./backends.ts"

test.each([
  { appProtocol: undefined, wants: { http1: "http1", http2: "h2c" } },
  { appProtocol: "http", wants: { http1: "http1", http2: "h2c" } },
  { appProtocol: "kubernetes.io/ws", wants: { http1: "http1", http2: "h2c" } },
  { appProtocol: "kubernetes.io/h2c", wants: { http1: "h2c", http2: "h2c" } },
  { appProtocol: "HTTPS", wants: { http1: "https1", http2: "h2" } },
  { appProtocol: "kubernetes.io/wss", wants: { http1: "https1", http2: "h2" } },
  { appProtocol: "example.com/other", wants: { http1: "http1", http2: "h2c" } },
])("a route with HTTP/2 uses HTTP/2 to a Service port with appProtocol $appProtocol", async (given) => {
  // given
  await using cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  const { appProtocol } = given
  await cluster.client.create(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { ports: [{ port: 80, ...(appProtocol === undefined ? {} : { appProtocol }) }] },
  })
  await cluster.client.create(EndpointSlice, {
    metadata: { name: "web", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.7"] }],
    ports: [{ name: "", port: 8080 }],
  })
  const { informers, random } = cluster.contextFor("test", ["system:masters"])
  const backends = new Backends({ informers, random, isOwn: () => false })
  await informers.whenSynced()
  // when
  const ref = { namespace: "default", service: "web", port: 80 }
  const [http1, http2] = [backends.pick(ref, [], ""), backends.pick({ ...ref, http2: true }, [], "")]
  // then
  expect({ http1: http1?.protocol as string, http2: http2?.protocol as string }).toEqual(given.wants)
  backends.stop()
})

test.each([-1, 0, 70_000])(
  "an EndpointSlice with port %d, to which no connection is possible, has no endpoints",
  async (port) => {
    // given
    await using cluster = await startCluster({ components: { scheduler: false, controllers: false } })
    await cluster.client.create(Service, {
      metadata: { name: "web", namespace: "default" },
      spec: { ports: [{ port: 80 }] },
    })
    await cluster.client.create(EndpointSlice, {
      metadata: { name: "web", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.7"] }],
      ports: [{ name: "", port }],
    })
    const { informers, random } = cluster.contextFor("test", ["system:masters"])
    const backends = new Backends({ informers, random, isOwn: () => false })
    await informers.whenSynced()
    // when
    const picked = backends.pick({ namespace: "default", service: "web", port: 80 }, [], "")
    // then
    expect(picked).toBeUndefined()
    backends.stop()
  },
)
