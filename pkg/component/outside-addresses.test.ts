import { expect, test } from "bun:test"
import type { Informers } from "../client/informer.ts"
import { OutsideAddresses } from "./outside-addresses.ts"

/** A cluster whose cluster IPs are in one range of each family, and that has no nodes. */
const informers = {
  of: () => ({ list: () => [{ spec: { cidrs: ["10.43.0.0/16", "fd43::/112"] } }], by: () => [] }),
} as unknown as Informers

const problemOf = (address: string) => new OutsideAddresses(informers).nodeAddressProblem(address)

test.each([
  "10.43.0.1",
  "fd43::1",
  "0.0.0.0",
  "127.0.0.1",
  "169.254.169.254",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::ffff:192.0.2.1",
  "fe80::1",
  "ff02::1",
  "web.example",
])("no node can have the address %s", (address) => {
  expect(problemOf(address)).toBeString()
})

test.each(["192.0.2.1", "2001:db8::1"])("a node can have the address %s", (address) => {
  expect(problemOf(address)).toBeUndefined()
})
