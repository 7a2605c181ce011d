/** Forecasts beside what then happens when it is done. `K3TS_FORECASTS=200` compares more of them. */
import { describe, expect, test } from "bun:test"
import { ValidatingWebhookConfiguration } from "../../../../pkg/api/admissionregistration/v1/validatingwebhookconfiguration.ts"
import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import { seededRandom } from "../../../../pkg/clock/random.ts"
import { startCluster, type Cluster } from "../cluster.ts"
import { readObjects } from "../snapshot.ts"
import { forecast, LEFT_OUT, SETTLING, type Change, type Forecast } from "./forecast.ts"
import { forecastText } from "./forecast-text.ts"
import { startFork } from "./fork.ts"

const COUNT = Number(process.env["K3TS_FORECASTS"] ?? "10")
const SPAN = "15m"
/** A forecast is the work of two clusters; many are compared while others need the processors too. */
const LONGEST_MS = COUNT > 10 ? 600_000 : 60_000

const kubectl =
  (command: string): Change =>
  async (cluster) => {
    const { code, stdout, stderr } = await cluster.kubectl(command)
    return { code, output: `${stdout}${stderr}` }
  }

const lose =
  (node: string): Change =>
  async (cluster) => {
    await cluster.faults.nodeLost(node)
    return { code: 0, output: "" }
  }

async function forecastOf(cluster: Cluster, change: Change): Promise<Forecast> {
  const content = await readObjects(await cluster.snapshot())
  const { cluster: copy } = await startFork(content, { seed: 99, components: LEFT_OUT })
  await copy.advance(SETTLING)
  const found = await forecast(copy, change, SPAN)
  await copy.stop().catch(() => undefined)
  return found
}

/** What must be foretold, without what chance decides: which of several equal nodes gets a pod. */
function essence({ change, workloads, unwell, restarts, services }: Forecast) {
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((a, b) => a + b, 0)
  return {
    code: change.code,
    workloads: workloads.map(({ workload, ended, began }) => [workload, sum(ended), sum(began)]),
    unwell: Object.fromEntries(
      [...Map.groupBy(unwell, ({ workload, unscheduled }) => `${workload} ${unscheduled}`)].map(([key, pods]) => [
        key,
        pods.length,
      ]),
    ),
    restarts,
    services: services.map(({ name, readyBefore, readyAfter }) => [name, readyBefore, readyAfter]),
  }
}

describe("the forecast of a change", () => {
  test.each(Array.from({ length: COUNT }, (_, seed) => seed))(
    "is what happens when it is made (seed %i)",
    async (seed) => {
      // given a cluster of random nodes, workloads, budgets and images
      const random = seededRandom(seed)
      const upTo = (most: number) => Math.floor(random.next() * most)
      const nodes = 2 + upTo(4)
      const images: Record<string, { startMs: number; listensAfterMs: number }> = {}
      const manifests: string[] = []
      for (let i = 0, many = 1 + upTo(4); i < many; i++) {
        images[`app-${i}`] = { startMs: upTo(4) * 1000, listensAfterMs: upTo(15) * 1000 }
        const replicas = 1 + upTo(5)
        const kind = upTo(4) === 0 ? "StatefulSet" : "Deployment"
        const serviceName = kind === "StatefulSet" ? `serviceName: app-${i},` : ""
        manifests.push(`
          { apiVersion: apps/v1, kind: ${kind}, metadata: { name: app-${i}, namespace: default },
            spec: { replicas: ${replicas}, ${serviceName} selector: { matchLabels: { app: app-${i} } },
              template: { metadata: { labels: { app: app-${i} } }, spec: { terminationGracePeriodSeconds: 5, containers: [{ name: main, image: "app-${i}:1",
                resources: { requests: { cpu: "${(1 + upTo(12)) * 200}m" } },
                readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 } }] } } } }`)
        manifests.push(
          `{ apiVersion: v1, kind: Service, metadata: { name: app-${i}, namespace: default }, spec: { selector: { app: app-${i} }, ports: [{ port: 80 }] } }`,
        )
        if (upTo(3) === 0)
          manifests.push(
            `{ apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: { name: app-${i}, namespace: default }, spec: { minAvailable: ${replicas - upTo(2)}, selector: { matchLabels: { app: app-${i} } } } }`,
          )
      }
      const cluster = await startCluster({ nodes, seed, images, frozen: false })
      await cluster.apply(manifests.join("\n---\n"))
      await cluster.advance("10m")
      const node = `node-${upTo(nodes)}`
      const change = [
        kubectl(`drain ${node} --ignore-daemonsets --timeout 4m`),
        lose(node),
        kubectl(`scale deployment,statefulset -l '!none' --all --replicas ${upTo(8)}`),
        kubectl("rollout restart deployment"),
        kubectl("set image deployment --all main=app-0:2"),
      ][upTo(5)]!
      // when the change is foretold, and then made
      const foretold = await forecastOf(cluster, change)
      const real = await forecast(cluster, change, SPAN)
      // then both are the same, and the times nearly so
      expect(essence(foretold)).toEqual(essence(real))
      for (const [i, { name, unavailableMs }] of real.services.entries()) {
        const difference = Math.abs(foretold.services[i]!.unavailableMs - unavailableMs)
        expect([
          name,
          difference <= 3000 + unavailableMs / 5 ? "near" : [foretold.services[i]!.unavailableMs, unavailableMs],
        ]).toEqual([name, "near"])
      }
      expect(Math.abs(foretold.settledMs - real.settledMs)).toBeLessThanOrEqual(5000 + real.settledMs / 5)
      await cluster.stop().catch(() => undefined)
    },
    LONGEST_MS,
  )
})

test("a drain that a budget does not let end names the budget", async () => {
  // given a budget that allows no eviction
  await using cluster = await startCluster({ nodes: 2 })
  await cluster.kubectl("create deployment web --image nginx --replicas 2")
  await cluster.kubectl("create pdb web --selector app=web --min-available 2")
  await cluster.advance("10s")
  // when
  const found = await forecastOf(cluster, kubectl("drain node-0 --timeout 1m"))
  // then
  expect(found.budgets).toEqual([
    { namespace: "default", name: "web", node: "node-0", pods: 1, desiredHealthy: 2, currentHealthy: 2 },
  ])
  expect(forecastText(found, "drain node-0", [])).toContain(
    "Budgets in the way:\n  default/web keeps 1 pod on node-0: 2 must be healthy, 2 are\n",
  )
})

test("a copy asks no webhook of the real cluster, and says so", async () => {
  // given a cluster with a webhook at an address outside, which would refuse everything
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.client.create(ValidatingWebhookConfiguration, {
    metadata: { name: "guard" },
    webhooks: [
      {
        name: "guard.example.com",
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        clientConfig: { url: "https://127.0.0.1:1/review" },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] }],
      },
    ],
  })
  // when something that the webhook is for is created in a copy
  const { cluster: copy, left } = await startFork(await readObjects(await cluster.snapshot()))
  await copy.client.create(ConfigMap, { metadata: { name: "settings" } })
  // then it is not asked, and the real cluster has not changed
  expect(left).toEqual(["admission webhooks of guard are not asked"])
  expect(await cluster.find(ConfigMap, "settings")).toBeUndefined()
  await copy.stop()
})
