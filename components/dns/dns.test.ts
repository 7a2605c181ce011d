import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createSocket } from "node:dgram"
import type { RecordType } from "dns-packet"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { InputOfResource } from "../../pkg/apimachinery/resource.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"
import { ADDRESS, overTcp, overUdp, query, shown, startDns, type RunningDns } from "./dns.fixtures.ts"
import { reverseAddress } from "./reverse.ts"

describe("cluster DNS", () => {
  let cluster: Cluster
  let dns: RunningDns
  const ask = (name: string, type: RecordType) => dns.ask(name, type)

  beforeAll(async () => {
    cluster = await startCluster({ components: { scheduler: false, controllers: false } })
    const { client } = cluster
    const named = (name: string, spec: object) =>
      client.create(Service, { metadata: { name, namespace: "default" }, spec })
    await named("web", { clusterIP: "10.43.0.80", ports: [{ name: "http", port: 80 }] })
    await named("db", { clusterIP: "None", ports: [{ name: "sql", port: 5432 }] })
    await client.create(Service, {
      metadata: { name: "kube-dns", namespace: "kube-system" },
      spec: { clusterIP: "10.43.0.10", ports: [{ name: "dns", port: 53, protocol: "UDP" }] },
    })
    await named("crowd", { clusterIP: "None", ports: [{ port: 1 }] })
    await named("out", { type: "ExternalName", externalName: "web.default.svc.cluster.local" })
    const slice = (
      name: string,
      endpoints: InputOfResource<typeof EndpointSlice>["endpoints"],
      portNumber: number,
      portName: string,
      addressType: "IPv4" | "IPv6" = "IPv4",
    ) =>
      client.create(EndpointSlice, {
        metadata: {
          name: `${name}-${addressType.toLowerCase()}`,
          namespace: "default",
          labels: { "kubernetes.io/service-name": name },
        },
        addressType,
        endpoints,
        ports: [{ name: portName, port: portNumber }],
      })
    await slice(
      "db",
      [
        { addresses: ["10.42.0.5"], hostname: "db-0" },
        { addresses: ["10.42.0.6"] },
        { addresses: ["10.42.0.7"], conditions: { ready: false } },
      ],
      5432,
      "sql",
    )
    await named("twins", { clusterIP: "None", ports: [{ name: "sql", port: 5432 }] })
    await named("strict", { clusterIP: "None", ports: [{ name: "sql", port: 5432 }] })
    await named("eager", { clusterIP: "None", publishNotReadyAddresses: true, ports: [{ name: "sql", port: 5432 }] })
    await named("nobody", { clusterIP: "None", ports: [{ name: "sql", port: 5432 }] })
    const twin = (hostname: string) => ({ addresses: ["192.0.2.10"], hostname })
    await slice("twins", [twin("alpha"), twin("beta")], 5432, "sql")
    await named("both", { clusterIP: "None", ports: [{ name: "sql", port: 5432 }] })
    await slice("both", [{ addresses: ["10.42.0.9"], hostname: "one" }], 5432, "sql")
    await slice("both", [{ addresses: ["fd42::9"], hostname: "one" }], 5432, "sql", "IPv6")
    const unready = { addresses: ["10.42.0.8"], hostname: "peer", conditions: { ready: false } }
    await slice("strict", [unready], 5432, "sql")
    await slice("eager", [unready], 5432, "sql")
    await slice(
      "crowd",
      Array.from({ length: 60 }, (_, i) => ({ addresses: [`10.42.9.${i + 1}`] })),
      1,
      "",
    )
    dns = await startDns(cluster)
  })
  afterAll(async () => {
    await dns.stop()
    await cluster.stop()
  })

  const srv = (name: string, weight: number, port: number, target: string): string =>
    `SRV ${name}.default.svc.cluster.local ` +
    `{"priority":0,"weight":${weight},"port":${port},"target":"${target}.default.svc.cluster.local"}`
  const table: readonly [name: string, type: RecordType, answers: readonly string[]][] = [
    ["web.default.svc.cluster.local", "A", ["A web.default.svc.cluster.local 10.43.0.80"]],
    ["WEB.default.svc.Cluster.local", "A", ["A WEB.default.svc.Cluster.local 10.43.0.80"]],
    ["web.default.svc.cluster.local", "AAAA", []],
    [
      "_http._tcp.web.default.svc.cluster.local",
      "SRV",
      [
        "SRV _http._tcp.web.default.svc.cluster.local " +
          '{"priority":0,"weight":100,"port":80,"target":"web.default.svc.cluster.local"}',
      ],
    ],
    [
      "db.default.svc.cluster.local",
      "A",
      ["A db.default.svc.cluster.local 10.42.0.5", "A db.default.svc.cluster.local 10.42.0.6"],
    ],
    ["twins.default.svc.cluster.local", "A", ["A twins.default.svc.cluster.local 192.0.2.10"]],
    ["alpha.twins.default.svc.cluster.local", "A", ["A alpha.twins.default.svc.cluster.local 192.0.2.10"]],
    ["beta.twins.default.svc.cluster.local", "A", ["A beta.twins.default.svc.cluster.local 192.0.2.10"]],
    [
      "_sql._tcp.twins.default.svc.cluster.local",
      "SRV",
      ["alpha", "beta"].map(
        (host) =>
          "SRV _sql._tcp.twins.default.svc.cluster.local " +
          `{"priority":0,"weight":50,"port":5432,"target":"${host}.twins.default.svc.cluster.local"}`,
      ),
    ],
    [
      "_sql._tcp.both.default.svc.cluster.local",
      "SRV",
      [
        "SRV _sql._tcp.both.default.svc.cluster.local " +
          '{"priority":0,"weight":100,"port":5432,"target":"one.both.default.svc.cluster.local"}',
      ],
    ],
    ["eager.default.svc.cluster.local", "A", ["A eager.default.svc.cluster.local 10.42.0.8"]],
    ["peer.eager.default.svc.cluster.local", "A", ["A peer.eager.default.svc.cluster.local 10.42.0.8"]],
    ["db.default.svc.cluster.local", "AAAA", []],
    ["db-0.db.default.svc.cluster.local", "A", ["A db-0.db.default.svc.cluster.local 10.42.0.5"]],
    ["10-42-0-6.db.default.svc.cluster.local", "A", ["A 10-42-0-6.db.default.svc.cluster.local 10.42.0.6"]],
    [
      "out.default.svc.cluster.local",
      "A",
      [
        "A web.default.svc.cluster.local 10.43.0.80",
        "CNAME out.default.svc.cluster.local web.default.svc.cluster.local",
      ],
    ],
    ["10-42-0-9.default.pod.cluster.local", "A", ["A 10-42-0-9.default.pod.cluster.local 10.42.0.9"]],
    ["80.0.43.10.in-addr.arpa", "PTR", ["PTR 80.0.43.10.in-addr.arpa web.default.svc.cluster.local"]],
    ["5.0.42.10.in-addr.arpa", "PTR", ["PTR 5.0.42.10.in-addr.arpa db-0.db.default.svc.cluster.local"]],
    ["default.svc.cluster.local", "A", []],
    // Without a port: those of the Service, or of the endpoint. Source: CoreDNS plugin/kubernetes/handler_test.go.
    ["web.default.svc.cluster.local", "SRV", [srv("web", 100, 80, "web")]],
    ["db.default.svc.cluster.local", "SRV", [srv("db", 50, 5432, "10-42-0-6.db"), srv("db", 50, 5432, "db-0.db")]],
    ["db-0.db.default.svc.cluster.local", "SRV", [srv("db-0.db", 100, 5432, "db-0.db")]],
    ["out.default.svc.cluster.local", "SRV", ["CNAME out.default.svc.cluster.local web.default.svc.cluster.local"]],
    ["cluster.local", "NS", ["NS cluster.local kube-dns.kube-system.svc.cluster.local"]],
    ["svc.cluster.local", "NS", []],
    ["ns.dns.cluster.local", "A", ["A ns.dns.cluster.local 10.43.0.10"]],
    ["web.default.svc.cluster.local", "SOA", []],
  ]
  test.each(table)("answers %s %s", async (name, type, answers) => {
    const answer = await ask(name, type)
    expect([answer.rcode, shown(answer.answers)]).toEqual(["NOERROR", [...answers]])
  })

  test.each([
    "nothing.default.svc.cluster.local",
    "web.nowhere.svc.cluster.local",
    "a.web.default.svc.cluster.local",
    "db-9.db.default.svc.cluster.local",
    "strict.default.svc.cluster.local",
    "peer.strict.default.svc.cluster.local",
    "nobody.default.svc.cluster.local",
  ])("answers NXDOMAIN for %s", async (name) => {
    const answer = await ask(name, "A")
    expect([answer.rcode, answer.authorities?.[0]?.type]).toEqual(["NXDOMAIN", "SOA"])
  })

  test("answers a name of the cluster, of a reverse zone or with a dot never by a node that has the same name", async () => {
    // given machines that have joined under names of others
    const joined = (name: string, address: string) =>
      cluster.client.create(Node, {
        metadata: { name },
        status: { addresses: [{ type: "InternalIP", address }] },
      })
    await joined("web.default.svc.cluster.local", "192.0.2.66")
    await joined("other.default.svc.cluster.local", "192.0.2.66")
    await joined("updates.example.com", "192.0.2.66")
    await joined("poses", "10.43.0.80")
    await joined("node-7", "192.0.2.7")
    // then
    const told = async (name: string, type: RecordType = "A") => {
      const answer = await ask(name, type)
      return [answer.rcode, ...shown(answer.answers)]
    }
    const web = "web.default.svc.cluster.local"
    expect(await told(web)).toEqual(["NOERROR", `A ${web} 10.43.0.80`])
    expect(await told("other.default.svc.cluster.local")).toEqual(["NXDOMAIN"])
    expect(await told("updates.example.com")).toEqual(["SERVFAIL"])
    expect(await told("80.0.43.10.in-addr.arpa", "PTR")).toEqual(["NOERROR", `PTR 80.0.43.10.in-addr.arpa ${web}`])
    expect(await told("66.2.0.192.in-addr.arpa", "PTR")).toEqual(["SERVFAIL"])
    expect(await told("node-7")).toEqual(["NOERROR", "A node-7 192.0.2.7"])
    expect(await told("7.2.0.192.in-addr.arpa", "PTR")).toEqual(["NOERROR", "PTR 7.2.0.192.in-addr.arpa node-7"])
  })

  test("adds the addresses of SRV targets to the response", async () => {
    const answer = await ask("_sql._tcp.db.default.svc.cluster.local", "SRV")
    expect(shown(answer.additionals)).toEqual([
      "A 10-42-0-6.db.default.svc.cluster.local 10.42.0.6",
      "A db-0.db.default.svc.cluster.local 10.42.0.5",
    ])
  })

  test("tells who is responsible for the zone, and where", async () => {
    const zone = await ask("cluster.local", "SOA")
    expect(zone.answers).toMatchObject([
      { type: "SOA", name: "cluster.local", data: { mname: "ns.dns.cluster.local" } },
    ])
    const servers = await ask("cluster.local", "NS")
    expect(shown(servers.additionals)).toEqual(["A kube-dns.kube-system.svc.cluster.local 10.43.0.10"])
  })

  test("truncates a large response over UDP, and sends all of it over TCP", async () => {
    const name = "crowd.default.svc.cluster.local"
    const short = await ask(name, "A")
    // 12 bytes of header, 39 of the question, and 16 for each A record, whose name is a pointer.
    expect([short.flag_tc, short.answers?.length]).toEqual([true, Math.floor((512 - 12 - 37) / 16)])
    const larger = await overUdp(dns.port, query(name, "A", 4096))
    expect([larger.flag_tc, larger.answers?.length]).toEqual([false, 60])
    expect((await overTcp(dns.port, query(name, "A"))).answers).toHaveLength(60)
  })

  test("answers SERVFAIL at once for names outside the cluster when the host has no servers", async () => {
    expect((await ask("example.com", "A")).rcode).toBe("SERVFAIL")
  })

  test("answers while other clients send invalid bytes or disconnect early", async () => {
    for (let i = 0; i < 20; i++) {
      const socket = createSocket("udp4")
      await new Promise<void>((resolve) =>
        socket.send(Buffer.from("no dns message"), dns.port, ADDRESS, () => socket.close(() => resolve())),
      )
      expect((await ask("web.default.svc.cluster.local", "A")).answers).toHaveLength(1)
    }
  })
})

test.each([
  ["1.0.42.10.in-addr.arpa", "10.42.0.1"],
  ["b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", "2001:db8::567:89ab"],
  ["web.default.svc.cluster.local", undefined],
])("%s is the reverse name of %p", (name, address) => {
  expect(reverseAddress(name)).toBe(address)
})
