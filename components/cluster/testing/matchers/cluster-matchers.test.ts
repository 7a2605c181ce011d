import { describe, expect, test } from "bun:test"
import { ConfigMap, Deployment, Job, Namespace, Node, Pod, startCluster, type Cluster } from "../testing.ts"
import { matchers } from "./cluster-matchers.ts"

const web = (image: string, replicas = 2) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } },
  },
})

const images = {
  slow: { startMs: 40_000 },
  broken: { startError: "no such program" },
  crashing: { runsMs: 100, exitCode: 3 },
}
const ready = (cluster: Cluster, within = "60s") => matchers.toBecomeReady(cluster, Deployment, "web", { within })

describe("toBecomeReady", () => {
  test("waits until the rollout is complete", async () => {
    await using cluster = await startCluster({ nodes: 1, images })
    await cluster.apply(web("slow"))
    expect((await ready(cluster)).pass).toBe(true)
    expect((await cluster.get(Deployment, "web")).status.availableReplicas).toBe(2)
  })

  test("does not count the old pods of a new template as ready", async () => {
    await using cluster = await startCluster({ nodes: 1, images })
    await cluster.apply(web("web:1"))
    await ready(cluster)
    await cluster.apply(web("slow"))
    const { pass, message } = await ready(cluster, "10s")
    expect(pass).toBe(false)
    expect(message()).toContain("last seen: Deployment default/web is not ready: 1 of 2 replicas are updated")
  })

  test("explains at the timeout why pods are not ready", async () => {
    await using cluster = await startCluster({ nodes: 1, images })
    await cluster.apply(web("broken", 1))
    const { pass, message } = await ready(cluster)
    expect(pass).toBe(false)
    expect(message()).toMatch(/container web waits: .*no such program/)
  })

  test("reports an object that does not exist", async () => {
    await using cluster = await startCluster()
    expect((await ready(cluster, "1s")).message()).toContain("Deployment default/web is not ready: it does not exist")
  })

  test("fails at once for an object that can never become ready", async () => {
    await using cluster = await startCluster({ nodes: 1, images })
    const spec = { restartPolicy: "Never", containers: [{ name: "work", image: "crashing" }] }
    const template = { spec }
    await cluster.apply([
      { apiVersion: "batch/v1", kind: "Job", metadata: { name: "once" }, spec: { backoffLimit: 0, template } },
      { apiVersion: "v1", kind: "Pod", metadata: { name: "alone" }, spec },
    ])
    const began = cluster.now.getTime()
    for (const { resource, name, says } of [
      { resource: Job, name: "once", says: "Job default/once is not ready: it has failed (BackoffLimitExceeded: " },
      { resource: Pod, name: "alone", says: "Pod default/alone is not ready: it has ended, and its phase is Failed" },
    ]) {
      const { pass, message } = await matchers.toBecomeReady(cluster, resource, name, { within: "1h" })
      expect(pass).toBe(false)
      expect(message()).toContain(says)
    }
    expect(cluster.now.getTime() - began).toBeLessThan(60_000)
  })

  test("accepts objects that are ready by their conditions or phases", async () => {
    await using cluster = await startCluster({ nodes: 1, images: { work: { runsMs: 5000 } } })
    await cluster.apply({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "once" },
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "work", image: "work" }] } } },
    })
    expect((await matchers.toBecomeReady(cluster, Job, "once", { within: "1s" })).pass).toBe(false)
    expect((await matchers.toBecomeReady(cluster, Job, "once")).pass).toBe(true)
    expect((await matchers.toBecomeReady(cluster, Node, "node-0")).pass).toBe(true)
    expect((await matchers.toBecomeReady(cluster, Namespace, "default")).pass).toBe(true)
    expect((await matchers.toBecomeReady(cluster, Job, "once")).message()).toStartWith(
      "Expected Job default/once not to become ready, and it is at 2026-01-01T00:00:0",
    )
  })

  test("refuses everything but a cluster", async () => {
    const refused = matchers.toBecomeReady({}, Deployment, "web").catch(String)
    expect(await refused).toContain("Cannot use toBecomeReady: expected a cluster")
  })
})

describe("toHaveEvent", () => {
  const crashing = async () => {
    const cluster = await startCluster({ nodes: 1, images })
    await cluster.apply({ ...web("crashing"), apiVersion: "v1", kind: "Pod", spec: web("crashing").spec.template.spec })
    return cluster
  }

  test("finds an Event by its object, reason, type and message", async () => {
    await using cluster = await crashing()
    await cluster.advance("1m")
    for (const event of [
      { reason: "BackOff" },
      { about: "web", kind: "Pod", type: "Warning" as const, message: "restarting failed container" },
      { about: "default/web", message: /^Back-off .* web/g },
      { about: await cluster.get(Node, "node-0"), reason: "NodeReady" },
    ])
      expect([event, (await matchers.toHaveEvent(cluster, event)).pass]).toEqual([event, true])
  })

  test("finds Events of the given object only, and not of another kind with the same name", async () => {
    // given Events about the pod web alone
    await using cluster = await crashing()
    await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web" } })
    await cluster.advance("1m")
    // when it is asked for the ConfigMap
    const about = await cluster.get(ConfigMap, "web")
    const { pass, message } = await matchers.toHaveEvent(cluster, { about })
    // then
    expect(pass).toBe(false)
    expect(message()).toStartWith(
      'Expected an Event with {"about":{"kind":"ConfigMap","namespace":"default","name":"web"}}; the last of ',
    )
  })

  test("checks once by default, and until its timeout if it has one", async () => {
    await using cluster = await crashing()
    expect((await matchers.toHaveEvent(cluster, { reason: "BackOff" })).pass).toBe(false)
    expect((await matchers.toHaveEvent(cluster, { reason: "BackOff" }, { within: "1m" })).pass).toBe(true)
  })

  test("lists the last Events of the object when none matches", async () => {
    await using cluster = await crashing()
    await cluster.advance("1m")
    const { pass, message } = await matchers.toHaveEvent(cluster, { about: "web", message: /evicted/ })
    expect(pass).toBe(false)
    expect(message()).toMatch(
      /^Expected an Event with {"about":"web","message":"\/evicted\/"}; the last of \d+ about it:/,
    )
    expect(message()).toContain("\n  Warning BackOff Pod default/web: Back-off restarting failed container")
    expect(message()).not.toContain("NodeReady")
  })
})
