import { join } from "node:path"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Mount } from "../../../pkg/cri/container.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import type { EnvironmentVariable } from "../model/environment-variable.ts"
import { CsiVolumes } from "./csi/csi-volumes.ts"
import type { ImageManager } from "../images/image-manager.ts"
import { TrustBundles } from "../objects/trust-bundles.ts"
import { WatchedObjects } from "../objects/watched-objects.ts"
import type { PodIdentity } from "../model/pod-identity.ts"
import { containerMounts, type ToldSubPaths } from "./container-mounts.ts"
import type { MountedVolume, MountedVolumes } from "../model/mounted-volume.ts"
import { LazyPodCertificates } from "../podcertificate/lazy-pod-certificates.ts"
import { PathUsers } from "./path-users.ts"
import { PodVolumes, type PodVolumesParts } from "./pod-volumes.ts"
import { TokenRenewals } from "./token-renewals.ts"
import { ServiceAccountTokens } from "./types/service-account-token.ts"
import { devicesFolder, podsFolder, subPathsFolder, volumesFolder } from "./volume-paths.ts"

/**
 * The volumes of the pods of this node. The worker of a pod calls it, one call at a time. Files with content from the
 * API are kept up to date until `unmount`, by watches of their own and with the kubelet's sync frequency as the delay,
 * without further calls of the worker.
 */
export interface VolumeManager {
  /**
   * Mounts all volumes of the pod that are not mounted yet; idempotent. @throws VolumeError for one that cannot be
   * mounted; the worker tries again with backoff
   */
  mount(pod: Pod, signal: AbortSignal): Promise<MountedVolumes>
  /**
   * Called when the pod is synchronized: writes changes of its objects that would have waited for the next
   * synchronization.
   */
  sync(podUid: string): void
  /**
   * Returns the mounts of a container, with subPath and subPathExpr, in their order. @throws StartError
   * CreateContainerConfigError
   */
  containerMounts(
    pod: Pod,
    container: AnyContainer,
    mounted: MountedVolumes,
    environment: readonly EnvironmentVariable[],
  ): Promise<readonly Mount[]>
  /** Returns the volumes of a pod that are mounted now. */
  mounted(podUid: string): readonly MountedVolume[]
  /**
   * Unmounts and removes all volumes of a pod after its containers have ended. Idempotent; also for a pod that was
   * mounted before a restart.
   */
  unmount(pod: PodIdentity): Promise<void>
  /**
   * Returns the volumes for `volumesInUse` of the Node's status, by name; undefined where the kubelet does not know
   * them.
   */
  inUse(): readonly string[] | undefined
  /** Called before the Node's status is written: reads which volumes pods had before a restart. */
  restore(): Promise<void>
  /** Returns the uids of all pods with volumes on disk, including those from before a restart. */
  podsOnDisk(): Promise<readonly string[]>
  /**
   * Calls the listener when volumes of a pod that could not be mounted may now be (for example a Secret was created).
   * Returns a function that ends this.
   */
  onUpdate(listener: (podUid: string) => void): () => void
  stop(): void
}

/** Creates the volume manager of this node. Source: pkg/kubelet/volumemanager. */
export function createVolumeManager(
  context: KubeletContext,
  images: Pick<ImageManager, "ensure">,
  inUseChanged: () => void,
): VolumeManager {
  const { config, runtime, informers } = context
  const pods = new Map<string, PodVolumes>()
  const listeners = new Set<(podUid: string) => void>()
  const worthTrying = (uid: string) => listeners.forEach((listener) => listener(uid))
  const csi =
    runtime.csi === undefined
      ? undefined
      : new CsiVolumes({ context, drivers: runtime.csi, changed: inUseChanged, worthTrying })
  const podsOnDisk = async () => {
    const found = await Promise.all(
      [podsFolder(config), await runtime.volumes.memoryFolder(config.root)].map((folder) =>
        runtime.volumes.list(folder),
      ),
    )
    return [...new Set(found.flat())]
  }
  const parts: PodVolumesParts = {
    context,
    objects: new WatchedObjects(context),
    trustBundles: new TrustBundles(context),
    certificates: new LazyPodCertificates(context),
    tokens: new ServiceAccountTokens(context),
    renewals: new TokenRenewals(context.clock, () => pods.values()),
    users: new PathUsers(),
    images,
    csi,
    worthTrying,
  }
  const off = informers.of(Pod).on({ updated: (pod) => pods.get(pod.metadata.uid ?? "")?.podChanged(pod) })
  const toldSubPaths: ToldSubPaths = new WeakMap()
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
      containerMounts(context, toldSubPaths, { pod, container, mounted, environment }),
    mounted: (uid) => pods.get(uid)?.mounted ?? [],
    async unmount({ uid }) {
      await pods.get(uid)?.stop()
      pods.delete(uid)
      parts.tokens.forget(uid)
      parts.certificates.forget(uid)
      parts.users.delete(uid)
      await csi?.unmount(uid)
      await runtime.volumes.unmapDevices(devicesFolder(config, uid), podsFolder(config))
      await runtime.volumes.discard(await foldersOf(uid))
    },
    podsOnDisk,
    inUse: () => csi?.inUse(),
    restore: async () => csi?.restore(await podsOnDisk()),
    onUpdate(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop() {
      off()
      // Files and mounts stay, since the containers of the pods keep running.
      for (const volumes of pods.values()) context.spawn("volumes of a pod", () => volumes.stop())
      pods.clear()
      parts.objects.stop()
      parts.certificates.stop()
      csi?.stop()
      parts.renewals.stop()
    },
  }
}
