import { expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { startCluster, type Cluster } from "../../cluster/testing/testing.ts"

const STORAGE = { storage: "1Gi" }
/** Creates a claim with a volume as the provisioner of a node makes it; the Node of this name may not exist. */
async function claimWithVolume({ client }: Cluster, name: string, node: string): Promise<void> {
  await client.create(PersistentVolumeClaim, {
    metadata: { name, namespace: "default" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local-path",
      volumeName: `pv-${name}`,
      resources: { requests: STORAGE },
    },
  })
  await client.create(PersistentVolume, {
    metadata: {
      name: `pv-${name}`,
      annotations: {
        "pv.kubernetes.io/provisioned-by": "rancher.io/local-path",
        "local.path.provisioner/selected-node": node,
      },
      finalizers: ["external-provisioner.volume.kubernetes.io/finalizer"],
    },
    spec: {
      capacity: STORAGE,
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local-path",
      persistentVolumeReclaimPolicy: "Delete",
      claimRef: { namespace: "default", name },
      hostPath: { path: `/storage/pv-${name}_default_${name}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] },
          ],
        },
      },
    },
  })
}
const phases = async ({ client }: Cluster) =>
  (await client.list(PersistentVolume)).items.map(({ metadata, status }) => `${metadata.name} ${status.phase}`)

test("a volume of a deleted node goes with its claim, and not before", async () => {
  // given volumes of a node, of which one has lost its claim
  await using cluster = await startCluster({ nodes: 1 })
  const { client } = cluster
  await client.create(Node, { metadata: { name: "old" } })
  await claimWithVolume(cluster, "kept", "old")
  await claimWithVolume(cluster, "released", "old")
  await cluster.settle()
  await client.delete(PersistentVolumeClaim, { name: "released", namespace: "default" })
  await cluster.advance("1m")
  expect(await phases(cluster)).toEqual(["pv-kept Bound", "pv-released Released"])
  // when
  await client.delete(Node, { name: "old" })
  await cluster.advance("1m")
  // then
  expect(await phases(cluster)).toEqual(["pv-kept Bound"])
  // and with its claim, and if somebody deletes it, the other one goes too
  await client.delete(PersistentVolume, { name: "pv-kept" })
  await cluster.advance("1m")
  expect(await phases(cluster)).toEqual(["pv-kept Bound"])
  await client.delete(PersistentVolumeClaim, { name: "kept", namespace: "default" })
  await cluster.advance("1m")
  expect(await phases(cluster)).toEqual([])
})

test("a volume stays for its node's provisioner if the node is registered again", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  const { client } = cluster
  await client.create(Node, { metadata: { name: "again" } })
  await claimWithVolume(cluster, "a", "again")
  await cluster.settle()
  await client.delete(PersistentVolumeClaim, { name: "a", namespace: "default" })
  await cluster.settle()
  // when
  await client.delete(Node, { name: "again" })
  await cluster.advance("20s")
  await client.create(Node, { metadata: { name: "again" } })
  await cluster.advance("2m")
  // then
  expect(await phases(cluster)).toEqual(["pv-a Released"])
  // and it has as much time when the node is deleted once more
  await client.delete(Node, { name: "again" })
  await cluster.advance("39s")
  expect(await phases(cluster)).toEqual(["pv-a Released"])
  await cluster.advance("2s")
  expect(await phases(cluster)).toEqual([])
})
