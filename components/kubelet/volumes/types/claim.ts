/**
 * Mounts the PersistentVolume to which a claim is bound, if its type needs no CSI driver. Source:
 * pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go.
 */
import { PersistentVolume } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { PROVISIONED_BY } from "../../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { LOCAL_PATH } from "../../../../pkg/api/storage/v1/local-path.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { ephemeralClaimName } from "../../../../pkg/pods/pod-claims.ts"
import { finishGrowth } from "../finish-growth.ts"
import type { MountedVolume } from "../../model/mounted-volume.ts"
import { ClaimError, MountError, NotAttached } from "../../model/start-error.ts"
import { mountHostPath } from "./host-path.ts"
import { mountLocal } from "./local.ts"
import { mountNfs } from "./nfs.ts"
import { localLink, podsFolder } from "../volume-paths.ts"
import { mountFirst, type VolumeMounter, type VolumeSetup } from "../volume-setup.ts"

export interface ClaimSource {
  readonly claimName: string
  readonly readOnly?: boolean | undefined
}

export const mountClaim: VolumeMounter<ClaimSource> = (setup) => mountBound(setup, () => undefined)

/**
 * Mounts the claim that was created from the template in the pod's spec. A claim of the same name that the pod does not
 * own is refused.
 */
export const mountEphemeral: VolumeMounter<object> = (setup) => {
  const { pod, volume } = setup
  const { namespace = "", name = "" } = pod.metadata
  return mountBound({ ...setup, source: { claimName: ephemeralClaimName(name, volume.name) } }, ({ metadata }) => {
    if (
      metadata.ownerReferences?.some(({ uid, controller }) => uid === pod.metadata.uid && controller === true) === true
    )
      return
    const about = `${metadata.namespace ?? ""}/${metadata.name ?? ""}`
    const why = `PVC ${about} was not created for pod ${namespace}/${name} (pod is not owner)`
    throw new ClaimError(volume.name, `error processing PVC ${about}: ${why}`)
  })
}

async function mountBound(
  setup: VolumeSetup<ClaimSource>,
  check: (claim: PersistentVolumeClaim) => void,
): Promise<MountedVolume> {
  const {
    context: { client },
    pod,
    source: { claimName, readOnly = false },
  } = setup
  const { namespace } = pod.metadata
  const refuse = (why: string, cause?: unknown) =>
    new ClaimError(setup.volume.name, `error processing PVC ${namespace ?? ""}/${claimName}: ${why}`, cause)
  const claim = await client.get(PersistentVolumeClaim, { namespace, name: claimName }).catch((err: Error) => {
    throw refuse(`failed to fetch PVC from API server: ${err.message}`, err)
  })
  check(claim)
  const { volumeName = "" } = claim.spec
  if (volumeName === "" || claim.status.phase !== "Bound") throw refuse("PVC is not bound")
  const volume = await client.get(PersistentVolume, { name: volumeName }).catch((err: Error) => {
    throw refuse(`failed to fetch PV ${volumeName} from API server: ${err.message}`, err)
  })
  if (volume.spec.claimRef === undefined || volume.spec.claimRef.uid !== claim.metadata.uid)
    throw refuse(`volume ${volumeName} is bound to another claim`)
  const mounted = await mountPersistent(setup, volume).catch((err: unknown) => {
    const isTold = err instanceof MountError || err instanceof NotAttached || setup.signal.aborted
    throw isTold ? err : new MountError("SetUp", volumeName, errorMessage(err), err)
  })
  return { ...mounted, ...(readOnly ? { readOnly } : {}), ...(await growing(setup, claim, volume)) }
}

/** Of the types that are mounted here, a change of size concerns the node only for `local`, as in Kubernetes. */
async function growing(
  { context, pod, source: { claimName } }: VolumeSetup<ClaimSource>,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): Promise<Pick<MountedVolume, "grow">> {
  if (volume.spec.local === undefined) return {}
  await finishGrowth(context, pod, claim)
  return {
    async grow() {
      const { namespace } = pod.metadata
      await finishGrowth(context, pod, await context.client.get(PersistentVolumeClaim, { namespace, name: claimName }))
    },
  }
}

/** The types of PersistentVolumes that need no driver, by their field of PersistentVolumeSpec. */
const MOUNTERS = { hostPath: mountHostPath, nfs: mountNfs, local: mountLocal }

async function mountPersistent(setup: VolumeSetup<ClaimSource>, volume: PersistentVolume): Promise<MountedVolume> {
  const {
    context,
    pod,
    volume: { name },
    source: { readOnly = false },
    signal,
  } = setup
  const { metadata, spec } = volume
  const { local, volumeMode } = spec
  if (spec.csi !== undefined && setup.csi !== undefined) {
    const hostPath = await setup.csi.mount(pod, volume, signal)
    if (volumeMode === "Block") return { name, hostPath, readOnly: false, isDevice: true }
    return { name, hostPath, readOnly: spec.csi.readOnly === true, measured: "filesystem" }
  }
  if (volumeMode === "Block") {
    if (local === undefined)
      throw new Error(`volume ${metadata.name ?? ""} has volumeMode Block, which only local volumes can have here`)
    const link = localLink(context.config, pod.metadata.uid!, metadata.name!)
    const hostPath = await context.runtime.volumes.mapDevice({
      path: local.path,
      link,
      pods: podsFolder(context.config),
    })
    return { name, hostPath, readOnly: false, isDevice: true }
  }
  const persistent = { name: metadata.name!, mountOptions: spec.mountOptions ?? [], readOnly }
  const mounted = mountFirst(MOUNTERS, spec, { ...setup, volume: { name }, persistent })
  if (mounted !== undefined) {
    // The usage of a path of the node is not measured, but that of a folder which was provisioned for the claim is.
    const isOwn = spec.hostPath !== undefined && metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH
    return isOwn ? { ...(await mounted), measured: "files" } : mounted
  }
  throw new Error(
    `volume ${metadata.name ?? ""} is of a kind that is not supported (${driverOf(spec)}): use hostPath, local or nfs`,
  )
}

const driverOf = ({ csi }: PersistentVolume["spec"]): string =>
  csi === undefined ? "its source is unknown" : `CSI driver ${csi.driver}`
