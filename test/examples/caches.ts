/**
 * A custom resource and its operator: a Cache wants a Deployment of so many replicas, and tells how many of them are
 * ready. caches.test.ts tests it in virtual time.
 */
import {
  Deployment,
  defineController,
  defineCustomResource,
  s,
  splitKey,
  type ObjectOf,
} from "../../pkg/operator/operator.ts"

export const caches = defineCustomResource({
  group: "example.com",
  kind: "Cache",
  shortNames: ["ca"],
  versions: {
    v1: {
      spec: s
        .object({
          replicas: s.integer({ minimum: 1, maximum: 10 }).default(1),
          memory: s.oneOf("small", "large").default("small"),
          image: s.string({ minLength: 1 }).describe("Image of the cache server."),
          labels: s.map(s.string()).optional(),
        })
        .rule("self.memory != 'large' || self.replicas <= 3", "there is room for three large caches"),
      status: s.object({ ready: s.integer().optional() }),
      columns: { Ready: { path: ".status.ready", type: "integer" }, Memory: ".spec.memory" },
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.ready" },
    },
  },
})
export const Cache = caches.kinds.v1
export type Cache = ObjectOf<typeof Cache>

/** Receives a key and never an event, so it may run at any time and any number of times. */
export const cacheController = defineController<Cache>({
  name: "caches",
  reconciles: Cache,
  watches: [{ resource: Deployment, keys: ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] }],
  async reconcile(key, { client, informers }) {
    const { namespace = "", name } = splitKey(key)
    const cache = informers.of(Cache).get(key)
    if (cache === undefined) return
    const labels = { ...cache.spec.labels, cache: name }
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        name,
        ownerReferences: [
          { apiVersion: Cache.apiVersion, kind: Cache.kind, name, uid: cache.metadata.uid ?? "", controller: true },
        ],
      },
      spec: {
        replicas: cache.spec.replicas,
        selector: { matchLabels: { cache: name } },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "cache", image: cache.spec.image, args: [cache.spec.memory] }] },
        },
      },
    }
    const as = { fieldManager: "caches", force: true }
    await client.patch(Deployment, { namespace, name }, { type: "apply", body: deployment }, as)
    const ready = informers.of(Deployment).get(key)?.status?.readyReplicas ?? 0
    if (cache.status?.ready === ready) return
    const body = { apiVersion: Cache.apiVersion, kind: Cache.kind, metadata: { name }, status: { ready } }
    await client.patch(Cache, { namespace, name }, { type: "apply", body }, { ...as, subresource: "status" })
  },
})
