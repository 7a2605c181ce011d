import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { parseNetwork } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { NETLINK_ROUTE } from "../../../../pkg/netlink/links.ts"
import { openNetlink } from "../../../../pkg/runtime/netlink.ts"
import { ensureBridge, keepBridge } from "./bridges.ts"
import { LACKING } from "./plugin-lab.fixtures.ts"

const NAMESPACE = `k3ts-bridges-${process.pid}`
const RANGES = ["10.98.0.0/24", "fd98::/64"].map((cidr) => parseNetwork(cidr)!)
const MAC = "0a:58:0a:62:00:01"

const ip = (...args: readonly string[]): string => {
  const { status, stdout, stderr } = spawnSync("ip", ["-n", NAMESPACE, ...args], { encoding: "utf8" })
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`)
  return stdout
}

describe.skipIf(LACKING.length > 0)("the bridge of pods", () => {
  let socket: ReturnType<typeof openNetlink>
  beforeAll(() => {
    spawnSync("ip", ["netns", "add", NAMESPACE])
    socket = openNetlink(NETLINK_ROUTE, NAMESPACE)
    // given a bridge without a hardware address of its own, as it is made before the node's ranges are known
    ip("link", "add", "cni0", "type", "bridge")
  })
  afterAll(() => {
    socket.close()
    spawnSync("ip", ["netns", "delete", NAMESPACE])
  })

  test("keeps its hardware address, whichever ports come and go", async () => {
    await ensureBridge(socket, { bridge: "cni0", mtu: 1400, ranges: RANGES })
    for (const address of ["02:00:00:00:00:01", "00:00:00:00:00:07"]) {
      ip("link", "add", "port", "address", address, "type", "veth", "peer", "name", "other")
      ip("link", "set", "port", "master", "cni0", "up")
      expect(ip("link", "show", "cni0")).toContain(MAC)
      ip("link", "delete", "port")
      expect(ip("link", "show", "cni0")).toContain(MAC)
    }
  })

  test.each([
    { title: "its route was deleted", command: ["route", "delete", "10.98.0.0/24"] },
    { title: "its route of IPv6 was deleted", command: ["-6", "route", "delete", "fd98::/64", "dev", "cni0"] },
    { title: "an address was deleted", command: ["address", "delete", "10.98.0.1/24", "dev", "cni0"] },
    { title: "it was set down", command: ["link", "set", "cni0", "down"] },
    { title: "its hardware address was changed", command: ["link", "set", "cni0", "address", "02:00:00:00:00:09"] },
  ])("is repaired when $title", async ({ command }) => {
    // given a bridge whose kernel has set up all
    const state = () =>
      [
        ip("route", "show", "dev", "cni0"),
        ip("-6", "route", "show", "fd98::/64"),
        ip("-o", "address", "show", "dev", "cni0"),
        ip("link", "show", "cni0"),
      ].join("\n")
    ip("link", "set", "cni0", "up")
    await keepBridge(socket, "cni0", RANGES)
    // when
    ip(...command)
    await keepBridge(socket, "cni0", RANGES)
    await keepBridge(socket, "cni0", RANGES)
    // then
    for (const part of ["10.98.0.0/24", "fd98::/64", "inet 10.98.0.1/24", "inet6 fd98::1/64", MAC, ",UP"])
      expect(state()).toContain(part)
    expect(ip("-6", "route", "show", "fd98::/64").trim().split("\n")).toHaveLength(1)
  })
})
