import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { KubeletContext } from "../context.ts"
import type { MountedVolume } from "./mounted-volume.ts"

/** What a mounter needs to mount one volume of a pod. */
export interface VolumeSetup<S> {
  readonly context: KubeletContext
  readonly pod: Pod
  readonly volume: Volume
  /** The part of the Volume, or of the PersistentVolume, that belongs to this type: `volume.emptyDir` and so on. */
  readonly source: S
  /** `mountOptions` of a PersistentVolume. */
  readonly mountOptions?: readonly string[] | undefined
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
