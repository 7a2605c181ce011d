import { describe, expect, test } from "bun:test"
import { transition } from "./restore.ts"
import { rulesFor, type Chains } from "./rules.ts"
import { sampleEndpoint, samplePort } from "../service-port.fixtures.ts"
import type { ServicePort } from "../service-ports.ts"

const CONFIG = {
  family: "IPv4" as const,
  clusterCidr: "10.42.0.0/16",
  serviceCidrs: ["10.43.0.0/16"],
  nodePortCidrs: [],
  ownAddresses: [],
  ownPorts: [],
}
/** Returns the rules of all chains, without the hashes in the names of chains. */
const lines = (chains: Chains): string[] =>
  [...chains].flatMap(([chain, rules]) =>
    rules.map((rule) => `${chain} ${rule}`.replaceAll(/(KUBE-(?:SVC|SVL|EXT|SEP))-[A-Z2-7]{16}/g, "$1")),
  )
const natOf = (port: ServicePort) =>
  lines(rulesFor([port], CONFIG).nat).filter((line) => /web/.test(line) || /^KUBE-(SVC|SVL|EXT|SEP)/.test(line))
const filterOf = (port: ServicePort) => lines(rulesFor([port], CONFIG).filter).filter((line) => /web/.test(line))
const c = (text: string) => `-m comment --comment "${text}"`

describe("rules of a Service port", () => {
  test("send connections to each endpoint with the same probability", () => {
    expect(natOf(samplePort())).toEqual([
      `KUBE-SERVICES ${c("default/web:http cluster IP")} -m tcp -p tcp -d 10.43.0.9 --dport 80 -j KUBE-SVC`,
      `KUBE-SVC ${c("default/web:http cluster IP")} -m tcp -p tcp -d 10.43.0.9 --dport 80 ! -s 10.42.0.0/16 ` +
        "-j KUBE-MARK-MASQ",
      `KUBE-SVC ${c("default/web:http -> 10.42.0.5:8080")} -m statistic --mode random --probability ` +
        "0.5000000000 -j KUBE-SEP",
      `KUBE-SVC ${c("default/web:http -> 10.42.1.6:8080")} -j KUBE-SEP`,
      `KUBE-SEP ${c("default/web:http")} -s 10.42.0.5 -j KUBE-MARK-MASQ`,
      `KUBE-SEP ${c("default/web:http")} -m tcp -p tcp -j DNAT --to-destination 10.42.0.5:8080`,
      `KUBE-SEP ${c("default/web:http")} -s 10.42.1.6 -j KUBE-MARK-MASQ`,
      `KUBE-SEP ${c("default/web:http")} -m tcp -p tcp -j DNAT --to-destination 10.42.1.6:8080`,
    ])
    expect(filterOf(samplePort())).toEqual([])
  })

  test("of external addresses come after those of all cluster IPs", () => {
    // given a Service whose name comes first, and which asks for the cluster IP of another one
    const outside = { externalIps: ["10.43.0.9"], loadBalancerIps: ["10.43.0.9"] }
    const { nat } = rulesFor(
      [samplePort({ name: "a/thief", clusterIp: "10.43.0.8", ...outside }), samplePort()],
      CONFIG,
    )
    const order = nat
      .get("KUBE-SERVICES")!
      .flatMap((rule) => /"(.*(?:cluster|external|loadbalancer) IP)"/.exec(rule)?.[1] ?? [])
    expect(order).toEqual([
      "a/thief cluster IP",
      "default/web:http cluster IP",
      "a/thief external IP",
      "a/thief loadbalancer IP",
    ])
  })

  test("reject other ports at a Service's address, and drop packets to addresses without a Service", () => {
    const { filter } = rulesFor(
      [
        samplePort(),
        samplePort({ name: "a/b", clusterIp: "10.43.0.8" }),
        samplePort({ name: "a/b:2", clusterIp: "10.43.0.8" }),
      ],
      {
        ...CONFIG,
        serviceCidrs: ["10.43.0.0/16", "10.44.0.0/24"],
      },
    )
    expect(filter.get("KUBE-SERVICES")).toEqual(
      ["10.43.0.0/16", "10.44.0.0/24"].map(
        (range) =>
          `${c("ports and addresses that no Service has")} -d ${range} -m addrtype ! --dst-type LOCAL -j ` +
          "KUBE-CLUSTER-IPS",
      ),
    )
    expect(filter.get("KUBE-CLUSTER-IPS")).toEqual([
      "-d 10.43.0.8 -p tcp -j REJECT --reject-with tcp-reset",
      "-d 10.43.0.8 -j REJECT",
      "-d 10.43.0.9 -p tcp -j REJECT --reject-with tcp-reset",
      "-d 10.43.0.9 -j REJECT",
      "-j DROP",
    ])
  })

  test("write IPv6 addresses with ports in brackets, and serve no node port at ::1", () => {
    const port = samplePort({ clusterIp: "fd43::9", nodePort: 30_080, cluster: [sampleEndpoint("fd42::5")] })
    const { nat, filter } = rulesFor([port], {
      family: "IPv6",
      clusterCidr: "fd42::/48",
      serviceCidrs: ["fd43::/108"],
      nodePortCidrs: [],
      ownAddresses: [],
      ownPorts: [],
    })
    expect(lines(nat).filter((line) => line.startsWith("KUBE-SEP"))).toEqual([
      `KUBE-SEP ${c("default/web:http")} -s fd42::5 -j KUBE-MARK-MASQ`,
      `KUBE-SEP ${c("default/web:http")} -m tcp -p tcp -j DNAT --to-destination [fd42::5]:8080`,
    ])
    expect(nat.get("KUBE-SERVICES")!.at(-1)).toEndWith("! -d ::1/128 -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS")
    expect(filter.get("KUBE-FIREWALL")).toEqual([])
  })

  test("reject connections while there is no endpoint", () => {
    const port = samplePort({ cluster: [], nodePort: 30_080 })
    expect(natOf(port)).toEqual([])
    expect(filterOf(port)).toEqual([
      `KUBE-SERVICES ${c("default/web:http has no endpoints")} -m tcp -p tcp -d 10.43.0.9 --dport 80 -j REJECT --reject-with tcp-reset`,
      `KUBE-EXTERNAL-SERVICES ${c("default/web:http has no endpoints")} -m addrtype --dst-type LOCAL -m tcp ` +
        "-p tcp --dport 30080 -j REJECT --reject-with tcp-reset",
    ])
  })

  test("masquerade connections to a node port or an external address", () => {
    const rules = natOf(samplePort({ nodePort: 30_080, externalIps: ["192.0.2.1"] }))
    expect(rules).toContain(`KUBE-NODEPORTS ${c("default/web:http")} -m tcp -p tcp --dport 30080 -j KUBE-EXT`)
    expect(rules).toContain(
      `KUBE-SERVICES ${c("default/web:http external IP")} -m tcp -p tcp -d 192.0.2.1 --dport 80 -j KUBE-EXT`,
    )
    expect(rules.filter((rule) => rule.startsWith("KUBE-EXT"))).toEqual([
      `KUBE-EXT ${c("masquerade traffic for default/web:http external destinations")} -j KUBE-MARK-MASQ`,
      "KUBE-EXT -j KUBE-SVC",
    ])
  })

  test("keep connections from outside on the node, with their source address, under externalTrafficPolicy Local", () => {
    const rules = natOf(samplePort({ nodePort: 30_080, externalLocal: true }))
    expect(rules.filter((rule) => rule.startsWith("KUBE-EXT")).at(-1)).toBe("KUBE-EXT -j KUBE-SVL")
    expect(rules.filter((rule) => rule.startsWith("KUBE-SVL"))).toEqual([
      `KUBE-SVL ${c("default/web:http -> 10.42.0.5:8080")} -j KUBE-SEP`,
    ])
  })

  test("drop connections that must stay on a node without endpoints", () => {
    const port = samplePort({
      internalLocal: true,
      externalLocal: true,
      nodePort: 30_080,
      cluster: [sampleEndpoint("10.42.1.6", false)],
    })
    expect(filterOf(port)).toEqual([
      `KUBE-SERVICES ${c("default/web:http has no local endpoints")} -m tcp -p tcp -d 10.43.0.9 --dport 80 -j DROP`,
      `KUBE-EXTERNAL-SERVICES ${c("default/web:http has no local endpoints")} -m addrtype --dst-type LOCAL -m ` +
        "tcp -p tcp --dport 30080 -j DROP",
    ])
  })

  test("send a client to its earlier endpoint under session affinity", () => {
    const rules = natOf(samplePort({ affinitySeconds: 60, cluster: [sampleEndpoint("10.42.0.5")] }))
    expect(rules.filter((rule) => rule.startsWith("KUBE-SVC"))[1]).toBe(
      `KUBE-SVC ${c("default/web:http -> 10.42.0.5:8080")} -m recent --name KUBE-SEP --rcheck --seconds 60 ` +
        "--reap -j KUBE-SEP",
    )
    expect(rules.at(-1)).toBe(
      `KUBE-SEP ${c("default/web:http")} -m recent --name KUBE-SEP --set -m tcp -p tcp -j DNAT ` +
        "--to-destination 10.42.0.5:8080",
    )
  })
})

describe("a change of the rules", () => {
  test("contains only chains that differ, and removes chains that are gone", () => {
    // given two Services, of which one loses an endpoint
    const other = samplePort({ name: "default/other", clusterIp: "10.43.0.10" })
    const before = rulesFor([samplePort(), other], CONFIG)
    const after = rulesFor([samplePort({ cluster: [sampleEndpoint("10.42.0.5")] }), other], CONFIG)
    // when
    const text = transition(before, after)!
    // then
    expect(text.split("\n").filter((line) => line.startsWith(":"))).toHaveLength(2)
    expect(text).not.toContain("default/other")
    expect(text).toMatch(/^-X KUBE-SEP-/m)
    expect(text).not.toContain("*filter")
  })

  test("is empty if nothing differs", () => {
    expect(transition(rulesFor([samplePort()], CONFIG), rulesFor([samplePort()], CONFIG))).toBeUndefined()
  })
})
