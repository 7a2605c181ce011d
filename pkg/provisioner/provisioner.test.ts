import { expect, test } from "bun:test"
import { startCluster } from "../../components/cluster/testing/testing.ts"
import { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { StorageClass } from "../api/storage/v1/storageclass.ts"
import { startController } from "../controller/start.ts"
import { provisioner } from "./provisioner.ts"
import { reclaimer } from "./reclaimer.ts"

test("nothing is left of the storage of a claim that is deleted while its volume is made", async () => {
  // given a maker that takes its time
  await using cluster = await startCluster({ nodes: 0 })
  const { client } = cluster
  const done: string[] = []
  const made = Promise.withResolvers<void>()
  const maker = {
    name: "example.com/maker",
    serves: (name: string) => name === "example.com/maker",
    reaches: () => true,
    async make() {
      done.push("making")
      await made.promise
      return { spec: { hostPath: { path: "/storage/x", type: "" as const } } }
    },
    finished: async () => void done.push("finished"),
    remove: async () => void done.push("removed"),
  }
  const context = cluster.contextFor("maker", ["system:masters"])
  const running = [
    await startController(provisioner("maker", maker), context),
    await startController(reclaimer("remover", maker), context),
  ]
  await client.create(StorageClass, { metadata: { name: "made" }, provisioner: maker.name })
  const name = { name: "data", namespace: "default" }
  await client.create(PersistentVolumeClaim, {
    metadata: name,
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "made",
      resources: { requests: { storage: "1Gi" } },
    },
  })
  await cluster.advance("10s")
  expect(done).toEqual(["making"])
  // when
  await client.delete(PersistentVolumeClaim, name)
  await cluster.advance("10s")
  made.resolve()
  await cluster.advance("1m")
  // then it is removed, more than once at most
  expect([...new Set(done)]).toEqual(["making", "finished", "removed"])
  expect((await client.list(PersistentVolume)).items).toEqual([])
  await Promise.all(running.map((each) => each.stop()))
})
