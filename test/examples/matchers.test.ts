import { describe, expect, test } from "bun:test"
import { Pod, StatefulSet, startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { matchers, type ClusterMatchers } from "../../components/cluster/testing/matchers/matchers.ts"

declare module "bun:test" {
  interface Matchers<T> extends ClusterMatchers {}
}
expect.extend(matchers)

const REPLICAS = 4
const web = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "web" },
  spec: {
    replicas: REPLICAS,
    serviceName: "web",
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web" }] } },
  },
}
/** One pod starts after the other, each in half a second. */
const images = { web: { startMs: 500 } }
const allRun = (pods: readonly Pod[]): boolean =>
  pods.length === REPLICAS &&
  pods.every(({ status }) => status.conditions?.some(({ type, status }) => type === "Ready" && status === "True"))

/** The ways in which users of Bun wait. The runner runs all but the first in an event loop of its own. */
const WAYS: Readonly<Record<string, (cluster: Cluster) => Promise<unknown>>> = {
  "await eventually": (cluster) => cluster.eventually(Pod, {}, allRun),
  "expect(eventually).resolves": async (cluster) =>
    expect(cluster.eventually(Pod, {}, allRun)).resolves.toHaveLength(REPLICAS),
  "expect(waitFor).resolves": async (cluster) =>
    expect(cluster.waitFor(StatefulSet, "web", "jsonpath={.status.readyReplicas}=4")).resolves.toBeDefined(),
  "expect(cluster).toBecomeReady": async (cluster) => expect(cluster).toBecomeReady(StatefulSet, "web"),
}

describe("in bun test", () => {
  test.each(Object.keys(WAYS))("%s ends at the moment at which the pods are ready", async (way) => {
    // given
    await using cluster = await startCluster({ nodes: 1, seed: 1, images })
    await cluster.apply(web)
    const began = cluster.now.getTime()
    // when
    await WAYS[way]!(cluster)
    // then
    expect(cluster.now.getTime() - began).toBe(REPLICAS * images.web.startMs)
  })

  test("a matcher and advance write the same history", async () => {
    // given
    await using waited = await startCluster({ nodes: 1, seed: 1, images })
    await using advanced = await startCluster({ nodes: 1, seed: 1, images })
    await waited.apply(web)
    await advanced.apply(web)
    // when
    await expect(waited).toBecomeReady(StatefulSet, "web")
    await advanced.advance(REPLICAS * images.web.startMs)
    // then
    const versions = (cluster: Cluster) =>
      cluster.list(Pod).then((pods) => pods.map(({ metadata, status }) => [metadata.resourceVersion, status]))
    expect(await versions(waited)).toEqual(await versions(advanced))
  })
})
