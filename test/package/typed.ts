/** A program that uses the package's types as users do. `@ts-expect-error` marks what they must refuse. */
export const TYPED = `
import { Deployment, Pod, customKind, defineController, defineCustomResource, s, startCluster } from "k3ts/testing"
import type { Cluster, CustomObject, ObjectOf, Resource } from "k3ts/testing"
import { connect, runOperator, stopSignal } from "k3ts/operator"

export async function use(cluster: Cluster): Promise<void> {
  const pods = await cluster.list(Pod, { labels: "app=web", phase: "Running" })
  const image: string | undefined = pods[0]?.spec.containers[0]?.image
  const deployment: Deployment = await cluster.get(Deployment, "web")
  const replicas: number = deployment.spec.replicas
  // @ts-expect-error the answer has no such field
  void deployment.spec.replica
  // @ts-expect-error objects are not changed
  deployment.spec.replicas = replicas + 1
  await cluster.client.create(Pod, { metadata: { name: String(image) }, spec: { containers: [{ name: "a", image: "b" }] } })
  // @ts-expect-error a container has a name
  await cluster.client.create(Pod, { metadata: { name: "x" }, spec: { containers: [{ image: "b" }] } })
  await cluster.eventually(Deployment, {}, ([web]) => web?.status.readyReplicas === 3, { within: "5m" })
  await cluster.addNode({ taints: [{ key: "gpu", effect: "NoSchedule" }] })
  const kind: Resource = Pod
  await cluster.delete(kind, "web-0")
  await cluster.faults.requests({ verb: "create", resource: "pods", error: "Conflict" })
}

type Backup = CustomObject<{ readonly schedule: string }, { readonly last?: string }>
const Backup = customKind<Backup>({ group: "example.com", version: "v1", kind: "Backup", plural: "backups", scope: "Namespaced" })

const caches = defineCustomResource({
  group: "example.com",
  kind: "Cache",
  versions: { v1: { spec: s.object({ replicas: s.integer({ minimum: 1 }).default(1), memory: s.oneOf("small", "large") }) } },
})
const Cache = caches.kinds.v1
type Cache = ObjectOf<typeof Cache>

const controller = defineController({
  name: "caches",
  reconciles: Cache,
  async reconcile(key, { client, informers }) {
    const cache: Cache | undefined = informers.of(Cache).get(key)
    if (cache === undefined) return
    const replicas: number = cache.spec.replicas
    const { spec } = await client.get(Backup, cache.metadata)
    const schedule: string = spec.schedule
    await client.create(Cache, { metadata: { name: schedule }, spec: { memory: replicas > 1 ? "large" : "small" } })
    return { requeueAfter: 1000 }
  },
})

await using cluster = await startCluster({ nodes: [{ name: "a" }], preload: caches.crd, images: { web: { cpu: () => 0.5 } } })
await use(cluster)
using cluster2 = connect()
await runOperator(cluster2, [controller], { signal: stopSignal() })
`
