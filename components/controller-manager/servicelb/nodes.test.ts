import { expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { addressesFor } from "./nodes.ts"

const node = (name: string, ...addresses: readonly (readonly [type: string, address: string])[]) =>
  decodeObject(Node, {
    metadata: { name },
    status: {
      addresses: addresses.map(([type, address]) => ({ type, address })),
      conditions: [{ type: "Ready", status: "True" }],
    },
  }).object

const NODES = [
  node("b", ["InternalIP", "192.0.2.2"], ["InternalIP", "2001:db8::2"]),
  node("a", ["InternalIP", "192.0.2.1"], ["ExternalIP", "198.51.100.1"], ["InternalIP", "2001:db8::1"]),
]

test.each([
  { title: "IPv4", ipFamilies: ["IPv4"], wants: ["192.0.2.2", "198.51.100.1"] },
  { title: "IPv6", ipFamilies: ["IPv6"], wants: ["2001:db8::1", "2001:db8::2"] },
  {
    title: "both families, in the Service's order",
    ipFamilies: ["IPv6", "IPv4"],
    wants: ["2001:db8::1", "2001:db8::2", "192.0.2.2", "198.51.100.1"],
  },
])(
  "a load balancer of $title has the external addresses of each node, or else its internal ones",
  ({ ipFamilies, wants }) => {
    const { object } = decodeObject(Service, { metadata: { name: "web" }, spec: { type: "LoadBalancer", ipFamilies } })
    expect(addressesFor(object, NODES, [], () => true)).toEqual(wants)
  },
)
