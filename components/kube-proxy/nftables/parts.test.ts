import { describe, expect, test } from "bun:test"
import { sampleEndpoint, samplePort } from "../service-port.fixtures.ts"
import type { ServicePort } from "../service-ports.ts"
import { partsOf } from "./parts.ts"

const HERE = sampleEndpoint("10.42.0.5")
const ELSEWHERE = sampleEndpoint("10.42.1.6", false)
const NODE_PORT = { nodePort: 30_080, cluster: [HERE] }

/** Returns the elements of a Service port as `container key : value`, without comments. */
const elementsOf = (port: ServicePort) =>
  partsOf([port]).elements.map(({ container, key, value }) =>
    `${container} ${key} ${value.replace(/^comment "[^"]*" /, "")}`.trim(),
  )
const ALWAYS = ["cluster-ips 10.43.0.9", "hairpin-connections 10.42.0.5 . 10.42.0.5 . tcp . 8080"]

const CASES: readonly {
  readonly title: string
  readonly given: Partial<ServicePort>
  /** Besides ALWAYS. */
  readonly wants: readonly string[]
}[] = [
  {
    title: "a cluster IP has all endpoints by number",
    given: {},
    wants: [
      "endpoint-ips-tcp 10.43.0.9 . 80 . 0 : 10.42.0.5 . 8080",
      "endpoint-ips-tcp 10.43.0.9 . 80 . 1 : 10.42.1.6 . 8080",
      "service-ips 10.43.0.9 . tcp . 80 : goto spread-ips-tcp-2",
    ],
  },
  {
    title: "internalTrafficPolicy Local has the endpoints of this node, with numbers of their own",
    given: { internalLocal: true },
    wants: [
      "endpoint-ips-tcp 10.43.0.9 . 80 . 65536 : 10.42.0.5 . 8080",
      "service-ips 10.43.0.9 . tcp . 80 : goto spread-ips-tcp-local-1",
    ],
  },
  {
    title: "a node port and an external IP go through the chains for connections from outside",
    given: { ...NODE_PORT, externalIps: ["192.0.2.1"] },
    wants: [
      "endpoint-ips-tcp 10.43.0.9 . 80 . 0 : 10.42.0.5 . 8080",
      "service-ips 10.43.0.9 . tcp . 80 : goto spread-ips-tcp-1",
      "endpoint-ips-tcp 192.0.2.1 . 80 . 0 : 10.42.0.5 . 8080",
      "service-ips 192.0.2.1 . tcp . 80 : goto external-ips",
      "cluster-policy-ips 192.0.2.1 . tcp . 80 : goto spread-ips-tcp-1",
      "endpoint-nodeports-tcp 30080 . 0 : 10.42.0.5 . 8080",
      "service-nodeports tcp . 30080 : goto external-nodeports",
      "cluster-policy-nodeports tcp . 30080 : goto spread-nodeports-tcp-1",
    ],
  },
  {
    title: "externalTrafficPolicy Local has both lists of endpoints",
    given: { nodePort: 30_080, externalLocal: true, cluster: [HERE, ELSEWHERE] },
    wants: [
      "endpoint-ips-tcp 10.43.0.9 . 80 . 0 : 10.42.0.5 . 8080",
      "endpoint-ips-tcp 10.43.0.9 . 80 . 1 : 10.42.1.6 . 8080",
      "service-ips 10.43.0.9 . tcp . 80 : goto spread-ips-tcp-2",
      "endpoint-nodeports-tcp 30080 . 0 : 10.42.0.5 . 8080",
      "endpoint-nodeports-tcp 30080 . 1 : 10.42.1.6 . 8080",
      "service-nodeports tcp . 30080 : goto external-local-nodeports",
      "cluster-policy-nodeports tcp . 30080 : goto spread-nodeports-tcp-2",
      "endpoint-nodeports-tcp 30080 . 65536 : 10.42.0.5 . 8080",
      "local-policy-nodeports tcp . 30080 : goto spread-nodeports-tcp-local-1",
    ],
  },
  {
    title: "source ranges are checked before a load balancer's address",
    given: { cluster: [HERE], loadBalancerIps: ["192.0.2.2"], sourceRanges: ["10.0.0.0/8"] },
    wants: [
      "endpoint-ips-tcp 10.43.0.9 . 80 . 0 : 10.42.0.5 . 8080",
      "service-ips 10.43.0.9 . tcp . 80 : goto spread-ips-tcp-1",
      "endpoint-ips-tcp 192.0.2.2 . 80 . 0 : 10.42.0.5 . 8080",
      "service-ips 192.0.2.2 . tcp . 80 : goto external-ips",
      "cluster-policy-ips 192.0.2.2 . tcp . 80 : goto spread-ips-tcp-1",
      "firewall-ips 192.0.2.2 . tcp . 80 : goto firewall-0CD6D6BC-10.0.0.0.8",
    ],
  },
]

describe("nftables elements of a Service port", () => {
  test.each(CASES)("$title", ({ given, wants }) =>
    expect(elementsOf(samplePort(given)).sort()).toEqual([...ALWAYS, ...wants].sort()),
  )

  test("have the same names for IPv6 as for IPv4, in a separate table with rules of its family", () => {
    // given
    const port = samplePort({
      clusterIp: "fd43::9",
      cluster: [sampleEndpoint("fd42::5")],
      loadBalancerIps: ["2001:db8::2"],
      sourceRanges: ["2001:db8:7::/64"],
    })
    // when, then
    expect(elementsOf(port)).toEqual([
      "cluster-ips fd43::9",
      "endpoint-ips-tcp fd43::9 . 80 . 0 : fd42::5 . 8080",
      "service-ips fd43::9 . tcp . 80 : goto spread-ips-tcp-1",
      "endpoint-ips-tcp 2001:db8::2 . 80 . 0 : fd42::5 . 8080",
      "service-ips 2001:db8::2 . tcp . 80 : goto external-ips",
      "cluster-policy-ips 2001:db8::2 . tcp . 80 : goto spread-ips-tcp-1",
      "firewall-ips 2001:db8::2 . tcp . 80 : goto firewall-1F572CC5-2001_db8_7__.64",
      "hairpin-connections fd42::5 . fd42::5 . tcp . 8080",
    ])
    expect([...partsOf([port]).chains.values()].flat()).toEqual([
      "meta l4proto tcp dnat ip6 to ip6 daddr . tcp dport . numgen random mod 1 offset 0 map @endpoint-ips-tcp",
      "drop",
      "ip6 saddr != { 2001:db8:7::/64 } drop",
    ])
  })

  test.each([
    { title: "are rejected if there is no endpoint", cluster: [], wants: "goto reject-chain" },
    { title: "are dropped if there is no endpoint on this node", cluster: [ELSEWHERE], wants: "drop" },
  ])("packets that must stay on this node $title", ({ cluster, wants }) =>
    expect(
      elementsOf(samplePort({ cluster, nodePort: 30_080, internalLocal: true, externalLocal: true })).filter(
        (element) => element.startsWith("no-endpoint-"),
      ),
    ).toEqual([`no-endpoint-services 10.43.0.9 . tcp . 80 : ${wants}`, `no-endpoint-nodeports tcp . 30080 : ${wants}`]),
  )

  test("have comments with the name of their Service, truncated to nft's limit", () => {
    const commentsOf = (name: string) =>
      partsOf([samplePort({ name, cluster: [HERE], nodePort: 30_080, externalLocal: true })]).elements.flatMap(
        ({ value }) => /comment "(.*)"/.exec(value)?.[1] ?? [],
      )
    expect(commentsOf("default/web")[0]).toBe("default/web -> 10.42.0.5:8080")
    for (const comment of commentsOf("x".repeat(200))) expect(comment).toHaveLength(127)
  })

  test("a chain of endpoints uses the first one if the random one is gone, and drops packets without any", () => {
    expect(partsOf([samplePort()]).chains.get("spread-ips-tcp-2")).toEqual([
      "meta l4proto tcp dnat ip to ip daddr . tcp dport . numgen random mod 2 offset 0 map @endpoint-ips-tcp",
      "meta l4proto tcp dnat ip to ip daddr . tcp dport . numgen random mod 1 offset 0 map @endpoint-ips-tcp",
      "drop",
    ])
  })

  test("affinity stores clients in a set for each endpoint, whose name contains the timeout", () => {
    const { chains, affinities } = partsOf([samplePort({ affinitySeconds: 60, cluster: [HERE] })])
    const [[set, seconds] = []] = affinities
    expect(set).toMatch(/^affinity-[0-9A-F]{8}-default\/web\/tcp\/http__10\.42\.0\.5\/8080\/60$/)
    expect(seconds).toBe(60)
    const endpoint = [...chains.keys()].find((name) => name.startsWith("endpoint-"))!
    expect([...chains.values()]).toEqual([
      [
        `update @${set} { ip saddr }`,
        'meta l4proto tcp dnat to 10.42.0.5:8080 comment "default/web:http -> 10.42.0.5:8080"',
      ],
      [`ip saddr @${set} goto ${endpoint}`, `numgen random mod 1 vmap { 0 : goto ${endpoint} }`],
    ])
  })
})
