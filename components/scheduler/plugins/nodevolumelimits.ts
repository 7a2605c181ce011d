import type { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { storageClassOf } from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { CSINode } from "../../../pkg/api/storage/v1/csinode.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { ephemeralClaimName } from "../../../pkg/pods/pod-claims.ts"
import { failed, SKIP, SUCCESS, unresolvable, unschedulable, type Plugin, type Status } from "../framework.ts"
import type { VolumeObjects } from "../volumebinding/volume-objects.ts"

const TOO_MANY = "node(s) exceed max volume count"

/** Attached volumes by their identity, `<driver>/<handle>`. */
type Attached = Map<string, { readonly driver: string }>

/**
 * Limits the volumes of a CSI driver on a node to the count in its CSINode. It counts the volumes of the node's pods,
 * each once, those that VolumeAttachments name, and unbound claims by their class. Source:
 * plugins/nodevolumelimits/csi.go.
 */
export const nodeVolumeLimits = (objects: VolumeObjects): Plugin => ({
  name: "NodeVolumeLimits",
  eventsToRegister: ["Volume/Change", "AssignedPod/Delete", "Pod/Update"],
  preFilter: (_state, pod) => (pod.spec.volumes?.some(isCounted) === true ? SUCCESS : SKIP),
  filter(_state, pod, { node, pods }) {
    const { name = "" } = node.metadata
    const csiNode = objects.csiNode(name)
    const wanted: Attached = new Map()
    const refused = collect(pod, csiNode, objects, wanted, true)
    if (refused !== undefined) return refused
    const limits = limitsOf(csiNode)
    if (wanted.size === 0 || limits.size === 0) return SUCCESS
    const there: Attached = new Map()
    for (const other of pods.values()) {
      const broken = collect(other, csiNode, objects, there, false)
      if (broken !== undefined) return broken
    }
    for (const { spec } of objects.attachments(name)) {
      const handle = objects.volume(spec.source.persistentVolumeName ?? "")?.spec.csi?.volumeHandle
      if (spec.attacher !== "" && handle !== undefined)
        there.set(`${spec.attacher}/${handle}`, { driver: spec.attacher })
    }
    const counts = new Map<string, number>()
    for (const { driver } of there.values()) counts.set(driver, (counts.get(driver) ?? 0) + 1)
    for (const [id, { driver }] of wanted) {
      if (there.has(id)) continue
      const count = (counts.get(driver) ?? 0) + 1
      if (count > (limits.get(driver) ?? Infinity)) return unschedulable(TOO_MANY)
      counts.set(driver, count)
    }
    return SUCCESS
  },
})

const isCounted = (volume: Volume): boolean =>
  volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined || inTreeDisk(volume) !== undefined

/** Returns the most volumes of each driver; a driver without a count has no limit. Source: getVolumeLimits. */
const limitsOf = (csiNode: CSINode | undefined): ReadonlyMap<string, number> =>
  new Map(
    (csiNode?.spec.drivers ?? []).flatMap(({ name, allocatable }) =>
      allocatable?.count === undefined ? [] : [[name, allocatable.count] as const],
    ),
  )

/**
 * Adds the volumes of a pod. Returns why the pod cannot be placed: only a new pod needs its claims to exist. Source:
 * filterAttachableVolumes.
 */
function collect(
  pod: Pod,
  csiNode: CSINode | undefined,
  objects: VolumeObjects,
  into: Attached,
  isNew: boolean,
): Status | undefined {
  const { namespace = "", name: podName = "", uid } = pod.metadata
  for (const volume of pod.spec.volumes ?? []) {
    const { name, persistentVolumeClaim, ephemeral } = volume
    const add = (disk: Disk | undefined) => {
      if (disk !== undefined) into.set(`${disk.driver}/${disk.handle}`, { driver: disk.driver })
    }
    if (persistentVolumeClaim === undefined && ephemeral === undefined) {
      if (csiNode !== undefined) add(inTreeDisk(volume))
      continue
    }
    const claimName = persistentVolumeClaim?.claimName ?? ephemeralClaimName(podName, name)
    const claim = objects.claim(namespace, claimName)
    if (claim === undefined) {
      if (!isNew) continue
      const missing = `persistentvolumeclaims ${JSON.stringify(claimName)} not found`
      return unresolvable(`looking up PVC ${namespace}/${claimName}: ${missing}`)
    }
    if (ephemeral !== undefined && controllerOf(claim)?.uid !== uid) {
      const reason = `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${podName} (pod is not owner)`
      return failed(reason)
    }
    add(diskOf(claim, csiNode, objects))
  }
  return undefined
}

interface Disk {
  readonly driver: string
  readonly handle: string
}

/** Undefined for volumes that no CSI driver attaches. Source: getCSIDriverInfo. */
function diskOf(claim: PersistentVolumeClaim, csiNode: CSINode | undefined, objects: VolumeObjects): Disk | undefined {
  const volume = objects.volume(claim.spec.volumeName ?? "")
  if (volume === undefined) return diskToBe(claim, csiNode, objects)
  const { csi } = volume.spec
  if (csi !== undefined) return { driver: csi.driver, handle: csi.volumeHandle }
  return csiNode === undefined ? undefined : inTreeDisk(volume.spec)
}

/** Returns the volume that will be provisioned for an unbound claim. Source: getCSIDriverInfoFromSC. */
function diskToBe(
  claim: PersistentVolumeClaim,
  csiNode: CSINode | undefined,
  { storageClass }: VolumeObjects,
): Disk | undefined {
  const provisioner = storageClass(storageClassOf(claim))?.provisioner
  if (provisioner === undefined) return undefined
  const handle = `claim ${claim.metadata.namespace}/${claim.metadata.name}`
  const became = IN_TREE.find(({ plugin }) => plugin === provisioner)
  if (became === undefined) return { driver: provisioner, handle }
  return csiNode === undefined ? undefined : { driver: became.driver, handle }
}

type Sources = Pick<
  PersistentVolume["spec"],
  "awsElasticBlockStore" | "gcePersistentDisk" | "azureDisk" | "cinder" | "portworxVolume"
>

/** Volume types that were part of Kubernetes, and the CSI drivers that replaced them. Source: csi-translation-lib. */
const IN_TREE: readonly {
  readonly plugin: string
  readonly driver: string
  handle(sources: Sources): string | undefined
}[] = [
  {
    plugin: "kubernetes.io/aws-ebs",
    driver: "ebs.csi.aws.com",
    // aws://<zone>/<id>
    handle: ({ awsElasticBlockStore: disk }) => disk?.volumeID.slice(disk.volumeID.lastIndexOf("/") + 1),
  },
  {
    plugin: "kubernetes.io/gce-pd",
    driver: "pd.csi.storage.gke.io",
    handle: ({ gcePersistentDisk: disk }) => disk?.pdName,
  },
  { plugin: "kubernetes.io/azure-disk", driver: "disk.csi.azure.com", handle: ({ azureDisk: disk }) => disk?.diskURI },
  { plugin: "kubernetes.io/cinder", driver: "cinder.csi.openstack.org", handle: ({ cinder: disk }) => disk?.volumeID },
  {
    plugin: "kubernetes.io/portworx-volume",
    driver: "pxd.portworx.com",
    handle: ({ portworxVolume: disk }) => disk?.volumeID,
  },
]

function inTreeDisk(sources: Sources): Disk | undefined {
  for (const { driver, handle } of IN_TREE) {
    const found = handle(sources)
    if (found !== undefined) return { driver, handle: found }
  }
  return undefined
}
