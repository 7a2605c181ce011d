/** One pod, from its creation until it runs, in a test cluster. */
import { Pod, startCluster } from "../../components/cluster/testing/testing.ts"
import { beginWalk, endWalk } from "./record.ts"

await using cluster = await startCluster({ nodes: 1 })
await cluster.advance("30s")
beginWalk()
await cluster.client.create(Pod, {
  metadata: { name: "walker", namespace: "default" },
  spec: { containers: [{ name: "c", image: "registry.k8s.io/pause:3.10" }] },
})
await cluster.waitFor(Pod, "walker", "condition=Ready")
endWalk()
