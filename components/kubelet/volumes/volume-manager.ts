import { join } from "node:path"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Mount } from "../../../pkg/cri/container.ts"
import type { AnyContainer } from "../container/containers.ts"
import type { KubeletContext } from "../context.ts"
import type { EnvironmentVariable } from "../env/environment-variable.ts"
import { WatchedObjects } from "../objects/watched-objects.ts"
import type { PodIdentity } from "../pod/pod-identity.ts"
import { containerMounts } from "./container-mounts.ts"
import type { MountedVolume, MountedVolumes } from "./mounted-volume.ts"
import { PodVolumes, type PodVolumesParts } from "./pod-volumes.ts"
import { ServiceAccountTokens } from "./service-account-token.ts"
import { devicesFolder, subPathsFolder, volumesFolder } from "./volume-paths.ts"

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

/** Volumes of the pods of this node. Source: pkg/kubelet/volumemanager. */
export function createVolumeManager(context: KubeletContext): VolumeManager {
  const { config, runtime, informers } = context
  const pods = new Map<string, PodVolumes>()
  const listeners = new Set<(podUid: string) => void>()
  const parts: PodVolumesParts = {
    context,
    objects: new WatchedObjects(context),
    tokens: new ServiceAccountTokens(context),
    worthTrying: (uid) => listeners.forEach((listener) => listener(uid)),
  }
  const off = informers.of(Pod).on({ updated: (pod) => pods.get(pod.metadata.uid ?? "")?.podChanged(pod) })
  const foldersOf = async (uid: string) => [
    volumesFolder(config, uid),
    subPathsFolder(config, uid),
    join(await runtime.volumes.memoryFolder(config.root), uid),
  ]
  return {
    mount(pod, signal) {
      const uid = pod.metadata.uid!
      let found = pods.get(uid)
      if (found === undefined) pods.set(uid, (found = new PodVolumes(parts, pod)))
      return found.mount(pod, signal)
    },
    sync: (uid) => pods.get(uid)?.sync(),
    containerMounts: (pod, container, mounted, environment) =>
      containerMounts(context, { pod, container, mounted, environment }),
    mounted: (uid) => pods.get(uid)?.mounted ?? [],
    async unmount({ uid }) {
      await pods.get(uid)?.stop()
      pods.delete(uid)
      parts.tokens.forget(uid)
      await runtime.volumes.unmapDevices(devicesFolder(config, uid), join(config.root, "pods"))
      await runtime.volumes.discard(await foldersOf(uid))
    },
    async podsOnDisk() {
      const found = await Promise.all(
        [join(config.root, "pods"), await runtime.volumes.memoryFolder(config.root)].map((folder) =>
          runtime.volumes.list(folder),
        ),
      )
      return [...new Set(found.flat())]
    },
    onUpdate(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop() {
      off()
      // Files and mounts stay for the pods that go on.
      for (const volumes of pods.values()) context.spawn("volumes of a pod", () => volumes.stop())
      pods.clear()
      parts.objects.stop()
    },
  }
}
