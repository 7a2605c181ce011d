import { expect, test } from "bun:test"
import { ReplicationController } from "../../../pkg/api/core/v1/replicationcontroller.ts"
import { Deployment, Pod, ReplicaSet, startCluster, type ClusterOptions } from "../../cluster/testing/testing.ts"
import { web } from "../../cluster/testing/cluster.fixtures.ts"
import { terminatingReplicas } from "./replicasets.ts"

/** Starts a cluster in which containers run on until the grace period of 30 s is over. */
const start = (options: ClusterOptions = {}) =>
  startCluster({
    nodes: 1,
    images: { old: { onStop: "ignore" }, new: { onStop: "ignore" } },
    ...options,
  })

const WEB = { name: "web", namespace: "default" }
type Cluster = Awaited<ReturnType<typeof start>>
const ofDeployment = async ({ client }: Cluster) => (await client.get(Deployment, WEB)).status.terminatingReplicas
const ofReplicaSets = async (cluster: Cluster) =>
  (await cluster.list(ReplicaSet)).map(({ status }) => status.terminatingReplicas).sort((a = -1, b = -1) => a - b)
const ending = async (cluster: Cluster) =>
  (await cluster.list(Pod)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)

test("the pods that are ending are in the status of their ReplicaSet and, in sum, of their Deployment", async () => {
  // given
  await using cluster = await start()
  await cluster.apply(web(4, "old"))
  expect([await ofDeployment(cluster), await ofReplicaSets(cluster)]).toEqual([0, [0]])
  // when it is scaled down
  await cluster.apply(web(2, "old"))
  // then
  expect([await ofDeployment(cluster), await ofReplicaSets(cluster)]).toEqual([2, [2]])
  // when the others are replaced, and one of those too
  await cluster.apply(web(2, "new"))
  await cluster.advance("5s")
  const replacement = (await cluster.list(Pod)).find(({ spec }) => spec.containers[0]!.image === "new")
  await cluster.client.delete(Pod, replacement!.metadata)
  await cluster.settle()
  // then
  expect([await ofDeployment(cluster), await ofReplicaSets(cluster)]).toEqual([5, [1, 4]])
  // when all of them have ended
  await cluster.advance("1m")
  // then
  expect([await ofDeployment(cluster), await ofReplicaSets(cluster)]).toEqual([0, [0, 0]])
})

test("the number of ending pods that is missing in the status of a Deployment is written, also if it is 0", async () => {
  // given
  await using cluster = await start()
  await cluster.apply(web(1, "old"))
  // when
  const body = { status: { terminatingReplicas: null } }
  await cluster.client.patch(Deployment, WEB, { type: "merge", body }, { subresource: "status" })
  await cluster.settle()
  // then
  expect(await ofDeployment(cluster)).toBe(0)
})

test("a pod that has ended, or has other labels, is not ending", async () => {
  // given three pods that are ending
  await using cluster = await start({ components: { kubelet: false } })
  await cluster.apply(web(3, "old"))
  const pods = (await cluster.list(Pod)).map(({ metadata }) => metadata)
  for (const pod of pods) await cluster.client.delete(Pod, pod)
  await cluster.settle()
  const [first, second] = await ending(cluster)
  expect([await ofDeployment(cluster), await ofReplicaSets(cluster)]).toEqual([3, [3]])
  // when
  await cluster.client.patch(
    Pod,
    first!.metadata,
    { type: "merge", body: { status: { phase: "Failed" } } },
    { subresource: "status" },
  )
  await cluster.settle()
  // then
  expect([await ofDeployment(cluster), await ofReplicaSets(cluster)]).toEqual([2, [2]])
  // when
  await cluster.client.patch(Pod, second!.metadata, { type: "merge", body: { metadata: { labels: { app: "db" } } } })
  await cluster.settle()
  // then
  expect([await ofDeployment(cluster), await ofReplicaSets(cluster)]).toEqual([1, [1]])
})

test("a ReplicaSet that adopts a pod keeps the count of those that are ending", async () => {
  // given
  await using cluster = await start()
  await cluster.apply(web(3, "old"))
  await cluster.apply(web(1, "old"))
  const [{ spec }] = (await cluster.list(ReplicaSet)) as [ReplicaSet]
  const after = cluster.history().at(-1)!.revision
  // when
  await cluster.client.create(Pod, {
    metadata: { name: "orphan", namespace: "default", labels: spec.template!.metadata.labels },
    spec: { containers: [{ name: "web", image: "old" }] },
  })
  await cluster.settle()
  // then it is adopted, is one too many and goes, and the two were told all the while
  const told = cluster.history({ kind: "ReplicaSet", after }).map(({ object }) => (object as ReplicaSet).status)
  expect(told[0]).toMatchObject({ replicas: 2, terminatingReplicas: 2 })
  expect(told.filter(({ terminatingReplicas: count = 0 }) => count < 2)).toEqual([])
})

test("a ReplicationController has no such count", async () => {
  // given
  await using cluster = await start()
  const rc = (replicas: number) => ({ ...web(replicas, "old"), apiVersion: "v1", kind: "ReplicationController" })
  const selected = (replicas: number) => ({ ...rc(replicas), spec: { ...rc(replicas).spec, selector: { app: "web" } } })
  await cluster.apply(selected(2))
  // when
  await cluster.apply(selected(1))
  // then
  expect(await ending(cluster)).toHaveLength(1)
  expect((await cluster.client.get(ReplicationController, WEB)).status).not.toHaveProperty("terminatingReplicas")
})

test.each([
  ["none", [], 0],
  ["one that was not reconciled yet", [{ replicas: 0 }], 0],
  ["one that was, and another", [{ observedGeneration: 1, terminatingReplicas: 2 }, { replicas: 0 }], 2],
  [
    "one that was reconciled without a count",
    [{ observedGeneration: 1, terminatingReplicas: 2 }, { observedGeneration: 1 }],
    undefined,
  ],
] as const)("the sum over ReplicaSets: %s", (_title, statuses, sum) => {
  expect(terminatingReplicas(statuses.map((status) => ({ status }) as unknown as ReplicaSet))).toBe(sum)
})
