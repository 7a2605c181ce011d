import { expect, test } from "bun:test"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { decodeObject } from "../../../../pkg/apimachinery/decoding/decode.ts"
import { asKind } from "../../../../pkg/apimachinery/resource.ts"
import { annotationsOf, peerOf } from "./announcement.ts"

const announced = annotationsOf({ type: "vxlan", addresses: ["192.0.2.7", "2001:db8::7"], data: { VNI: 1 } })

/** Returns what other nodes read from a Node with these annotations and addresses. */
const read = (annotations: object, addresses: readonly string[]) =>
  peerOf(
    asKind(
      Node,
      decodeObject(Node, {
        metadata: { name: "two", annotations },
        spec: { podCIDRs: ["10.42.2.0/24"] },
        status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
      }).object,
    ),
  )

test("other nodes read the addresses and data that a node announces", () => {
  expect(read(announced, ["192.0.2.7", "192.0.2.8"])).toEqual({
    name: "two",
    type: "vxlan",
    addresses: ["192.0.2.7", "2001:db8::7"],
    podCidrs: ["10.42.2.0/24"],
    sources: ["192.0.2.7", "2001:db8::7", "192.0.2.7", "192.0.2.8"],
    data: { VNI: 1 },
  })
})

test.each([
  { title: "no address", annotations: { "flannel.alpha.coreos.com/public-ip": "no; drop" }, wants: { addresses: [] } },
  { title: "no JSON", annotations: { "flannel.alpha.coreos.com/backend-data": "{" }, wants: { data: {} } },
  {
    title: "longer than the data of any backend",
    annotations: { "flannel.alpha.coreos.com/backend-data": JSON.stringify({ a: "x".repeat(5000) }) },
    wants: { data: {} },
  },
])("an annotation that is $title is ignored", ({ annotations, wants }) => {
  const type = { "flannel.alpha.coreos.com/backend-type": "vxlan" }
  expect(read({ ...type, ...annotations }, [])).toMatchObject(wants)
})

test("a node cannot announce thousands of addresses to the other nodes", () => {
  const many = Array.from({ length: 5000 }, (_, i) => `198.51.${i >> 8}.${i & 255}`)
  const { sources = [] } = read(announced, many) ?? {}
  expect(sources.slice(0, 3)).toEqual(["192.0.2.7", "2001:db8::7", "198.51.0.0"])
  expect(sources).toHaveLength(16)
})
