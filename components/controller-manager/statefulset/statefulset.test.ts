import { describe, expect, test } from "bun:test"
import { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { startControlPlane, type ControlPlane } from "../../../pkg/testing/control-plane.ts"
import { addNode, runPods } from "../../../pkg/testing/pods.ts"

const NAME = { name: "db", namespace: "default" }
const labels = { app: "db" }

const db = (replicas: number, more: object = {}, image = "db:1") => ({
  metadata: NAME,
  spec: { replicas, serviceName: "db", selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "main", image }] } }, ...more },
})
const withClaims = (policy: object = {}) => ({
  volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } }], persistentVolumeClaimRetentionPolicy: policy,
})

async function start(running = true): Promise<ControlPlane> {
  const plane = await startControlPlane()
  await addNode(plane, "node-0")
  if (running) runPods(plane)
  return plane
}
const pods = async ({ client }: ControlPlane): Promise<readonly Pod[]> => (await client.list(Pod, { namespace: "default" })).items.toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
const images = async (plane: ControlPlane): Promise<readonly string[]> => (await pods(plane)).map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]!.image}`)
const names = async (plane: ControlPlane): Promise<readonly string[]> => (await pods(plane)).map(({ metadata }) => metadata.name!)
const claims = async ({ client }: ControlPlane): Promise<readonly string[]> => (await client.list(PersistentVolumeClaim)).items.map(({ metadata }) => metadata.name!).toSorted((a, b) => (a < b ? -1 : 1))
const read = ({ client }: ControlPlane): Promise<StatefulSet> => client.get(StatefulSet, NAME)
const patch = ({ client }: ControlPlane, spec: object): Promise<StatefulSet> => client.patch(StatefulSet, NAME, { type: "strategic", body: { spec } })
const setImage = (plane: ControlPlane, image: string): Promise<StatefulSet> => patch(plane, { template: { spec: { containers: [{ name: "main", image }] } } })

/** Names of pods in the order in which they came and went: `+db-0`, `-db-0`. */
function journal({ informers }: ControlPlane): string[] {
  const told: string[] = []
  informers.of(Pod).on({ added: ({ metadata }) => told.push(`+${metadata.name}`), deleted: ({ metadata }) => told.push(`-${metadata.name}`) })
  return told
}

describe("StatefulSet", () => {
  test("starts its pods one after the other, each when the one before is ready", async () => {
    // given pods that nobody runs
    await using plane = await start(false)
    await plane.client.create(StatefulSet, db(3))
    await plane.clock.settle()
    expect(await names(plane)).toEqual(["db-0"])
    // when they run
    runPods(plane)
    await plane.clock.settle()
    // then
    const all = await pods(plane)
    expect(all.map(({ metadata, spec }) => [metadata.name, spec.hostname, spec.subdomain, metadata.labels?.["statefulset.kubernetes.io/pod-name"], metadata.labels?.["apps.kubernetes.io/pod-index"]])).toEqual([
      ["db-0", "db-0", "db", "db-0", "0"], ["db-1", "db-1", "db", "db-1", "1"], ["db-2", "db-2", "db", "db-2", "2"],
    ])
    const { status } = await read(plane)
    expect(status).toMatchObject({ replicas: 3, readyReplicas: 3, availableReplicas: 3, currentReplicas: 3, updatedReplicas: 3, observedGeneration: 1 })
    expect(status.currentRevision).toBe(status.updateRevision!)
    expect(all[0]!.metadata.labels?.["controller-revision-hash"]).toBe(status.updateRevision!)
  })

  test("in Parallel starts them all at once, from the ordinal it is told", async () => {
    await using plane = await start(false)
    await plane.client.create(StatefulSet, db(3, { podManagementPolicy: "Parallel", ordinals: { start: 5 } }))
    await plane.clock.settle()
    expect(await names(plane)).toEqual(["db-5", "db-6", "db-7"])
  })

  test("scales down from the highest ordinal, and makes a deleted pod anew", async () => {
    await using plane = await start()
    await plane.client.create(StatefulSet, db(4))
    await plane.clock.settle()
    const told = journal(plane)
    await plane.clock.settle()
    told.length = 0
    await patch(plane, { replicas: 2 })
    await plane.clock.settle()
    expect(told).toEqual(["-db-3", "-db-2"])
    told.length = 0
    await plane.client.delete(Pod, { name: "db-0", namespace: "default" })
    await plane.clock.settle()
    expect(told).toEqual(["-db-0", "+db-0"])
  })

  test("updates from the highest ordinal down, and goes back to an earlier version", async () => {
    // given
    await using plane = await start()
    await plane.client.create(StatefulSet, db(3))
    await plane.clock.settle()
    const first = (await read(plane)).status.currentRevision
    const told = journal(plane)
    await plane.clock.settle()
    told.length = 0
    // when
    await setImage(plane, "db:2")
    await plane.clock.settle()
    // then
    expect(told).toEqual(["-db-2", "+db-2", "-db-1", "+db-1", "-db-0", "+db-0"])
    const second = (await read(plane)).status
    expect(second.currentRevision).toBe(second.updateRevision!)
    expect(second.currentRevision).not.toBe(first!)
    expect((await plane.client.list(ControllerRevision)).items.map(({ revision }) => revision)).toEqual(expect.arrayContaining([1, 2]))
    // when
    await setImage(plane, "db:1")
    await plane.clock.settle()
    // then the old revision is the newest now
    expect(await images(plane)).toEqual(["db-0 db:1", "db-1 db:1", "db-2 db:1"])
    expect((await read(plane)).status.currentRevision).toBe(first!)
    expect((await plane.client.get(ControllerRevision, { name: first!, namespace: "default" })).revision).toBe(3)
  })

  test("updates only from its partition on, and gives lower ordinals their old version back", async () => {
    await using plane = await start()
    await plane.client.create(StatefulSet, db(3, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } }))
    await plane.clock.settle()
    await setImage(plane, "db:2")
    await plane.clock.settle()
    expect(await images(plane)).toEqual(["db-0 db:1", "db-1 db:1", "db-2 db:2"])
    expect((await read(plane)).status).toMatchObject({ currentReplicas: 2, updatedReplicas: 1 })
    await plane.client.delete(Pod, { name: "db-0", namespace: "default" })
    await plane.clock.settle()
    expect(await images(plane)).toEqual(["db-0 db:1", "db-1 db:1", "db-2 db:2"])
  })

  test("with OnDelete waits for somebody to delete the old pods", async () => {
    await using plane = await start()
    await plane.client.create(StatefulSet, db(2, { updateStrategy: { type: "OnDelete" } }))
    await plane.clock.settle()
    await setImage(plane, "db:2")
    await plane.clock.settle()
    expect(await images(plane)).toEqual(["db-0 db:1", "db-1 db:1"])
    await plane.client.delete(Pod, { name: "db-1", namespace: "default" })
    await plane.clock.settle()
    expect(await images(plane)).toEqual(["db-0 db:1", "db-1 db:2"])
  })

  test("replaces as many at once as maxUnavailable allows", async () => {
    await using plane = await start()
    await plane.client.create(StatefulSet, db(4, { podManagementPolicy: "Parallel", updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } }))
    await plane.clock.settle()
    const told = journal(plane)
    await plane.clock.settle()
    told.length = 0
    await setImage(plane, "db:2")
    await plane.clock.settle()
    expect(told.slice(0, 2).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(["-db-2", "-db-3"])
    expect(await images(plane)).toEqual(["db-0 db:2", "db-1 db:2", "db-2 db:2", "db-3 db:2"])
  })

  test("waits minReadySeconds before the next pod", async () => {
    await using plane = await start()
    await plane.client.create(StatefulSet, db(2, { minReadySeconds: 30 }))
    await plane.clock.advance(29_000)
    expect(await names(plane)).toEqual(["db-0"])
    await plane.clock.advance(2000)
    expect(await names(plane)).toEqual(["db-0", "db-1"])
    await plane.clock.advance(31_000)
    expect((await read(plane)).status).toMatchObject({ availableReplicas: 2 })
  })

  test("keeps as many old revisions as its limit says", async () => {
    await using plane = await start()
    await plane.client.create(StatefulSet, db(1, { revisionHistoryLimit: 1 }))
    await plane.clock.settle()
    for (const image of ["db:2", "db:3", "db:4"]) {
      await setImage(plane, image)
      await plane.clock.settle()
    }
    expect((await plane.client.list(ControllerRevision)).items.map(({ revision }) => revision).toSorted((a, b) => a - b)).toEqual([3, 4])
  })

  test("gives each pod claims of its own, which stay by default", async () => {
    await using plane = await start()
    await plane.client.create(StatefulSet, db(2, withClaims()))
    await plane.clock.settle()
    expect(await claims(plane)).toEqual(["data-db-0", "data-db-1"])
    expect((await pods(plane))[1]!.spec.volumes?.[0]).toEqual({ name: "data", persistentVolumeClaim: { claimName: "data-db-1" } })
    expect((await plane.client.get(PersistentVolumeClaim, { name: "data-db-0", namespace: "default" })).metadata.labels).toEqual(labels)
    await patch(plane, { replicas: 1 })
    await plane.clock.settle()
    expect(await claims(plane)).toEqual(["data-db-0", "data-db-1"])
    await plane.client.delete(StatefulSet, NAME, { propagationPolicy: "Background" })
    await plane.clock.advance(60_000)
    expect(await names(plane)).toEqual([])
    expect(await claims(plane)).toEqual(["data-db-0", "data-db-1"])
  })

  test("takes claims along where its retention policy says so", async () => {
    await using plane = await start()
    await plane.client.create(StatefulSet, db(3, withClaims({ whenScaled: "Delete", whenDeleted: "Delete" })))
    await plane.clock.settle()
    await patch(plane, { replicas: 1 })
    await plane.clock.advance(60_000)
    expect(await claims(plane)).toEqual(["data-db-0"])
    await patch(plane, { replicas: 2 })
    await plane.clock.advance(60_000)
    expect(await claims(plane)).toEqual(["data-db-0", "data-db-1"])
    await plane.client.delete(StatefulSet, NAME, { propagationPolicy: "Background" })
    await plane.clock.advance(60_000)
    expect(await claims(plane)).toEqual([])
  })
})
