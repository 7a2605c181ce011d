import type { ClusterOptions } from "../../cluster/testing/options/options.ts"
import { describe, expect, test } from "bun:test"
import { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"

const NAME = { name: "db", namespace: "default" }
const labels = { app: "db" }

const db = (replicas: number, more: object = {}, image = "db:1") => ({
  metadata: NAME,
  spec: {
    replicas,
    serviceName: "db",
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "main", image }] } },
    ...more,
  },
})
/** A Parallel StatefulSet with claims. Nothing binds the claims, so no pod becomes ready. */
const withClaims = (policy: object = {}) => ({
  podManagementPolicy: "Parallel",
  volumeClaimTemplates: [
    {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  ],
  persistentVolumeClaimRetentionPolicy: policy,
})

const start = (options: ClusterOptions = {}) => startCluster({ nodes: 1, ...options })
const pods = async (cluster: Cluster): Promise<readonly Pod[]> =>
  (await cluster.list(Pod)).toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
const images = async (cluster: Cluster): Promise<readonly string[]> =>
  (await pods(cluster)).map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]!.image}`)
const names = async (cluster: Cluster): Promise<readonly string[]> =>
  (await pods(cluster)).map(({ metadata }) => metadata.name!)
const claims = async ({ client }: Cluster): Promise<readonly string[]> =>
  (await client.list(PersistentVolumeClaim)).items
    .map(({ metadata }) => metadata.name!)
    .toSorted((a, b) => (a < b ? -1 : 1))
const read = ({ client }: Cluster): Promise<StatefulSet> => client.get(StatefulSet, NAME)
const patch = ({ client }: Cluster, spec: object): Promise<StatefulSet> =>
  client.patch(StatefulSet, NAME, { type: "strategic", body: { spec } })
const setImage = (cluster: Cluster, image: string): Promise<StatefulSet> =>
  patch(cluster, { template: { spec: { containers: [{ name: "main", image }] } } })

/** From now on: names of pods in the order in which they came and went, `+db-0`, `-db-0`. */
function journal(cluster: Cluster): () => readonly string[] {
  const after = cluster.history().at(-1)!.revision
  return () =>
    cluster
      .history({ kind: "Pod", after })
      .flatMap(({ type, object: { metadata } }) =>
        type === "update" ? [] : [`${type === "create" ? "+" : "-"}${metadata.name}`],
      )
}

describe("StatefulSet", () => {
  test("starts its pods one after the other, each when the one before is ready", async () => {
    // given pods that take a while to start
    await using cluster = await startCluster({ nodes: 1, images: { db: { startMs: 10_000 } } })
    await cluster.client.create(StatefulSet, db(3))
    await cluster.advance(9_000)
    expect(await names(cluster)).toEqual(["db-0"])
    // when the first has started
    await cluster.advance(2_000)
    expect(await names(cluster)).toEqual(["db-0", "db-1"])
    // then the others follow
    await cluster.advance(20_000)
    const all = await pods(cluster)
    expect(
      all.map(({ metadata, spec }) => [
        metadata.name,
        spec.hostname,
        spec.subdomain,
        metadata.labels?.["statefulset.kubernetes.io/pod-name"],
        metadata.labels?.["apps.kubernetes.io/pod-index"],
      ]),
    ).toEqual([
      ["db-0", "db-0", "db", "db-0", "0"],
      ["db-1", "db-1", "db", "db-1", "1"],
      ["db-2", "db-2", "db", "db-2", "2"],
    ])
    const { status } = await read(cluster)
    expect(status).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      observedGeneration: 1,
    })
    expect(status.currentRevision).toBe(status.updateRevision!)
    expect(all[0]!.metadata.labels?.["controller-revision-hash"]).toBe(status.updateRevision!)
  })

  test("in Parallel starts all pods at once, from spec.ordinals.start", async () => {
    // given no node, so that none of them becomes ready
    await using cluster = await startCluster()
    await cluster.client.create(StatefulSet, db(3, { podManagementPolicy: "Parallel", ordinals: { start: 5 } }))
    await cluster.settle()
    expect(await names(cluster)).toEqual(["db-5", "db-6", "db-7"])
  })

  test.each([
    ["OrderedReady", {}, ["db-0"]],
    ["Parallel", { podManagementPolicy: "Parallel" }, ["db-0", "db-1", "db-2"]],
    [
      "Parallel that replaces half of its pods at once",
      { podManagementPolicy: "Parallel", updateStrategy: { rollingUpdate: { maxUnavailable: "50%" } } },
      ["db-0", "db-1", "db-2"],
    ],
  ])("%s with 2,147,483,647 replicas works with the pods that there are", async (_, more, expected) => {
    // given a quota of three pods, and no node
    await using cluster = await startCluster({ features: { MaxUnavailableStatefulSet: true } })
    await cluster.client.create(ResourceQuota, {
      metadata: { name: "pods", namespace: "default" },
      spec: { hard: { pods: "3" } },
    })
    await cluster.settle()
    // when
    await cluster.client.create(StatefulSet, db(2_147_483_647, more))
    await cluster.advance("1m")
    await setImage(cluster, "db:2")
    await cluster.advance("1m")
    // then
    expect(await names(cluster)).toEqual(expected)
    expect((await read(cluster)).status.replicas).toBe(expected.length)
    // when it is scaled down
    await patch(cluster, { replicas: 1 })
    await cluster.advance("1h")
    // then
    expect(await names(cluster)).toEqual(["db-0"])
  })

  test("scales down from the highest ordinal, and creates a deleted pod again", async () => {
    await using cluster = await start()
    await cluster.client.create(StatefulSet, db(4))
    await cluster.settle()
    const shrinking = journal(cluster)
    await patch(cluster, { replicas: 2 })
    await cluster.settle()
    expect(shrinking()).toEqual(["-db-3", "-db-2"])
    const replacing = journal(cluster)
    await cluster.delete(Pod, "db-0")
    expect(replacing()).toEqual(["-db-0", "+db-0"])
  })

  test("updates from the highest ordinal down, and rolls back to an earlier revision", async () => {
    // given
    await using cluster = await start()
    await cluster.client.create(StatefulSet, db(3))
    await cluster.settle()
    const first = (await read(cluster)).status.currentRevision
    const told = journal(cluster)
    // when
    await setImage(cluster, "db:2")
    await cluster.settle()
    // then
    expect(told()).toEqual(["-db-2", "+db-2", "-db-1", "+db-1", "-db-0", "+db-0"])
    const second = (await read(cluster)).status
    expect(second.currentRevision).toBe(second.updateRevision!)
    expect(second.currentRevision).not.toBe(first!)
    expect((await cluster.client.list(ControllerRevision)).items.map(({ revision }) => revision)).toEqual(
      expect.arrayContaining([1, 2]),
    )
    // when
    await setImage(cluster, "db:1")
    await cluster.settle()
    // then the old revision is the newest now
    expect(await images(cluster)).toEqual(["db-0 db:1", "db-1 db:1", "db-2 db:1"])
    expect((await read(cluster)).status.currentRevision).toBe(first!)
    expect((await cluster.client.get(ControllerRevision, { name: first!, namespace: "default" })).revision).toBe(3)
  })

  test("updates only from its partition on, and rolls lower ordinals back", async () => {
    await using cluster = await start()
    await cluster.client.create(
      StatefulSet,
      db(3, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } }),
    )
    await cluster.settle()
    await setImage(cluster, "db:2")
    await cluster.settle()
    expect(await images(cluster)).toEqual(["db-0 db:1", "db-1 db:1", "db-2 db:2"])
    expect((await read(cluster)).status).toMatchObject({ currentReplicas: 2, updatedReplicas: 1 })
    await cluster.client.delete(Pod, { name: "db-0", namespace: "default" })
    await cluster.settle()
    expect(await images(cluster)).toEqual(["db-0 db:1", "db-1 db:1", "db-2 db:2"])
  })

  test("is rolled out without a partition although its pods cannot be scheduled", async () => {
    // given pods that wait, and go at once when they are deleted
    await using cluster = await startCluster({ nodes: [{ capacity: { cpu: 1 } }] })
    const { spec, ...set } = db(2, { podManagementPolicy: "Parallel", updateStrategy: { type: "RollingUpdate" } })
    const large = { containers: [{ name: "main", image: "db:1", resources: { requests: { cpu: "2" } } }] }
    await cluster.client.create(StatefulSet, { ...set, spec: { ...spec, template: { ...spec.template, spec: large } } })
    await cluster.settle()
    const told = journal(cluster)
    // when
    await setImage(cluster, "db:2")
    await cluster.advance("1h")
    // then the first of them waits for the other
    expect(told()).toEqual(["-db-1", "+db-1"])
    expect(await images(cluster)).toEqual(["db-0 db:1", "db-1 db:2"])
  })

  test("with OnDelete waits until the old pods are deleted", async () => {
    await using cluster = await start()
    await cluster.client.create(StatefulSet, db(2, { updateStrategy: { type: "OnDelete" } }))
    await cluster.settle()
    await setImage(cluster, "db:2")
    await cluster.settle()
    expect(await images(cluster)).toEqual(["db-0 db:1", "db-1 db:1"])
    await cluster.client.delete(Pod, { name: "db-1", namespace: "default" })
    await cluster.settle()
    expect(await images(cluster)).toEqual(["db-0 db:1", "db-1 db:2"])
  })

  test("replaces as many pods at once as maxUnavailable allows", async () => {
    await using cluster = await start({ features: { MaxUnavailableStatefulSet: true } })
    await cluster.client.create(
      StatefulSet,
      db(4, { podManagementPolicy: "Parallel", updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } }),
    )
    await cluster.settle()
    const told = journal(cluster)
    await setImage(cluster, "db:2")
    await cluster.settle()
    expect(
      told()
        .slice(0, 2)
        .toSorted((a, b) => (a < b ? -1 : 1)),
    ).toEqual(["-db-2", "-db-3"])
    expect(await images(cluster)).toEqual(["db-0 db:2", "db-1 db:2", "db-2 db:2", "db-3 db:2"])
  })

  test("waits minReadySeconds before the next pod", async () => {
    await using cluster = await start()
    await cluster.client.create(StatefulSet, db(2, { minReadySeconds: 30 }))
    await cluster.advance(29_000)
    expect(await names(cluster)).toEqual(["db-0"])
    await cluster.advance(2000)
    expect(await names(cluster)).toEqual(["db-0", "db-1"])
    await cluster.advance(31_000)
    expect((await read(cluster)).status).toMatchObject({ availableReplicas: 2 })
  })

  test("keeps as many old revisions as revisionHistoryLimit", async () => {
    await using cluster = await start()
    await cluster.client.create(StatefulSet, db(1, { revisionHistoryLimit: 1 }))
    await cluster.settle()
    for (const image of ["db:2", "db:3", "db:4"]) {
      await setImage(cluster, image)
      await cluster.settle()
    }
    expect(
      (await cluster.client.list(ControllerRevision)).items.map(({ revision }) => revision).toSorted((a, b) => a - b),
    ).toEqual([3, 4])
  })

  test("gives each pod its own claims, which stay by default", async () => {
    await using cluster = await start()
    await cluster.client.create(StatefulSet, db(2, withClaims()))
    await cluster.settle()
    expect(await claims(cluster)).toEqual(["data-db-0", "data-db-1"])
    expect((await pods(cluster))[1]!.spec.volumes?.[0]).toEqual({
      name: "data",
      persistentVolumeClaim: { claimName: "data-db-1" },
    })
    expect(
      (await cluster.client.get(PersistentVolumeClaim, { name: "data-db-0", namespace: "default" })).metadata.labels,
    ).toEqual(labels)
    await patch(cluster, { replicas: 1 })
    await cluster.settle()
    expect(await claims(cluster)).toEqual(["data-db-0", "data-db-1"])
    await cluster.client.delete(StatefulSet, NAME, { propagationPolicy: "Background" })
    await cluster.advance(60_000)
    expect(await names(cluster)).toEqual([])
    expect(await claims(cluster)).toEqual(["data-db-0", "data-db-1"])
  })

  test("deletes claims when its retention policy says so", async () => {
    await using cluster = await start()
    await cluster.client.create(StatefulSet, db(3, withClaims({ whenScaled: "Delete", whenDeleted: "Delete" })))
    await cluster.settle()
    await patch(cluster, { replicas: 1 })
    await cluster.advance(60_000)
    expect(await claims(cluster)).toEqual(["data-db-0"])
    await patch(cluster, { replicas: 2 })
    await cluster.advance(60_000)
    expect(await claims(cluster)).toEqual(["data-db-0", "data-db-1"])
    await cluster.client.delete(StatefulSet, NAME, { propagationPolicy: "Background" })
    await cluster.advance(60_000)
    expect(await claims(cluster)).toEqual([])
  })
})
