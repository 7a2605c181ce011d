/**
 * Volumes behind a claim that is bound: kinds that the node reaches without a driver. Source:
 * pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go.
 */
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { ephemeralClaimName } from "../../../pkg/pods/pod-claims.ts"
import type { MountedVolume } from "./mounted-volume.ts"
import { mountHostPath } from "./host-path.ts"
import { mountNfs } from "./nfs.ts"
import { ownershipFor } from "./ownership.ts"
import type { VolumeMounter, VolumeSetup } from "./volume-setup.ts"

export interface ClaimSource {
  readonly claimName: string
  readonly readOnly?: boolean | undefined
}

export const mountClaim: VolumeMounter<ClaimSource> = (setup) => mount(setup, () => undefined)

/** The pod's own claim, made from the template in its spec. One that was there before is somebody else's. */
export const mountEphemeral: VolumeMounter<object> = (setup) => {
  const { pod, volume } = setup
  return mount(
    { ...setup, source: { claimName: ephemeralClaimName(pod.metadata.name ?? "", volume.name) } },
    ({ metadata }) => {
      if (
        metadata.ownerReferences?.some(({ uid, controller }) => uid === pod.metadata.uid && controller === true) ===
        true
      )
        return
      throw new Error(
        `PVC ${metadata.namespace ?? ""}/${metadata.name ?? ""} was not created for pod ` +
          `${pod.metadata.namespace ?? ""}/${pod.metadata.name ?? ""} (pod is not owner)`,
      )
    },
  )
}

async function mount(
  setup: VolumeSetup<ClaimSource>,
  check: (claim: PersistentVolumeClaim) => void,
): Promise<MountedVolume> {
  const {
    context: { client },
    pod,
    source: { claimName, readOnly = false },
  } = setup
  const { namespace } = pod.metadata
  const about = `error processing PVC ${namespace ?? ""}/${claimName}`
  const claim = await client.get(PersistentVolumeClaim, { namespace, name: claimName }).catch((err: Error) => {
    throw new Error(`${about}: failed to fetch PVC from API server: ${err.message}`, { cause: err })
  })
  check(claim)
  const { volumeName = "" } = claim.spec
  if (volumeName === "" || claim.status.phase !== "Bound") throw new Error(`${about}: PVC is not bound`)
  const volume = await client.get(PersistentVolume, { name: volumeName }).catch((err: Error) => {
    throw new Error(`${about}: failed to fetch PV ${volumeName} from API server: ${err.message}`, { cause: err })
  })
  if (volume.spec.claimRef === undefined || volume.spec.claimRef.uid !== claim.metadata.uid)
    throw new Error(`${about}: volume ${volumeName} is bound to another claim`)
  const mounted = await mountPersistent(setup, volume)
  return readOnly ? { ...mounted, readOnly } : mounted
}

async function mountPersistent(
  { context, pod, volume: { name }, ...rest }: VolumeSetup<ClaimSource>,
  { metadata, spec }: PersistentVolume,
): Promise<MountedVolume> {
  const setup = { ...rest, context, pod, volume: { name } }
  const { hostPath, local, nfs, mountOptions, volumeMode } = spec
  if (volumeMode === "Block")
    throw new Error(`volume ${metadata.name ?? ""} has volumeMode Block, which is not supported: use Filesystem`)
  if (hostPath !== undefined) return mountHostPath({ ...setup, source: hostPath })
  if (nfs !== undefined) return mountNfs({ ...setup, source: { ...nfs, mountOptions } })
  if (local !== undefined) {
    await context.runtime.volumes.checkHostPath(local.path, "Directory")
    const ownership = ownershipFor(pod, false, pod.spec.securityContext.fsGroupChangePolicy)
    if (ownership !== undefined) await context.runtime.volumes.setOwnership(local.path, ownership)
    return { name, hostPath: local.path, readOnly: false, measured: "filesystem" }
  }
  throw new Error(
    `volume ${metadata.name ?? ""} is of a kind that is not supported (${driverOf(spec)}): use hostPath, local or nfs`,
  )
}

const driverOf = ({ csi }: PersistentVolume["spec"]): string =>
  csi === undefined ? "its source is unknown" : `CSI driver ${csi.driver}`
