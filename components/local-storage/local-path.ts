import { basename, dirname } from "node:path"
import { parseQuantity } from "../../pkg/apimachinery/scalars/quantity.ts"
import type { PersistentVolume } from "../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { LOCAL_PATH, MADE_ON } from "../../pkg/api/storage/v1/local-path.ts"
import {
  reachedFrom,
  type MadeVolume,
  type VolumeMaker,
  type VolumeRequest,
} from "../../pkg/provisioner/volume-maker.ts"
import type { Folders } from "./folders.ts"
import type { ProjectQuota } from "./project-quota.ts"
import { folderOf, type Unfinished } from "./unfinished.ts"

const HOSTNAME = "kubernetes.io/hostname"
/** On a claim: whether its volume is of the kind `local` or `hostPath`. On a class: that of claims which do not say. */
const VOLUME_TYPE = "volumeType"
const DEFAULT_VOLUME_TYPE = "defaultVolumeType"
const ACCESS_MODES: readonly string[] = ["ReadWriteOnce", "ReadWriteOncePod"]

/**
 * Makes volumes that are folders of this node, with the names, annotations and refusals of the provisioner that k3s
 * brings along. Source: github.com/rancher/local-path-provisioner provisioner.go.
 */
export const localPath = (
  nodeName: string,
  folders: Pick<Folders, "create" | "createDisk" | "remove">,
  quota: ProjectQuota,
  unfinished: Pick<Unfinished, "begin" | "end">,
): VolumeMaker => ({
  name: LOCAL_PATH,
  serves: (provisioner) => provisioner === LOCAL_PATH,
  reaches: (node) => node === undefined || node === nodeName,
  async make(request) {
    const refused = refusal(request)
    if (refused !== undefined) throw new Error(refused)
    const folder = folderOf(request.name, request.claim.metadata)
    // Where folders are to outlive their volumes, none is ever taken for one that was not finished.
    if (request.storageClass.reclaimPolicy === "Delete") await unfinished.begin(folder)
    if (request.claim.spec.volumeMode === "Block") {
      const size = bytesOf(request.claim.spec.resources.requests?.["storage"])
      return madeVolume(request, await folders.createDisk(folder, size), nodeName)
    }
    const path = await folders.create(folder)
    const lacking = await quota.lacking()
    if (lacking === undefined) await quota.limit(path, bytesOf(request.claim.spec.resources.requests?.["storage"]))
    const made = madeVolume(request, path, nodeName)
    return lacking === undefined ? made : { ...made, sizeNotEnforced: lacking }
  },
  finished: ({ name, claim }) => unfinished.end(folderOf(name, claim.metadata)),
  async resize(volume, size) {
    if (isBlock(volume)) {
      await folders.createDisk(basename(dirname(pathOf(volume))), bytesOf(size))
      // Pods have a loop device, which keeps the size that its file had when they were put together.
      return { onNode: true }
    }
    if ((await quota.lacking()) === undefined) await quota.limit(pathOf(volume), bytesOf(size))
    return { onNode: false }
  },
  async remove(volume) {
    const { name } = volume.metadata
    const path = isBlock(volume) ? dirname(pathOf(volume)) : pathOf(volume)
    if (!path.includes(`/${name}_`)) throw new Error(`the path ${path} was not made for volume ${name}`)
    if (!isBlock(volume) && (await quota.lacking()) === undefined) await quota.lift(path)
    await folders.remove(path)
  },
})

const pathOf = ({ spec }: PersistentVolume): string => spec.local?.path ?? spec.hostPath?.path ?? ""
const isBlock = ({ spec }: PersistentVolume): boolean => spec.volumeMode === "Block"
const bytesOf = (size: string | undefined): number => Number((parseQuantity(size ?? "0")?.nano ?? 0n) / 1_000_000_000n)

function refusal({ claim: { spec } }: VolumeRequest): string | undefined {
  if (spec.selector !== undefined) return "claim.Spec.Selector is not supported"
  if (spec.dataSource !== undefined || spec.dataSourceRef !== undefined)
    return "a volume cannot be filled from another object here: leave dataSource and dataSourceRef out"
  if ((spec.accessModes ?? []).some((mode) => !ACCESS_MODES.includes(mode)))
    return "NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes"
  return undefined
}

function madeVolume({ claim, storageClass, node }: VolumeRequest, path: string, nodeName: string): MadeVolume {
  // Only volumes of the kind local can be block devices.
  const type =
    claim.spec.volumeMode === "Block"
      ? "local"
      : (claim.metadata.annotations?.[VOLUME_TYPE] ??
        storageClass.metadata.annotations?.[DEFAULT_VOLUME_TYPE] ??
        "hostPath")
  const hostname = node?.metadata.labels?.[HOSTNAME] ?? nodeName
  return {
    annotations: { [MADE_ON]: nodeName },
    spec: {
      ...(type === "local" ? { local: { path } } : { hostPath: { path, type: "DirectoryOrCreate" } }),
      nodeAffinity: reachedFrom(HOSTNAME, hostname),
    },
  }
}
