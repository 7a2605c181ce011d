import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseNetwork } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { attachmentsOf } from "./attachments.ts"
import { PodAddresses } from "./pod-addresses.ts"
import { releaseUnused } from "./pod-interface.ts"
import { portName } from "./pod-names.ts"

const owner = (containerId: string) => ({ containerId, interface: "eth0" })
const BOTH = [parseNetwork("10.42.0.0/29")!, parseNetwork("fd42::/64")!]

describe("PodAddresses", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "k3ts-addresses-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test("keeps addresses in the files of host-local", () => {
    const addresses = new PodAddresses(folder)
    expect(addresses.allocate(BOTH, owner("one"))).toEqual(["10.42.0.2", "fd42::2"])
    expect(readFileSync(join(folder, "10.42.0.2"), "utf8")).toBe("one\r\neth0")
    expect(readFileSync(join(folder, "last_reserved_ip.1"), "utf8")).toBe("fd42::2")
  })

  test("gives a freed address to a new pod only after all other addresses of the range, so that clients do not mistake it for the old pod", () => {
    const addresses = new PodAddresses(folder)
    const [range] = BOTH
    const given = Array.from({ length: 7 }, (_, i) => {
      const [address = ""] = addresses.allocate([range!], owner(`pod-${i}`))
      addresses.release(address, owner(`pod-${i}`))
      return address
    })
    expect(given.map((address) => address.split(".")[3])).toEqual(["2", "3", "4", "5", "6", "2", "3"])
  })

  test("does not take an address from its new owner when the former owner frees it a second time", () => {
    const addresses = new PodAddresses(folder)
    const tiny = [parseNetwork("10.42.0.0/30")!]
    addresses.allocate(tiny, owner("former"))
    addresses.release("10.42.0.2", owner("former"))
    addresses.allocate(tiny, owner("new"))
    addresses.release("10.42.0.2", owner("former"))
    expect(addresses.all()).toEqual(new Map([["10.42.0.2", owner("new")]]))
  })

  test("keeps no address of one family when the other family has none left", () => {
    const addresses = new PodAddresses(folder)
    const tiny = [parseNetwork("fd42::/64")!, parseNetwork("10.42.0.0/30")!]
    addresses.allocate(tiny, owner("one"))
    expect(() => addresses.allocate(tiny, owner("two"))).toThrow("no address is free in 10.42.0.0/30")
    expect([...addresses.all().keys()].toSorted()).toEqual(["10.42.0.2", "fd42::2"])
  })

  test("frees addresses when neither our bridge port nor a recorded one exists", () => {
    // given three pods: one of our plugin, one of the plugin `bridge`, and one whose interface is gone
    const addresses = new PodAddresses(folder)
    for (const id of ["ours", "theirs", "gone"]) addresses.allocate([BOTH[0]!], owner(id))
    const ports = new Set([portName(owner("ours")), "veth1234"])
    const isPort = (name: string) => ports.has(name)
    const recorded = mkdtempSync(join(tmpdir(), "k3ts-results-"))
    for (const [id, port] of [
      ["theirs", "veth1234"],
      ["gone", "veth9999"],
    ])
      writeFileSync(
        join(recorded, `k3ts-${id}-eth0`),
        JSON.stringify({
          containerId: id,
          ifName: "eth0",
          networkName: "k3ts",
          result: {
            interfaces: [
              { name: "cni0", mac: "0a:00:00:00:00:01" },
              { name: port, mac: "0a:00:00:00:00:02" },
              { name: "eth0", mac: "0a:00:00:00:00:03", sandbox: "/run/netns/x" },
            ],
            ips: [{ address: "10.42.0.3/29" }],
          },
        }),
      )
    writeFileSync(join(recorded, "k3ts-half-eth0"), '{"containerId":')
    // then the recorded attachments are read
    const attachments = attachmentsOf("k3ts", isPort, recorded)
    expect(attachments).toEqual([
      { owner: owner("theirs"), port: "veth1234", mac: "0a:00:00:00:00:03", addresses: ["10.42.0.3"] },
    ])
    // and only the address of the pod that is gone is free
    expect(releaseUnused(folder, attachments, isPort)).toEqual(["10.42.0.4"])
    rmSync(recorded, { recursive: true })
  })
})
