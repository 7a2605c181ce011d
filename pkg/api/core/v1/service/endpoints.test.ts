import { expect, test } from "bun:test"
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
