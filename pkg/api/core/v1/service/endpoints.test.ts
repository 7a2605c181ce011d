import { expect, test } from "bun:test"
import { endpointAddressFaults } from "./endpointaddress.ts"
import { Endpoints } from "./endpoints.ts"

const addresses = (count: number) => Array.from({ length: count }, (_, i) => ({ ip: `10.0.0.${i}` }))
const ports = (count: number) => Array.from({ length: count }, (_, i) => ({ port: i + 1 }))

test.each([
  { title: "none", subsets: [], text: undefined },
  { title: "addresses without ports", subsets: [{ addresses: addresses(2) }], text: "10.0.0.0,10.0.0.1" },
  {
    title: "several of each",
    subsets: [{ addresses: addresses(2), ports: ports(2) }, { addresses: addresses(3) }],
    text: "10.0.0.0:1,10.0.0.1:1,10.0.0.0:2 + 4 more...",
  },
  {
    title: "hundreds of millions of pairs",
    subsets: [{ addresses: addresses(20_000), ports: ports(20_000) }],
    text: "10.0.0.0:1,10.0.0.1:1,10.0.0.2:1 + 399999997 more...",
  },
])("the column of endpoints shows the first three and how many more there are: $title", ({ subsets, text }) => {
  const [column] = Endpoints.columns!
  const endpoints = { apiVersion: "v1", kind: "Endpoints", metadata: { name: "web" }, subsets }
  expect(column!.value(endpoints as never, undefined as never)).toBe(text as never)
})

test.each([
  ["0.0.0.0", "0.0.0.1"],
  ["127.0.0.1", "128.0.0.1"],
  ["127.255.255.255", "12.7.0.1"],
  ["169.254.7.7", "169.253.7.7"],
  ["224.0.0.255", "224.0.1.0"],
  ["::1", "::2"],
])("%s cannot be an endpoint, and %s can", (special, usual) => {
  expect(endpointAddressFaults(special, "ip")).toHaveLength(1)
  expect(endpointAddressFaults(usual, "ip")).toEqual([])
})
