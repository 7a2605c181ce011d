import { join } from "node:path"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import type { KubeletContext } from "../context.ts"
import { WatchedObjects } from "../objects/watched-objects.ts"
import type { VolumeManager } from "../volumes.ts"
import { containerMounts } from "./container-mounts.ts"
import { PodVolumes, type PodVolumesParts } from "./pod-volumes.ts"
import { ServiceAccountTokens } from "./service-account-token.ts"
import { subPathsFolder, volumesFolder } from "./volume-paths.ts"

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
