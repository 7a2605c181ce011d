import { expect, test } from "bun:test"
import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { localPathClass } from "../../pkg/api/storage/v1/local-path.ts"
import type { Folders } from "./folders.ts"
import { localPath } from "./local-path.ts"

const removed: string[] = []
const folders: Pick<Folders, "create" | "remove"> = {
  create: async (name) => `/storage/${name}`,
  remove: async (path) => void removed.push(path),
}
const maker = localPath("here", folders)
const request = (spec: object = {}, annotations: Record<string, string> = {}) => ({
  name: "pvc-1",
  claim: { metadata: { namespace: "shop", name: "db", annotations }, spec } as unknown as PersistentVolumeClaim,
  storageClass: localPathClass,
  node: { metadata: { name: "here", labels: { "kubernetes.io/hostname": "host-1" } } } as unknown as Node,
})

test.each([
  {
    title: "hostPath",
    annotations: {},
    wants: { hostPath: { path: "/storage/pvc-1_shop_db", type: "DirectoryOrCreate" } },
  },
  {
    title: "local, where the claim says so",
    annotations: { volumeType: "local" },
    wants: { local: { path: "/storage/pvc-1_shop_db" } },
  },
])("a volume is of the kind $title, and is reached from its node", async ({ annotations, wants }) => {
  expect(await maker.make(request({}, annotations))).toEqual({
    annotations: { "local.path.provisioner/selected-node": "here" },
    spec: {
      ...wants,
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["host-1"] }] },
          ],
        },
      },
    },
  } as Awaited<ReturnType<typeof maker.make>>)
})

test.each([
  { title: "a selector", spec: { selector: {} }, says: "claim.Spec.Selector is not supported" },
  { title: "a block device", spec: { volumeMode: "Block" }, says: "volumes of mode Block are not made here" },
  { title: "another object's data", spec: { dataSource: {} }, says: "a volume cannot be filled from another object" },
  {
    title: "many writers",
    spec: { accessModes: ["ReadWriteMany"] },
    says: "NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes",
  },
])("a claim that asks for $title is refused", async ({ spec, says }) => {
  await expect(maker.make(request(spec))).rejects.toThrow(says)
})

test("only the folder that was made for a volume is removed with it", async () => {
  // given a volume that names the folder of another
  const forged = { metadata: { name: "pvc-2" }, spec: { hostPath: { path: "/storage/pvc-1_shop_db" } } }
  // when
  const removing = maker.remove(forged as PersistentVolume)
  // then
  await expect(removing).rejects.toThrow("the path /storage/pvc-1_shop_db was not made for volume pvc-2")
  expect(removed).toEqual([])
})
