import { describe, expect, test } from "bun:test"
import { sampleEndpoint, samplePort } from "../service-port.fixtures.ts"
import { Desired } from "./desired.ts"
import { partsOf } from "./parts.ts"
import { skeletonOf } from "./skeleton.ts"
import { existingIn, fullTransaction, partialTransaction } from "./transaction.ts"

const NONE = partsOf([])
const WEB = partsOf([samplePort()])
const OTHER = partsOf([samplePort({ name: "default/other", clusterIp: "10.43.0.10" })])
const SKELETON = skeletonOf({
  family: "IPv4",
  clusterCidr: "10.42.0.0/16",
  serviceCidrs: ["10.43.0.0/16"],
  nodePortCidrs: [],
  ownAddresses: [],
  ownPorts: [],
})
/** Returns the lines of a transaction without the name of the table and without comments. */
const linesOf = (text: string) =>
  text
    .replaceAll(" ip k3ts-proxy", "")
    .replaceAll(/ comment "[^"]*"/g, "")
    .split("\n")
    .slice(0, -1)

/** A table with Services that were written already. */
function written(parts: Readonly<Record<string, ReturnType<typeof partsOf>>>): Desired {
  const desired = new Desired()
  for (const [owner, of] of Object.entries(parts)) desired.change(owner, NONE, of)
  desired.takeDelta()
  return desired
}
const changes = (desired: Desired) => linesOf(partialTransaction("IPv4", desired, desired.takeDelta()))

describe("a transaction of changes", () => {
  test("contains only what differs", () => {
    // given two Services, of which one moves an endpoint
    const desired = written({ "default/web": WEB, "default/other": OTHER })
    const moved = partsOf([samplePort({ cluster: [sampleEndpoint("10.42.0.5"), sampleEndpoint("10.42.1.7", false)] })])
    // when
    desired.change("default/web", WEB, moved)
    // then
    expect(changes(desired)).toEqual([
      "delete element endpoint-ips-tcp { 10.43.0.9 . 80 . 1 }",
      "add element endpoint-ips-tcp { 10.43.0.9 . 80 . 1 : 10.42.1.7 . 8080 }",
    ])
    expect(changes(desired)).toEqual([])
  })

  test("creates a chain with the first Service that needs the chain, and empties the chain after the last one", () => {
    const desired = written({ "default/web": WEB })
    const one = partsOf([samplePort({ cluster: [sampleEndpoint("10.42.0.5")] })])
    desired.change("default/web", WEB, one)
    expect(changes(desired)).toEqual([
      "add chain spread-ips-tcp-1",
      "flush chain spread-ips-tcp-1",
      "add rule spread-ips-tcp-1 meta l4proto tcp dnat ip to ip daddr . tcp dport . numgen random mod 1 offset 0 map " +
        "@endpoint-ips-tcp",
      "add rule spread-ips-tcp-1 drop",
      "delete element endpoint-ips-tcp { 10.43.0.9 . 80 . 1 }",
      "delete element service-ips { 10.43.0.9 . tcp . 80 }",
      "add element service-ips { 10.43.0.9 . tcp . 80 : goto spread-ips-tcp-1 }",
      "flush chain spread-ips-tcp-2",
    ])
  })

  test("gives an address that two Services ask for to the first by name, and to the other when the first is removed", () => {
    // given two Services with one external IP
    const [a, b] = ["a", "b"].map((name, i) =>
      partsOf([
        samplePort({
          name: `default/${name}`,
          clusterIp: `10.43.0.${i}`,
          externalIps: ["192.0.2.1"],
          cluster: [sampleEndpoint(`10.42.0.${i}`)],
        }),
      ]),
    ) as [typeof WEB, typeof WEB]
    const shared = "10.42.0.0 . 8080"
    const desired = written({ "default/b": b })
    // when, then
    desired.change("default/a", NONE, a)
    expect(changes(desired)).toContain(
      `add element endpoint-ips-tcp { 10.43.0.0 . 80 . 0 : ${shared}, 192.0.2.1 . 80 . 0 : ${shared} }`,
    )
    desired.change("default/a", a, NONE)
    expect(changes(desired)).toContain("add element endpoint-ips-tcp { 192.0.2.1 . 80 . 0 : 10.42.0.1 . 8080 }")
  })

  test("gives a cluster IP to its own Service, whichever name the Service has that asks for it as an external IP", () => {
    // given a Service, and one whose name comes before
    const own = partsOf([samplePort({ clusterIp: "10.43.0.1", cluster: [sampleEndpoint("10.42.0.1")] })])
    const thief = partsOf([
      samplePort({
        name: "default/a",
        clusterIp: "10.43.0.2",
        externalIps: ["10.43.0.1"],
        cluster: [sampleEndpoint("10.42.0.2")],
      }),
    ])
    const desired = written({ "default/web": own })
    // when, then
    desired.change("default/a", NONE, thief)
    expect(changes(desired).join()).not.toMatch(/(?:endpoint|service)-ips\S* {[^}]*10\.43\.0\.1 /)
    desired.change("default/web", own, NONE)
    expect(changes(desired)).toContain("add element endpoint-ips-tcp { 10.43.0.1 . 80 . 0 : 10.42.0.2 . 8080 }")
  })

  test("removes the set of an endpoint's clients with the endpoint", () => {
    const sticky = partsOf([samplePort({ affinitySeconds: 60, cluster: [sampleEndpoint("10.42.0.5")] })])
    const desired = written({ "default/web": sticky })
    desired.change("default/web", sticky, NONE)
    expect(changes(desired).at(-1)).toMatch(/^delete set affinity-/)
  })
})

describe("a transaction of everything", () => {
  test("keeps existing sets of clients, and empties those that no Service uses", () => {
    // given a table with an older Service
    const existing = existingIn(
      [
        "table ip k3ts-proxy {",
        "\tset cluster-ips {",
        "\tset affinity-X-a/b {",
        "\tchain services {",
        "\tchain old {",
      ].join("\n"),
    )
    expect(existing).toEqual({ chains: new Set(["services", "old"]), affinities: new Set(["affinity-X-a/b"]) })
    // when
    const lines = linesOf(fullTransaction("IPv4", SKELETON, written({ "default/web": WEB }), existing))
    // then
    expect(lines).not.toContain("delete table")
    for (const line of ["flush chain old", "delete set affinity-X-a/b", "flush map service-ips"])
      expect(lines).toContain(line)
    expect(lines).not.toContain("flush set affinity-X-a/b")
  })

  test("begins with an empty table if there is none to take over", () => {
    expect(linesOf(fullTransaction("IPv4", SKELETON, new Desired(), undefined)).slice(0, 3)).toEqual([
      "add table",
      "delete table",
      "add table",
    ])
  })
})
