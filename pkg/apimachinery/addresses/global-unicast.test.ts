import { expect, test } from "bun:test"
import { isGlobalUnicast } from "./global-unicast.ts"

test.each([
  { address: "10.42.0.5", global: true, why: "private" },
  { address: "192.0.2.2", global: true, why: "public" },
  { address: "128.0.0.1", global: true, why: "after loopback" },
  { address: "126.255.255.255", global: true, why: "before loopback" },
  { address: "169.253.255.255", global: true, why: "before link-local" },
  { address: "240.0.0.1", global: true, why: "reserved, after multicast" },
  { address: "fd00::2", global: true, why: "unique local" },
  { address: "2001:db8::1", global: true, why: "public IPv6" },
  { address: "::ffff:10.0.0.1", global: true, why: "private IPv4 written as IPv6" },
  { address: "0.0.0.0", global: false, why: "unspecified" },
  { address: "127.0.0.1", global: false, why: "loopback" },
  { address: "127.255.255.254", global: false, why: "loopback" },
  { address: "169.254.169.254", global: false, why: "link-local" },
  { address: "224.0.0.1", global: false, why: "multicast" },
  { address: "239.255.255.255", global: false, why: "multicast" },
  { address: "255.255.255.255", global: false, why: "broadcast" },
  { address: "::", global: false, why: "unspecified" },
  { address: "::1", global: false, why: "loopback" },
  { address: "0:0:0:0:0:0:0:1", global: false, why: "loopback written out" },
  { address: "::ffff:127.0.0.1", global: false, why: "loopback written as IPv6" },
  { address: "::ffff:7f00:1", global: false, why: "loopback written as IPv6 in hexadecimal" },
  { address: "::ffff:0.0.0.0", global: false, why: "unspecified written as IPv6" },
  { address: "fe80::1", global: false, why: "link-local" },
  { address: "febf::1", global: false, why: "link-local" },
  { address: "fe80::1%eth0", global: false, why: "link-local with a zone" },
  { address: "ff02::1", global: false, why: "multicast" },
  { address: "127.1", global: false, why: "no address" },
  { address: "0177.0.0.1", global: false, why: "no address" },
  { address: "2130706433", global: false, why: "no address" },
  { address: "localhost", global: false, why: "no address" },
  { address: "", global: false, why: "no address" },
])("$address is $why", ({ address, global }) => {
  expect(isGlobalUnicast(address)).toBe(global)
})
