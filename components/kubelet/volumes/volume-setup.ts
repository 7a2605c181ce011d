import type { KubeletContext } from "../context.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { MountedVolume } from "./mounted-volume.ts"

/** What the making of one volume of a pod is given. */
export interface VolumeSetup<S> {
  readonly context: KubeletContext
  readonly pod: Pod
  readonly volume: Volume
  /** The volume's own part of the Volume: `volume.emptyDir` and so on. */
  readonly source: S
}

/** Makes a volume, or finds it made. @throws Error whose message says why it cannot be; FailedMount tells it */
export type VolumeMounter<S> = (setup: VolumeSetup<S>) => Promise<MountedVolume>
