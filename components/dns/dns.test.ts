import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createSocket } from "node:dgram"
import { connect } from "node:net"
import { decode, encode, type Answer, type Packet, type RecordType } from "dns-packet"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { InputOfResource } from "../../pkg/apimachinery/resource.ts"
import type { Component } from "../../pkg/component/component.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"
import { reverseAddress } from "./answer.ts"
import { createDns } from "./dns.ts"

const ADDRESS = "127.0.0.1"
/** A port that is free for both protocols, most likely. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const socket = createSocket("udp4")
    socket.bind(0, ADDRESS, () => {
      const { port } = socket.address()
      socket.close(() => resolve(port))
    })
  })

const query = (name: string, type: RecordType): Packet => ({
  type: "query",
  id: 7,
  flags: 1 << 8,
  questions: [{ name, type }],
})

function overUdp(port: number, packet: Packet): Promise<Packet & { rcode?: string }> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4")
    socket.on("message", (bytes) => {
      socket.close()
      resolve(decode(bytes) as Packet & { rcode?: string })
    })
    socket.send(encode(packet), port, ADDRESS)
  })
}

function overTcp(port: number, packet: Packet): Promise<Packet> {
  return new Promise((resolve) => {
    const bytes = encode(packet)
    const socket = connect(port, ADDRESS, () =>
      socket.write(Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])),
    )
    let received = Buffer.alloc(0)
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return
      socket.destroy()
      resolve(decode(received.subarray(2)))
    })
  })
}

const shown = (answers: readonly Answer[] | undefined): string[] =>
  (answers ?? [])
    .map((answer) =>
      "data" in answer
        ? `${answer.type} ${answer.name} ${typeof answer.data === "string" ? answer.data : JSON.stringify(answer.data)}`
        : answer.type,
    )
    .sort()

describe("cluster DNS", () => {
  let cluster: Cluster
  let dns: Component
  let port = 0
  const ask = async (name: string, type: RecordType) => overUdp(port, query(name, type))

  beforeAll(async () => {
    cluster = await startCluster({ components: { scheduler: false, controllers: false } })
    const { client } = cluster
    const named = (name: string, spec: object) =>
      client.create(Service, { metadata: { name, namespace: "default" }, spec })
    await named("web", { clusterIP: "10.43.0.80", ports: [{ name: "http", port: 80 }] })
    await named("db", { clusterIP: "None", ports: [{ name: "sql", port: 5432 }] })
    await named("crowd", { clusterIP: "None", ports: [{ port: 1 }] })
    await named("out", { type: "ExternalName", externalName: "web.default.svc.cluster.local" })
    const slice = (
      name: string,
      endpoints: InputOfResource<typeof EndpointSlice>["endpoints"],
      portNumber: number,
      portName: string,
    ) =>
      client.create(EndpointSlice, {
        metadata: { name, namespace: "default", labels: { "kubernetes.io/service-name": name } },
        addressType: "IPv4",
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
    await slice(
      "crowd",
      Array.from({ length: 60 }, (_, i) => ({ addresses: [`10.42.9.${i + 1}`] })),
      1,
      "",
    )
    port = await freePort()
    dns = createDns(cluster.contextFor("system:dns", ["system:masters"]), {
      addresses: [ADDRESS],
      port,
      domain: "cluster.local",
      upstreams: [],
      holdAddresses: false,
    })
    await dns.start(new AbortController().signal)
  })
  afterAll(async () => {
    await dns.stop()
    await cluster.stop()
  })

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
  ])("says that %s does not exist", async (name) => {
    const answer = await ask(name, "A")
    expect([answer.rcode, answer.authorities?.[0]?.type]).toEqual(["NXDOMAIN", "SOA"])
  })

  test("gives the addresses of SRV targets along", async () => {
    const answer = await ask("_sql._tcp.db.default.svc.cluster.local", "SRV")
    expect(shown(answer.additionals)).toEqual([
      "A 10-42-0-6.db.default.svc.cluster.local 10.42.0.6",
      "A db-0.db.default.svc.cluster.local 10.42.0.5",
    ])
  })

  test("cuts off over UDP what does not fit, and gives all of it over TCP", async () => {
    const name = "crowd.default.svc.cluster.local"
    const short = (await ask(name, "A")) as Packet & { flag_tc?: boolean }
    expect([short.flag_tc, short.answers]).toEqual([true, []])
    expect((await overTcp(port, query(name, "A"))).answers).toHaveLength(60)
  })

  test("fails names outside the cluster at once where the host has no servers", async () => {
    expect((await ask("example.com", "A")).rcode).toBe("SERVFAIL")
  })

  test("goes on after garbage", async () => {
    const socket = createSocket("udp4")
    await new Promise<void>((resolve) => socket.send(Buffer.from("no dns message"), port, ADDRESS, () => resolve()))
    socket.close()
    expect((await ask("web.default.svc.cluster.local", "A")).answers).toHaveLength(1)
  })
})

test.each([
  ["1.0.42.10.in-addr.arpa", "10.42.0.1"],
  ["b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", "2001:db8::567:89ab"],
  ["web.default.svc.cluster.local", undefined],
])("%s is the reverse name of %p", (name, address) => {
  expect(reverseAddress(name)).toBe(address)
})
