import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { KubeletContext } from "../context.ts"
import type { CsiVolumes } from "./csi/csi-volumes.ts"
import type { ImageManager } from "../images/image-manager.ts"
import type { MountedVolume } from "../model/mounted-volume.ts"
import type { PathUsers } from "./path-users.ts"

/** The settings of a volume that is mounted through a claim. */
export interface PersistentSettings {
  /** The name of the PersistentVolume. */
  readonly name: string
  readonly mountOptions: readonly string[]
  /** Whether the pod may only read, by its reference to the claim. */
  readonly readOnly: boolean
}

/** What a mounter needs to mount one volume of a pod. */
export interface VolumeSetup<S> {
  readonly context: KubeletContext
  readonly pod: Pod
  readonly volume: Volume
  /** The part of the Volume, or of the PersistentVolume, that belongs to this type: `volume.emptyDir` and so on. */
  readonly source: S
  /** What a PersistentVolume and its claim say; undefined for other volumes. */
  readonly persistent?: PersistentSettings | undefined
  readonly users: PathUsers
  /** Finds or pulls images, for volumes that show one. */
  readonly images: Pick<ImageManager, "ensure">
  /** The volumes of CSI drivers; undefined where the machine can have no driver. */
  readonly csi: Pick<CsiVolumes, "mount"> | undefined
  readonly signal: AbortSignal
}

/**
 * Mounts a volume; does nothing when it is mounted already. @throws Error whose message says why the volume cannot be
 * mounted; the event FailedMount shows it
 */
export type VolumeMounter<S> = (setup: VolumeSetup<S>) => Promise<MountedVolume>

/** Runs the mounter of the first field that is set in `sources`; undefined when none of the fields is set. */
export function mountFirst<S extends object>(
  mounters: { readonly [F in keyof S]: VolumeMounter<S[F]> },
  sources: { readonly [F in keyof S]?: S[F] | undefined },
  setup: Omit<VolumeSetup<unknown>, "source">,
): Promise<MountedVolume> | undefined {
  for (const field in mounters) {
    const source = sources[field]
    if (source !== undefined) return mounters[field]({ ...setup, source })
  }
  return undefined
}
