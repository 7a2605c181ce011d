import { expect, test } from "bun:test"
import { startCluster } from "../../components/cluster/testing/testing.ts"
import { Event } from "../api/core/v1/event/event.ts"
import { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import { startController } from "../controller/start.ts"
import { reclaimer } from "./reclaimer.ts"

const volume = (name: string, source: object, annotations: Record<string, string> = {}) => ({
  metadata: { name, annotations },
  spec: {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce" as const],
    storageClassName: "disks",
    persistentVolumeReclaimPolicy: "Delete" as const,
    claimRef: { namespace: "default", name, uid: "gone" },
    ...source,
  },
})
const MADE = { "pv.kubernetes.io/provisioned-by": "maker" }

test.each([
  { title: "the same folder", source: { hostPath: { path: "/storage/pv-1_default_a/" } } },
  { title: "a folder in it", source: { hostPath: { path: "/storage//pv-1_default_a/inner" } } },
])("the folder of a released volume is not removed while another PersistentVolume names $title", async ({ source }) => {
  // given a maker's volume, and one that an administrator has made
  await using cluster = await startCluster({ nodes: 0 })
  const removed: string[] = []
  const maker = {
    name: "maker",
    serves: () => true,
    reaches: () => true,
    make: () => Promise.reject(new Error("none")),
    remove: async ({ metadata }: PersistentVolume) => void removed.push(metadata.name!),
  }
  const running = await startController(reclaimer("maker", maker), cluster.contextFor("maker", ["system:masters"]))
  await cluster.client.create(PersistentVolume, volume("mine", source))
  // when both are released, for want of their claims
  await cluster.client.create(PersistentVolume, volume("pv-1", { hostPath: { path: "/storage/pv-1_default_a" } }, MADE))
  await cluster.client.create(PersistentVolume, volume("pv-2", { hostPath: { path: "/storage/pv-1_default_b" } }, MADE))
  await cluster.advance("1m")
  // then only the one that shares nothing is removed, and an Event tells why
  expect(removed).toEqual(["pv-2"])
  const { items } = await cluster.client.list(Event)
  expect(items.filter(({ reason }) => reason === "VolumeFailedDelete").map(({ message }) => message)).toContain(
    'its folder has data of PersistentVolume "mine" too: delete that first, or keep both',
  )
  // and when the other is gone, it goes
  await cluster.client.delete(PersistentVolume, { name: "mine" })
  await cluster.advance("20m")
  expect(removed).toEqual(["pv-2", "pv-1"])
  await running.stop()
})
