import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { RecordType } from "dns-packet"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"
import { shown, startDns, type RunningDns } from "./dns.fixtures.ts"

const reverse = (address: string): string => `${address.split("").toReversed().join(".")}.ip6.arpa`

describe("cluster DNS with both families", () => {
  let cluster: Cluster
  let dns: RunningDns

  beforeAll(async () => {
    cluster = await startCluster({ components: { scheduler: false, controllers: false }, ipFamilies: ["IPv4", "IPv6"] })
    const { client } = cluster
    const metadata = (name: string) => ({ name, namespace: "default" })
    // given a Service of both families and a headless one with a slice of each
    await client.create(Service, {
      metadata: metadata("web"),
      spec: {
        clusterIP: "10.43.0.80",
        clusterIPs: ["10.43.0.80", "fd43::80"],
        ipFamilyPolicy: "RequireDualStack",
        ports: [{ name: "http", port: 80 }],
      },
    })
    await client.create(Service, { metadata: metadata("db"), spec: { clusterIP: "None", ports: [{ port: 5432 }] } })
    for (const [addressType, address] of [
      ["IPv4", "10.42.0.5"],
      ["IPv6", "fd42::5"],
    ] as const)
      await client.create(EndpointSlice, {
        metadata: { ...metadata(`db-${addressType.toLowerCase()}`), labels: { "kubernetes.io/service-name": "db" } },
        addressType,
        endpoints: [{ addresses: [address], hostname: "db-0" }],
        ports: [{ port: 5432 }],
      })
    dns = await startDns(cluster)
  })
  afterAll(async () => {
    await dns.stop()
    await cluster.stop()
  })

  const ANSWERS: readonly { readonly name: string; readonly type: RecordType; readonly wants: string }[] = [
    { name: "web.default.svc.cluster.local", type: "A", wants: "10.43.0.80" },
    { name: "web.default.svc.cluster.local", type: "AAAA", wants: "fd43::80" },
    { name: "db.default.svc.cluster.local", type: "A", wants: "10.42.0.5" },
    { name: "db.default.svc.cluster.local", type: "AAAA", wants: "fd42::5" },
    { name: "db-0.db.default.svc.cluster.local", type: "AAAA", wants: "fd42::5" },
    { name: "fd42--5.default.pod.cluster.local", type: "AAAA", wants: "fd42::5" },
    { name: reverse("fd430000000000000000000000000080"), type: "PTR", wants: "web.default.svc.cluster.local" },
    { name: reverse("fd420000000000000000000000000005"), type: "PTR", wants: "db-0.db.default.svc.cluster.local" },
  ]
  test.each([...ANSWERS])("answers $type of $name", async ({ name, type, wants }) => {
    expect(shown((await dns.ask(name, type)).answers)).toEqual([`${type} ${name} ${wants}`])
  })
})
