import { describe, expect, test } from "bun:test"
import { defineController } from "../../../../pkg/controller/controller.ts"
import { ConfigMap, Deployment, Pod, startCluster, type Cluster } from "../testing.ts"

const WEB = `
  apiVersion: apps/v1
  kind: Deployment
  metadata: { name: web, namespace: default }
  spec:
    replicas: 3
    selector: { matchLabels: { app: web } }
    template:
      metadata: { labels: { app: web } }
      spec: { containers: [{ name: web, image: "web:1" }] }`

test("a recording is played with its users, and controllers and scheduler do the same again", async () => {
  // given an incident: a Deployment is scaled, gets an image that cannot be pulled, and a pod is deleted
  await using cluster = await startCluster({
    nodes: 3,
    images: { "web:1": { startMs: 3000 }, "web:2": { pullError: "not found" } },
  })
  await cluster.apply(WEB)
  await cluster.advance("5m")
  await cluster.kubectl("scale deployment web --replicas=5")
  await cluster.advance("1m")
  await cluster.kubectl("set image deployment/web web=web:2")
  await cluster.advance("2m")
  const [pod] = await cluster.list(Pod, { phase: "Running" })
  await cluster.delete(Pod, pod!)
  await cluster.advance("2m")
  const file = await cluster.recording({ last: "6m" })
  const then = await cluster.list(Pod)

  // when it is played
  await using replay = await startCluster({ replay: file })
  expect(replay.now.toISOString()).toBe("2026-01-01T00:04:00.000Z")
  expect(await replay.list(Pod, { phase: "Running" })).toHaveLength(3)
  const difference = await replay.replay.ended()

  // then all is the same, also the names and nodes of pods
  expect(String(difference)).toBe("undefined")
  const essence = ({ metadata, spec }: Pod) => [metadata.name, metadata.uid, spec.nodeName]
  expect((await replay.list(Pod)).map(essence)).toEqual(then.map(essence))
  expect((await replay.get(Deployment, "web")).spec.replicas).toBe(5)
})

/** An operator that keeps as many replicas as a ConfigMap says; its bug adds one. */
const operator = (bug: number) =>
  defineController<ConfigMap>({
    name: "sizes",
    reconciles: ConfigMap,
    concerns: ({ metadata }) => metadata.name === "size",
    reconcile: async (key, { client, informers }) => {
      const size = informers.of(ConfigMap).get(key)
      if (size === undefined) return
      const replicas = Number(size.data?.["replicas"]) + bug
      const web = await client.get(Deployment, { namespace: "default", name: "web" })
      if (web.spec.replicas !== replicas)
        await client.patch(
          Deployment,
          { namespace: "default", name: "web" },
          { type: "merge", body: { spec: { replicas } } },
        )
    },
  })

const OPERATOR = { user: "system:serviceaccount:shop:operator", groups: ["system:masters"] }

/** Records what an operator does with its bug. */
async function incident(): Promise<Uint8Array> {
  await using cluster = await startCluster({ nodes: 2 })
  await cluster.apply(WEB)
  await cluster.client.create(ConfigMap, { metadata: { name: "size" }, data: { replicas: "3" } })
  await cluster.advance("2m")
  await cluster.run(operator(1), OPERATOR)
  await cluster.advance("1m")
  await cluster
    .as("alice", ["system:masters"])
    .patch(ConfigMap, "size", { type: "merge", body: { data: { replicas: "1" } } })
  await cluster.advance("1m")
  return await cluster.recording({ last: "90s" })
}

describe("a controller in the place of the recorded one", () => {
  test("that does the same makes no difference", async () => {
    await using cluster = await startCluster({ replay: { file: await incident(), instead: [OPERATOR.user] } })
    await cluster.run(operator(1), OPERATOR)
    expect(await cluster.replay.ended()).toBeUndefined()
  })

  test("that does something else is told with its first write, and the rest of the cluster follows it", async () => {
    // given a recording of a bug
    const file = await incident()
    // when the mended controller runs instead
    await using cluster = await startCluster({ replay: { file, instead: [OPERATOR.user] } })
    await cluster.run(operator(0), OPERATOR)
    const difference = await cluster.replay.ended()
    // then the first thing that it does differently is told
    expect(String(difference)).toMatch(
      /^2026-01-01T00:02:30.000000Z: in the replay \(revision \d+\) system:serviceaccount:shop:operator updates Deployment default\/web, and not in the recording\n {2}spec.replicas: recorded 4, replayed 3$/,
    )
    expect((await cluster.get(Deployment, "web")).spec.replicas).toBe(1)
    expect(await running(cluster)).toBe(1)
  })
})

const running = async (cluster: Cluster): Promise<number> => (await cluster.list(Pod, { phase: "Running" })).length
