/**
 * Testing a chart's rollout: does the new version replace the old one without a gap, and does a bad one stop where it
 * does no harm? Render the chart (`helm template …`) and apply the result; here it is test/examples/chart/web.yaml. The
 * images are simulated: each version's start and health are said in the test.
 */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Deployment, EndpointSlice, Pod, startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

const CHART = join(import.meta.dirname, "chart/web.yaml")
const healthy = { listensAfterMs: 3000, http: () => new Response("ok") }
const broken = { http: () => new Response("no database", { status: 500 }) }

const setImage = (cluster: Cluster, image: string) =>
  cluster.client.patch(
    Deployment,
    { namespace: "default", name: "web" },
    { type: "strategic", body: { spec: { template: { spec: { containers: [{ name: "web", image }] } } } } },
  )

/** Addresses that the Service sends traffic to. */
async function ready(cluster: Cluster): Promise<number> {
  const slices = await cluster.list(EndpointSlice, { labels: "kubernetes.io/service-name=web" })
  return slices.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions?.ready === true)
    .length
}

describe("the chart's rollout", () => {
  test("never has fewer than three ready pods", async () => {
    // given version 1.0, rolled out
    await using cluster = await startCluster({ nodes: 2, images: { "example.com/web": healthy } })
    await cluster.apply(CHART)
    await cluster.eventually(async () => (await ready(cluster)) === 3)
    // when 1.1 is rolled out
    await setImage(cluster, "example.com/web:1.1")
    let least = Infinity
    await cluster.eventually(
      async () => {
        least = Math.min(least, await ready(cluster))
        const pods = await cluster.list(Pod, { labels: "app=web" })
        return pods.length === 3 && pods.every(({ spec }) => spec.containers[0]!.image === "example.com/web:1.1")
      },
      { within: "2m" },
    )
    // then the Service always had its three
    expect(least).toBeGreaterThanOrEqual(3)
  })

  test("stops at a version that does not become healthy, and can be rolled back", async () => {
    // given 1.0
    await using cluster = await startCluster({
      nodes: 2,
      images: { "example.com/web": healthy, "example.com/web:2.0": broken },
    })
    await cluster.apply(CHART)
    await cluster.eventually(async () => (await ready(cluster)) === 3)
    // when 2.0 is rolled out, then it is given up after its deadline while 1.0 serves on
    await setImage(cluster, "example.com/web:2.0")
    await cluster.eventually(
      Deployment,
      {},
      ([web]) => web!.status.conditions?.some(({ reason }) => reason === "ProgressDeadlineExceeded") === true,
      { within: "5m" },
    )
    expect(await ready(cluster)).toBe(3)
    const [bad] = (await cluster.list(Pod)).filter(({ spec }) => spec.containers[0]!.image === "example.com/web:2.0")
    expect(String(await cluster.explain(bad!))).toContain("HTTP probe failed with statuscode: 500")
    // and 1.0 is all there is again when it is set back
    await setImage(cluster, "example.com/web:1.0")
    await cluster.eventually(async () =>
      (await cluster.list(Pod)).every(({ spec }) => spec.containers[0]!.image === "example.com/web:1.0"),
    )
  })
})
