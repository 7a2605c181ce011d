/**
 * A drill: how long is a service short of pods when a node dies, and what does `tolerationSeconds` do to that? Ten
 * minutes of outage take milliseconds.
 */
import { expect, test } from "bun:test"
import { Deployment, Node, Pod, startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

const service = (tolerationSeconds: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "service" },
  spec: {
    replicas: 6,
    selector: { matchLabels: { app: "service" } },
    template: {
      metadata: { labels: { app: "service" } },
      spec: {
        containers: [{ name: "service", image: "example.com/service:1" }],
        tolerations: ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"].map((key) => ({
          key,
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds,
        })),
      },
    },
  },
})

/** Seconds from the loss of a node to six ready pods on others. */
async function outage(cluster: Cluster, tolerationSeconds: number): Promise<number> {
  await cluster.apply(service(tolerationSeconds))
  await cluster.eventually(Deployment, {}, ([deployment]) => deployment?.status.readyReplicas === 6)
  const [victim] = await cluster.list(Pod, { labels: "app=service" })
  const lost = victim!.spec.nodeName!
  const began = cluster.now.getTime()
  await cluster.faults.nodeLost(lost)
  const elsewhere = async () =>
    (await cluster.list(Pod, { labels: "app=service", phase: "Running" })).filter(
      ({ spec, metadata }) => spec.nodeName !== lost && metadata.deletionTimestamp === undefined,
    ).length
  await cluster.eventually(async () => (await elsewhere()) === 6, { within: "30m" })
  return (cluster.now.getTime() - began) / 1000
}

test.each([
  [300, 330, 360],
  [10, 40, 70],
])(
  "with tolerationSeconds %d the service is whole again after %d to %d seconds",
  async (tolerationSeconds, least, most) => {
    // given three nodes
    await using cluster = await startCluster({ nodes: 3 })
    // when one dies
    const seconds = await outage(cluster, tolerationSeconds)
    // then
    expect(seconds).toBeGreaterThanOrEqual(least)
    expect(seconds).toBeLessThanOrEqual(most)
  },
)

test("a node that comes back runs pods again", async () => {
  // given a node that was lost, and is back
  await using cluster = await startCluster({ nodes: 2 })
  const fault = await cluster.faults.nodeLost("node-0")
  await cluster.advance("5m")
  await fault.end()
  await cluster.eventually(Node, {}, (nodes) => nodes.every(({ spec }) => (spec.taints ?? []).length === 0))
  // when
  await cluster.apply(service(300))
  // then pods run on both
  const pods = await cluster.eventually(Pod, { phase: "Running" }, (all) => all.length === 6)
  expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(["node-0", "node-1"]))
})
