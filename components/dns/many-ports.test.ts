import { expect, test } from "bun:test"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import type { Listers } from "../../pkg/client/informer.ts"
import { Records } from "./records.ts"

const metadata = { name: "web", namespace: "default" }
const ports = Array.from({ length: 5000 }, (_, i) => ({ name: `p${i}`, protocol: "TCP", port: i + 1 }))
const slice = {
  metadata,
  ports,
  endpoints: Array.from({ length: 1000 }, (_, i) => ({ addresses: [`10.42.${i >> 8}.${i & 255}`] })),
}

/** The records of one Service with 1,000 endpoints and 5,000 ports. */
function recordsOf(clusterIP: string): Records {
  const objects = new Map<unknown, object>([
    [Service, { metadata, spec: { clusterIP, clusterIPs: [clusterIP], ports } }],
    [EndpointSlice, slice],
    [Namespace, { metadata: { name: "default" } }],
  ])
  const of = (resource: unknown) => ({ get: () => objects.get(resource), by: () => [objects.get(resource)] })
  return new Records({ of } as unknown as Listers, "cluster.local")
}

test.each(["None", "10.43.0.9"])("a Service (%s) has no more SRV records than a message holds", (clusterIP) => {
  const records = recordsOf(clusterIP)
  // all its ports would be five million records
  expect(records.find("web.default.svc.cluster.local", "SRV")).toHaveLength(4096)
  // and one port has one for each endpoint
  const ofPort = records.find("_p7._tcp.web.default.svc.cluster.local", "SRV")
  expect(ofPort).toHaveLength(clusterIP === "None" ? 1000 : 1)
  expect(ofPort?.[0]).toMatchObject({ type: "SRV", data: { port: 8 } })
})
