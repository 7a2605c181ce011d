import { describe, expect, test } from "bun:test"
import { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
import { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { defineController, splitKey, startCluster, type Cluster } from "../../cluster/testing/testing.ts"

const NAME = { name: "agent", namespace: "default" }
const labels = { app: "agent" }
const agent = (more: object = {}, pod: object = {}) => ({
  metadata: NAME,
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "agent:1" }], ...pod } },
    ...more,
  },
})

const start = (nodes: number) => startCluster({ nodes })
const pods = (cluster: Cluster): Promise<readonly Pod[]> => cluster.list(Pod, { labels: "app=agent" })
const nodes = async (cluster: Cluster): Promise<readonly (string | undefined)[]> =>
  (await pods(cluster)).map(({ spec }) => spec.nodeName).toSorted((a, b) => ((a ?? "") < (b ?? "") ? -1 : 1))
const images = async (cluster: Cluster): Promise<readonly (string | undefined)[]> =>
  (await pods(cluster)).map(({ spec }) => spec.containers[0]!.image)
const read = (cluster: Cluster): Promise<DaemonSet> => cluster.get(DaemonSet, NAME)
const setImage = ({ client }: Cluster, image: string): Promise<DaemonSet> =>
  client.patch(DaemonSet, NAME, {
    type: "strategic",
    body: { spec: { template: { spec: { containers: [{ name: "main", image }] } } } },
  })

describe("DaemonSet", () => {
  test("has a pod on every node, also on nodes that are added later", async () => {
    await using cluster = await start(3)
    await cluster.client.create(DaemonSet, agent())
    await cluster.settle()
    expect(await nodes(cluster)).toEqual(["node-0", "node-1", "node-2"])
    await cluster.addNode()
    expect(await nodes(cluster)).toEqual(["node-0", "node-1", "node-2", "node-3"])
    expect((await read(cluster)).status).toMatchObject({
      desiredNumberScheduled: 4,
      currentNumberScheduled: 4,
      numberReady: 4,
      numberAvailable: 4,
      updatedNumberScheduled: 4,
      numberMisscheduled: 0,
      observedGeneration: 1,
    })
    expect((await pods(cluster))[0]!.spec.tolerations?.map(({ key }) => key)).toContain(
      "node.kubernetes.io/unreachable",
    )
  })

  test("respects labels and taints of nodes, and keeps its pod on a cordoned node", async () => {
    // given
    await using cluster = await start(3)
    const { client } = cluster
    const patch = (name: string, body: object) => client.patch(Node, { name }, { type: "merge", body })
    await patch("node-0", { metadata: { labels: { disk: "fast" } } })
    await patch("node-1", { metadata: { labels: { disk: "fast" } } })
    await client.create(DaemonSet, agent({}, { nodeSelector: { disk: "fast" } }))
    await cluster.settle()
    expect(await nodes(cluster)).toEqual(["node-0", "node-1"])
    // when
    await patch("node-0", { metadata: { labels: { disk: null } } })
    await patch("node-2", { metadata: { labels: { disk: "fast" } } })
    await patch("node-1", { spec: { unschedulable: true } })
    await cluster.settle()
    // then
    expect(await nodes(cluster)).toEqual(["node-1", "node-2"])
    // when a taint comes that only keeps new pods out, and one that drives pods out
    await patch("node-1", { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } })
    await patch("node-2", { spec: { taints: [{ key: "a", effect: "NoExecute" }] } })
    await cluster.settle()
    // then
    expect(await nodes(cluster)).toEqual(["node-1"])
    expect((await read(cluster)).status).toMatchObject({ desiredNumberScheduled: 0, numberMisscheduled: 1 })
  })

  test("replaces a deleted pod at once, and failed pods with a growing delay", async () => {
    // given a node that gives each pod up after a second
    await using cluster = await startCluster({ nodes: 1, components: { kubelet: false } })
    const begun = cluster.now.getTime()
    await cluster.run(
      defineController<Pod>({
        name: "giving-up",
        reconciles: Pod,
        async reconcile(key, { client, informers, clock }) {
          const pod = informers.of(Pod).get(key)
          if (pod === undefined || !pod.spec.nodeName || pod.status.phase === "Failed") return undefined
          const left = Date.parse(pod.metadata.creationTimestamp!) + 1000 - clock.now()
          if (left > 0) return { requeueAfter: left }
          await client.patch(
            Pod,
            splitKey(key),
            { type: "merge", body: { status: { phase: "Failed", reason: "Evicted" } } },
            { subresource: "status" },
          )
          return undefined
        },
      }),
    )
    // when
    await cluster.client.create(DaemonSet, agent())
    await cluster.advance(20_000)
    // then
    const created = cluster.history({ kind: "Pod" }).filter(({ type }) => type === "create")
    expect(created.map(({ time }) => (Date.parse(time) - begun) / 1000)).toEqual([0, 1, 2, 4, 8, 16])
  })

  test("updates node by node, and keeps its history", async () => {
    // given
    await using cluster = await start(3)
    await cluster.client.create(DaemonSet, agent({ revisionHistoryLimit: 1 }))
    await cluster.settle()
    const after = cluster.history().at(-1)!.revision
    // when
    await setImage(cluster, "agent:2")
    await cluster.settle()
    // then never more than one was missing
    expect(await images(cluster)).toEqual(["agent:2", "agent:2", "agent:2"])
    expect(
      Math.min(
        ...cluster
          .history({ kind: "DaemonSet", after })
          .map(({ object }) => (object as DaemonSet).status.numberAvailable ?? 0),
      ),
    ).toBe(2)
    expect((await read(cluster)).status).toMatchObject({
      updatedNumberScheduled: 3,
      numberAvailable: 3,
      observedGeneration: 2,
    })
    await setImage(cluster, "agent:3")
    await cluster.settle()
    expect(
      (await cluster.client.list(ControllerRevision)).items.map(({ revision }) => revision).toSorted((a, b) => a - b),
    ).toEqual([2, 3])
    // when it goes back
    await setImage(cluster, "agent:2")
    await cluster.settle()
    expect(
      (await cluster.client.list(ControllerRevision)).items.map(({ revision }) => revision).toSorted((a, b) => a - b),
    ).toEqual([3, 4])
  })

  test("with OnDelete waits until the old pods are deleted", async () => {
    await using cluster = await start(2)
    await cluster.client.create(DaemonSet, agent({ updateStrategy: { type: "OnDelete" } }))
    await cluster.settle()
    await setImage(cluster, "agent:2")
    await cluster.settle()
    expect(await images(cluster)).toEqual(["agent:1", "agent:1"])
    await cluster.client.delete(Pod, (await pods(cluster))[0]!.metadata)
    await cluster.settle()
    expect((await images(cluster)).toSorted((a, b) => (a! < b! ? -1 : 1))).toEqual(["agent:1", "agent:2"])
  })

  test("with maxSurge starts the new pod before the old one is deleted", async () => {
    await using cluster = await start(3)
    await cluster.client.create(
      DaemonSet,
      agent({ updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }),
    )
    await cluster.settle()
    const there = new Map((await pods(cluster)).map((pod) => [pod.metadata.uid, pod]))
    const after = cluster.history().at(-1)!.revision
    // when
    await setImage(cluster, "agent:2")
    await cluster.settle()
    // then each node has had a running pod all the while, and never more than one node had two
    expect(await images(cluster)).toEqual(["agent:2", "agent:2", "agent:2"])
    let [least, most] = [3, 3]
    for (const { type, object } of cluster.history({ kind: "Pod", after })) {
      if (type === "delete") there.delete(object.metadata.uid)
      else there.set(object.metadata.uid, object as Pod)
      const staying = [...there.values()].filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      least = Math.min(
        least,
        new Set(staying.filter(({ status }) => status.phase === "Running").map(({ spec }) => spec.nodeName)).size,
      )
      most = Math.max(most, staying.length)
    }
    expect([least, most]).toEqual([3, 4])
  })

  test("is deleted with its pods", async () => {
    await using cluster = await start(2)
    await cluster.client.create(DaemonSet, agent())
    await cluster.settle()
    await cluster.client.delete(DaemonSet, NAME, { propagationPolicy: "Foreground" })
    await cluster.advance(60_000)
    expect(await pods(cluster)).toEqual([])
    expect((await cluster.client.list(DaemonSet)).items).toEqual([])
    expect((await cluster.client.list(ControllerRevision)).items).toEqual([])
  })
})
