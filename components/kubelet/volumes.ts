import type { Pod } from "../../pkg/api/core/v1/pod.ts"
import type { Mount } from "../../pkg/cri/container.ts"
import type { AnyContainer } from "./containers.ts"

/** A volume of a pod that is there for its containers. */
export interface MountedVolume {
  readonly name: string
  /** Where it lies on the node. */
  readonly hostPath: string
  /** Whether the volume itself, whatever a mount says, may only be read. */
  readonly readOnly: boolean
  /**
   * What tells how full it is: its files, or the file system that it has to itself. Absent for what is not the pod's
   * own: paths of the node, images.
   */
  readonly measured?: "files" | "filesystem"
  /** Whether the runtime should relabel it for SELinux. */
  readonly selinuxRelabel?: boolean
  /** An image volume: the runtime mounts this image instead of `hostPath`. */
  readonly image?: string
}

/** By the name of the volume in the pod. */
export type MountedVolumes = ReadonlyMap<string, MountedVolume>

export interface EnvironmentVariable {
  readonly key: string
  readonly value: string
}

/** Which pod a thing on the node belongs to; all that is left of one that the API has forgotten. */
export interface PodIdentity {
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/**
 * The volumes of the pods of this node. A pod's worker calls it, one call at a time for one pod. Contents that come
 * from the API are kept current until `unmount`, by watches of its own, with the delay that the kubelet is set to: the
 * worker need not call again.
 */
export interface VolumeManager {
  /**
   * Makes all volumes of the pod ready, or finds them ready: idempotent. @throws VolumeError for one that cannot be;
   * the worker tries again with backoff
   */
  mount(pod: Pod, signal: AbortSignal): Promise<MountedVolumes>
  /**
   * The pod is being looked at: what has changed of its objects, and would have waited for the next look, is written
   * now.
   */
  sync(podUid: string): void
  /**
   * The container's volumeMounts with subPath and subPathExpr, in their order. @throws StartError
   * CreateContainerConfigError
   */
  containerMounts(
    pod: Pod,
    container: AnyContainer,
    mounted: MountedVolumes,
    environment: readonly EnvironmentVariable[],
  ): Promise<readonly Mount[]>
  /** The volumes of a pod that are there now. */
  mounted(podUid: string): readonly MountedVolume[]
  /**
   * Takes everything away once the containers have ended. Idempotent; also for a pod that was mounted before a restart.
   */
  unmount(pod: PodIdentity): Promise<void>
  /** Uids of all pods that have volumes on disk, from before a restart too. */
  podsOnDisk(): Promise<readonly string[]>
  /**
   * Called when a pod's volumes may now mount that could not before (a Secret came into being). Returns what ends that.
   */
  onUpdate(listener: (podUid: string) => void): () => void
  stop(): void
}
