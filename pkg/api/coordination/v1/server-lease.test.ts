import { expect, test } from "bun:test"
import { namesIn, servingAnnotations, servingNamesOf } from "./server-lease.ts"

test("the names and addresses of a server's certificate are stored in the server's Lease", () => {
  const names = namesIn(
    "DNS:K3ts.example.com, DNS:kubernetes, IP Address:192.0.2.1, IP Address:FD00:0:0:0:0:0:0:1, URI:a:b",
  )
  expect(names).toEqual(["k3ts.example.com", "kubernetes", "192.0.2.1", "fd00::1"])
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec: {} } as const
  expect(servingNamesOf({ ...lease, metadata: { annotations: servingAnnotations(names) } })).toEqual(names)
  expect(servingNamesOf({ ...lease, metadata: {} })).toEqual([])
})
