import { expect, test } from "bun:test"
import { PersistentVolume, PersistentVolumeClaim, startCluster } from "../../cluster/testing/testing.ts"

const claim = (name: string, attributes?: string) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    ...(attributes === undefined ? {} : { volumeAttributesClassName: attributes }),
  },
})
const podWith = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    containers: [{ name: "c", image: "web", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }],
  },
})
const GOLD = {
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttributesClass",
  metadata: { name: "gold" },
  driverName: "disk.example.org",
  parameters: { iops: "1000" },
}

test("a claim with a VolumeAttributesClass stays Pending if it has no volume, and keeps its volume as it is otherwise", async () => {
  await using cluster = await startCluster({ seed: 1, nodes: 1 })
  // when a claim asks for attributes, and one gets them after its volume
  await cluster.apply([GOLD, claim("gold", "gold"), podWith("gold"), claim("plain"), podWith("plain")])
  await cluster.eventually(async () => (await cluster.get(PersistentVolumeClaim, "plain")).status.phase === "Bound")
  await cluster.apply([claim("plain", "gold")])
  await cluster.advance("10m")
  // then the first gets no volume, and says why
  expect((await cluster.get(PersistentVolumeClaim, "gold")).status.phase).toBe("Pending")
  expect(cluster.history({ kind: "Event" }).map(({ object }) => (object as { message?: string }).message)).toContain(
    'failed to provision volume with StorageClass "local-path": volumes of k3ts.dev/simulated support no ' +
      "VolumeAttributesClass: leave volumeAttributesClassName out",
  )
  // and the second keeps its volume as it is, as in Kubernetes, where only drivers change volumes
  const plain = await cluster.get(PersistentVolumeClaim, "plain")
  expect(plain.spec.volumeAttributesClassName).toBe("gold")
  expect(plain.status).toEqual({ phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } })
  expect((await cluster.list(PersistentVolume)).map(({ spec }) => spec.volumeAttributesClassName)).toEqual([undefined])
})
