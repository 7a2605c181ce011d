import { realClock } from "../../../pkg/clock/real.ts"
import { inOrder } from "../../../pkg/snapshot/in-order.ts"
import { packSnapshot } from "../../../pkg/snapshot/pack.ts"
import { ADMIN, clusterParts } from "./cluster-parts.ts"
import { ConfigMap, Deployment, Node, Service } from "./testing.ts"

/** When the snapshot was taken. */
export const TAKEN = Date.UTC(2026, 5, 7, 8, 9, 10)

/** A snapshot of a cluster with a node, a Deployment with a pod on it, a Service and a ConfigMap. */
export async function productionSnapshot(): Promise<{
  readonly bytes: Uint8Array
  readonly clusterIP: string | undefined
}> {
  const { assembly, ending } = clusterParts({ clock: "real", seed: 1 }, () => undefined)
  const { apiServer } = assembly
  await apiServer.start(ending.signal)
  const client = assembly.clientFor(ADMIN.name, ADMIN.groups)
  const inDefault = (name: string) => ({ name, namespace: "default" })
  const capacity = { cpu: "3", memory: "5Gi", pods: "20" }
  const addresses = [{ type: "InternalIP", address: "192.0.2.7" } as const]
  const node = await client.create(Node, {
    metadata: { name: "prod-1", labels: { zone: "z1", "node-role.kubernetes.io/control-plane": "true" } },
  })
  await client.updateStatus(Node, { ...node, status: { ...node.status, capacity, allocatable: capacity, addresses } })
  const labels = { app: "web" }
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } }
  await client.create(Deployment, {
    metadata: inDefault("web"),
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  })
  const { spec } = await client.create(Service, {
    metadata: inDefault("web"),
    spec: { selector: labels, ports: [{ port: 80 }] },
  })
  await client.create(ConfigMap, { metadata: inDefault("large"), data: { n: "x".repeat(100_000) } })
  const { objects, revision, cluster } = apiServer.image()
  const info = { revision, time: TAKEN, version: "1", node: "prod-1", cluster }
  const files = [{ path: "token", content: Buffer.from("of production") }]
  const parts = await Array.fromAsync(packSnapshot({ info, files, objects: inOrder(objects, realClock) }, "zstd"))
  ending.abort(new Error("the snapshot has been taken"))
  await apiServer.stop()
  return { bytes: Buffer.concat(parts), clusterIP: spec.clusterIP }
}
