import { expect, test } from "bun:test"
import { addressAt, addressText, contains, covers, holds, overlaps, parseAddress, parseNetwork } from "./cidr.ts"

const network = (cidr: string) => parseNetwork(cidr)!
const address = (text: string) => parseAddress(text)!

test("addresses of both families are parsed into numbers", () => {
  expect(address("10.43.0.1").number).toBe(0x0a2b0001n)
  expect(address("::").number).toBe(0n)
  expect(address("2001:db8::ff").number).toBe(0x20010db80000000000000000000000ffn)
  expect(address("1:2:3:4:5:6:7:8").number).toBe(0x00010002000300040005000600070008n)
  expect(address("::ffff:10.0.0.1")).toEqual({ family: "IPv6", number: 0xffff0a000001n })
  expect([
    parseAddress("10.43.0"),
    parseAddress("fe80::1%eth0"),
    parseNetwork("10.0.0.0"),
    parseNetwork("10.0.0.0/33"),
  ]).toEqual([undefined, undefined, undefined, undefined])
})

test.each(["0.0.0.0", "192.168.1.2", "255.255.255.255", "::", "::1", "fd42::", "2001:db8::1:0:0:1", "1:2:3:4:5:6:7:8"])(
  "%s is formatted as it was parsed",
  (text) => expect(addressText(address(text))).toBe(text),
)

test("an address is found by its number in a network", () => {
  expect(addressAt(network("192.168.0.0/16"), 258)).toBe("192.168.1.2")
  expect(addressAt(network("fd43::/108"), 10)).toBe("fd43::a")
})

test("a network contains its first and its last address, and no neighbour", () => {
  const within = (cidr: string, texts: readonly string[]) => texts.map((text) => contains(network(cidr), address(text)))
  expect(within("192.168.0.0/24", ["192.168.0.0", "192.168.0.255", "192.168.1.0", "::c0a8:1"])).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect(within("fd00::/120", ["fd00::", "fd00::ff", "fd00::100"])).toEqual([true, true, false])
})

test("networks overlap and cover each other within a family", () => {
  expect(network("10.43.7.9/16")).toEqual({ family: "IPv4", prefix: 16, first: 0x0a2b0000n, last: 0x0a2bffffn })
  expect(overlaps(network("10.43.0.0/16"), network("10.43.5.0/24"))).toBe(true)
  expect(covers(network("10.43.0.0/16"), network("10.43.5.0/24"))).toBe(true)
  expect(covers(network("10.43.5.0/24"), network("10.43.0.0/16"))).toBe(false)
  expect(overlaps(network("10.43.0.0/16"), network("10.44.0.0/16"))).toBe(false)
  expect(overlaps(network("0.0.0.0/0"), network("::/0"))).toBe(false)
})

test("a network allocates neither its own address nor, for IPv4, the broadcast address", () => {
  const given = (cidr: string, texts: readonly string[]) => texts.map((text) => holds(network(cidr), address(text)))
  expect(given("10.43.0.0/24", ["10.43.0.0", "10.43.0.1", "10.43.0.254", "10.43.0.255", "10.43.1.1"])).toEqual([
    false,
    true,
    true,
    false,
    false,
  ])
  expect(given("2001:db8::/120", ["2001:db8::", "2001:db8::1", "2001:db8::ff", "2001:db8::100", "10.0.0.1"])).toEqual([
    false,
    true,
    true,
    false,
    false,
  ])
})
