import { describe, expect, test } from "bun:test"
import { ConfigMap, Deployment, defineController, Pod, startCluster, StatefulSet, splitKey } from "../testing.ts"

const container = (image: string, cpu: string) => ({ name: "c", image, resources: { requests: { cpu } } })
const images = { slow: { onStop: { afterMs: 20_000 } } }

test("controllers that write for ever are named in the error, with their last write", async () => {
  // given a controller that changes what it looks at, whatever it sees
  const cluster = await startCluster({ seed: 3 })
  const restless = defineController({
    name: "restless",
    reconciles: ConfigMap,
    async reconcile(key, { client, informers }) {
      const { namespace = "", name } = splitKey(key)
      if (name !== "mine") return
      const turns = Number(informers.of(ConfigMap).get(key)?.data?.["turns"] ?? 0)
      await client.patch(ConfigMap, { namespace, name }, { type: "merge", body: { data: { turns: `${turns + 1}` } } })
    },
  })
  await cluster.run(restless, { user: "gardener", groups: ["system:masters"] })
  // when
  const err = await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mine" } }).then(
    () => undefined,
    (reason: Error) => reason,
  )
  // then
  expect(err?.message).toContain("Time cannot advance from 2026-01-01T00:00:00Z (seed 3 (K3TS_SEED=3 replays it))")
  expect(err?.message).toMatch(/gardener updates ConfigMap: \d+ times/)
  expect(err?.message).toContain("gardener updates ConfigMap default/mine")
  expect(err?.stack).toContain("endless.test.ts")
  // and the end of the cluster adds nothing to that
  await cluster.stop()
})

test("a request that is retried for ever without a delay is reported, although virtual time does not advance", async () => {
  // given a controller that tries again until nobody says that there is one already
  const cluster = await startCluster({ seed: 3 })
  await cluster.faults.requests({ user: "gardener", verb: "create", error: "AlreadyExists" })
  const stubborn = defineController({
    name: "stubborn",
    reconciles: ConfigMap,
    async reconcile(key, { client }) {
      const { namespace = "", name } = splitKey(key)
      if (name !== "mine") return
      for (let made = false; !made;)
        made = await client.create(ConfigMap, { metadata: { namespace, name: "other" } }).then(
          () => true,
          (err: Error) => !err.message.includes("AlreadyExists"),
        )
    },
  })
  await cluster.run(stubborn, { user: "gardener", groups: ["system:masters"] })
  // when
  const err = await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mine" } }).then(
    () => undefined,
    (reason: Error) => reason,
  )
  // then
  expect(err?.message).toContain("what happens at this instant never ends")
  expect(err?.message).toContain("its work was started by")
  await cluster.stop()
})

test("a StatefulSet that is deleted in the foreground creates no new revisions", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1, images })
  await cluster.apply({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db" },
    spec: {
      serviceName: "db",
      replicas: 2,
      selector: { matchLabels: { app: "db" } },
      template: { metadata: { labels: { app: "db" } }, spec: { containers: [container("slow", "1")] } },
    },
  })
  await cluster.advance("10s")
  // when
  await cluster.delete(StatefulSet, "db", { propagationPolicy: "Foreground" })
  await cluster.advance("1m")
  // then
  expect(await cluster.find(StatefulSet, "db")).toBeUndefined()
  expect(cluster.history({ kind: "ControllerRevision" }).filter(({ type }) => type === "create")).toHaveLength(1)
})

describe("pods that are rejected by a full node", () => {
  test.each(["Deployment", "StatefulSet", "ReplicationController", "Job"])(
    "of a %s are replaced with a growing delay, and run when there is room",
    async (kind) => {
      // given a node that is full, with a pod that takes its time to stop
      await using cluster = await startCluster({ nodes: 1, images })
      const template = {
        metadata: { labels: { app: "web" } },
        spec: { restartPolicy: kind === "Job" ? "Never" : "Always", containers: [container("slow", "3")] },
      }
      await cluster.apply({
        apiVersion: kind === "Job" ? "batch/v1" : kind === "ReplicationController" ? "v1" : "apps/v1",
        kind,
        metadata: { name: "web" },
        spec:
          kind === "Job"
            ? { parallelism: 2, completions: 2, backoffLimit: 1000, template }
            : {
                replicas: 2,
                selector: kind === "ReplicationController" ? { app: "web" } : { matchLabels: { app: "web" } },
                ...(kind === "StatefulSet" ? { serviceName: "web" } : {}),
                template,
              },
      })
      await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 2)
      const [pod] = await cluster.list(Pod)
      // when it is forgotten before it has ended
      await cluster.delete(Pod, pod!, { gracePeriodSeconds: 0 })
      await cluster.advance("5m")
      // then
      expect(await cluster.list(Pod, { phase: "Running" })).toHaveLength(2)
      const made = cluster.history({ kind: "Pod" }).filter(({ type }) => type === "create").length
      expect(made).toBeLessThan(120)
    },
  )

  test("of a Deployment are replaced without a delay when it is rolled out", async () => {
    // given
    await using cluster = await startCluster({ nodes: 3 })
    const web = (image: string) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas: 30,
        strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image }] } },
      },
    })
    await cluster.apply(web("web:1"))
    await cluster.eventually(Deployment, {}, ([found]) => found?.status.readyReplicas === 30)
    // when
    const began = cluster.now.getTime()
    await cluster.apply(web("web:2"))
    await cluster.eventually(Deployment, {}, ([found]) => found?.status.updatedReplicas === 30)
    // then
    expect(cluster.now.getTime() - began).toBeLessThan(2000)
  })
})
