import { expect, test } from "bun:test"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { startController } from "../../../pkg/controller/start.ts"
import { startCluster } from "../../cluster/testing/testing.ts"
import { outsideAddressController } from "./outside-addresses-controller.ts"

test("Events name the external addresses and ports of a Service that belong to the cluster or to nodes", async () => {
  // given
  await using cluster = await startCluster({
    nodes: [{ name: "a" }],
    components: { controllers: { disabled: ["outside-address-controller"] } },
  })
  const occupied = { always: new Map([["6443/TCP", "the API server"]]) }
  const controller = await startController(outsideAddressController(occupied), cluster.contextFor())
  // when
  await cluster.client.create(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { externalIPs: ["10.43.0.1", "192.168.0.2", "203.0.113.5"], ports: [{ port: 6443 }] },
  })
  await cluster.advance("1s")
  // then
  const events = (await cluster.client.list(Event)).items.filter(({ involvedObject }) => involvedObject.name === "web")
  expect(events.map(({ reason, message }) => `${reason}: ${message}`).sort()).toEqual([
    "ExternalIPIgnored: 10.43.0.1 of spec.externalIPs is not served: it is in a range of cluster IPs",
    "ExternalIPIgnored: 192.168.0.2 of spec.externalIPs is not served: it is an address of node a",
    "PortConflict: Port 6443/TCP is not served at addresses of nodes: it belongs to the API server",
  ])
  // and when a node comes that has the other one
  await cluster.client.create(Node, {
    metadata: { name: "b" },
    status: { addresses: [{ type: "ExternalIP", address: "203.0.113.5" }] },
  })
  await cluster.advance("1s")
  const message = "203.0.113.5 of spec.externalIPs is not served: it is an address of node b"
  expect((await cluster.client.list(Event)).items.map((event) => event.message)).toContain(message)
  await controller.stop()
})
