import { expect, test } from "bun:test"
import { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { startCluster } from "../cluster/testing/cluster.ts"

test("a claim stays while a pod with it is on a node", async () => {
  // given a claim, and a pod that uses it
  await using cluster = await startCluster({ components: { scheduler: false } })
  const { client } = cluster
  const data = { name: "data", namespace: "default" }
  await client.create(PersistentVolumeClaim, {
    metadata: data,
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  })
  await client.create(Pod, {
    metadata: { name: "user", namespace: "default" },
    spec: {
      nodeName: "node-0",
      containers: [{ name: "main", image: "busybox" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    },
  })
  await cluster.settle()
  expect((await client.get(PersistentVolumeClaim, data)).metadata.finalizers).toEqual(["kubernetes.io/pvc-protection"])
  // when the claim is deleted
  await client.delete(PersistentVolumeClaim, data)
  await cluster.settle()
  expect((await client.get(PersistentVolumeClaim, data)).metadata.deletionTimestamp).toBeDefined()
  // then it goes with the pod
  await client.delete(Pod, { name: "user", namespace: "default" }, { gracePeriodSeconds: 0 })
  await cluster.settle()
  expect((await client.list(PersistentVolumeClaim)).items).toEqual([])
})
