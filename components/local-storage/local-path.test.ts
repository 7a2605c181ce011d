import { beforeEach, expect, test } from "bun:test"
import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { localPathClass } from "../../pkg/api/storage/v1/local-path.ts"
import type { Folders } from "./folders.ts"
import type { ProjectQuota } from "./project-quota.ts"
import { localPath } from "./local-path.ts"

const removed: string[] = []
const folders: Pick<Folders, "create" | "createDisk" | "remove"> = {
  createDisk: async (name, bytes) => `/storage/${name}/disk-of-${bytes}`,
  create: async (name) => `/storage/${name}`,
  remove: async (path) => void removed.push(path),
}
const limits: string[] = []
let lacking: string | undefined
const quota: ProjectQuota = {
  lacking: async () => lacking,
  limit: async (folder, bytes) => void limits.push(`${folder} ${bytes}`),
  lift: async (folder) => void limits.push(`${folder} none`),
}
beforeEach(() => {
  limits.length = 0
  removed.length = 0
  lacking = undefined
})
const maker = localPath("here", folders, quota, { begin: async () => undefined, end: async () => undefined })
const request = (spec: object = {}, annotations: Record<string, string> = {}) => ({
  name: "pvc-1",
  claim: {
    metadata: { namespace: "shop", name: "db", annotations },
    spec: { resources: { requests: { storage: "1Mi" } }, ...spec },
  } as unknown as PersistentVolumeClaim,
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
    title: "local, if the claim's annotation says so",
    annotations: { volumeType: "local" },
    wants: { local: { path: "/storage/pvc-1_shop_db" } },
  },
])("a volume is of the type $title, and has node affinity for its node", async ({ annotations, wants }) => {
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
  { title: "a dataSource", spec: { dataSource: {} }, says: "a volume cannot be filled from another object" },
  {
    title: "ReadWriteMany",
    spec: { accessModes: ["ReadWriteMany"] },
    says: "NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes",
  },
])("a claim with $title is refused", async ({ spec, says }) => {
  await expect(maker.make(request(spec))).rejects.toThrow(says)
})

test("a volume whose path is another volume's folder is not removed", async () => {
  // given a volume that names the folder of another
  const forged = { metadata: { name: "pvc-2" }, spec: { hostPath: { path: "/storage/pvc-1_shop_db" } } }
  // when
  const removing = maker.remove(forged as PersistentVolume)
  // then
  await expect(removing).rejects.toThrow("the path /storage/pvc-1_shop_db was not made for volume pvc-2")
  expect(removed).toEqual([])
})

test("the quota of a volume is set to its size, grows with its claim, and is removed with the volume", async () => {
  // given
  await maker.make(request())
  const made = { metadata: { name: "pvc-1" }, spec: { hostPath: { path: "/storage/pvc-1_shop_db" } } }
  // when
  await maker.resize!(made as PersistentVolume, "2Mi")
  await maker.remove(made as PersistentVolume)
  // then
  expect(limits).toEqual([
    "/storage/pvc-1_shop_db 1048576",
    "/storage/pvc-1_shop_db 2097152",
    "/storage/pvc-1_shop_db none",
  ])
  expect(removed).toEqual(["/storage/pvc-1_shop_db"])
})

test("a volume has an annotation that says why its size is not enforced", async () => {
  lacking = "/ (ext4) is mounted without prjquota"
  expect(await maker.make(request())).toMatchObject({ sizeNotEnforced: lacking })
  expect(limits).toEqual([])
})

test("a claim for a block device gets a file of its size, which is removed with its folder", async () => {
  // given
  const { spec } = await maker.make(request({ volumeMode: "Block" }))
  expect(spec.local).toEqual({ path: "/storage/pvc-1_shop_db/disk-of-1048576" })
  expect(limits).toEqual([])
  // when
  const made = { metadata: { name: "pvc-1" }, spec: { ...spec, volumeMode: "Block" } }
  await maker.remove(made as PersistentVolume)
  // then
  expect(removed).toEqual(["/storage/pvc-1_shop_db"])
})
