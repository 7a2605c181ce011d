import { expect, test } from "bun:test"
import { Deployment, Pod, startCluster, type Cluster } from "../testing.ts"

/** Applies a bit of everything: rollouts, failures, back-off, probes, schedules, a lost node and deletions. */
async function mixedWorkload(seed: number): Promise<string> {
  await using cluster = await startCluster({
    nodes: 3,
    seed,
    images: {
      flaky: { runsMs: 700, exitCode: 1 },
      api: { listensAfterMs: 3000, http: () => new Response("ok") },
      slow: { pullMs: 4000, startMs: 500, onStop: { afterMs: 2000 } },
    },
  })
  const deployment = (name: string, replicas: number, image: string, container: object = {}) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image, ...container }] } },
    },
  })
  await cluster.apply([
    deployment("flaky", 2, "flaky:1"),
    deployment("api", 4, "api:1", { readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 2 } }),
    deployment("slow", 3, "slow:1", { resources: { requests: { cpu: "2" } } }),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "api" },
      spec: { selector: { app: "api" }, ports: [{ port: 80 }] },
    },
    {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "tick" },
      spec: {
        schedule: "*/10 * * * *",
        jobTemplate: {
          spec: {
            template: {
              spec: {
                restartPolicy: "OnFailure",
                containers: [{ name: "tick", image: "busybox", command: ["sleep", "20"] }],
              },
            },
          },
        },
      },
    },
  ])
  await cluster.advance("15m")
  await cluster.apply(deployment("api", 5, "api:2"))
  await using lost = await cluster.faults.nodeLost("node-1")
  await cluster.advance("10m")
  await lost.end()
  await cluster.delete(Deployment, "slow", { propagationPolicy: "Foreground" })
  await cluster.advance("20m")
  await evictOne(cluster)
  await cluster.advance("15m")
  return cluster
    .history()
    .map((entry) => JSON.stringify(entry))
    .join("\n")
}

async function evictOne(cluster: Cluster): Promise<void> {
  const [pod] = await cluster.list(Pod, { labels: "app=api" })
  await cluster.delete(Pod, pod!)
}

let kept: Promise<string> | undefined
/** The history of one run, which all tests use. */
const history = () => (kept ??= mixedWorkload(42))

test("the same seed gives the same history, byte for byte", async () => {
  // given one run, and others beside each other, whose turns interleave
  const first = await history()
  // when
  const [second, third] = await Promise.all([mixedWorkload(42), mixedWorkload(42)])
  // then
  expect(first.length).toBeGreaterThan(100_000)
  expect(second === first).toBe(true)
  expect(third === first).toBe(true)
}, 60_000)

test("another seed gives another history", async () => {
  expect((await mixedWorkload(43)) === (await history())).toBe(false)
}, 60_000)
