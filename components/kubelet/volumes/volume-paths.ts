import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeletConfig } from "../context.ts"
import { podFolder } from "../pod/pod-paths.ts"

/**
 * Where a volume of the pod lies on the disk; programs outside know these names. Source: pkg/kubelet/kubelet_getters.go
 * getPodVolumeDir.
 */
export const volumeFolder = (config: KubeletConfig, pod: Pod, kind: string, name: string): string =>
  join(volumesFolder(config, pod.metadata.uid!), `kubernetes.io~${kind}`, name)
export const volumesFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volumes")

/** Where parts of volumes are shown to single containers. Source: mount-utils/subpath containerSubPathDirectoryName. */
export const subPathsFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volume-subpaths")

/** Links to the block devices of a pod. Source: pkg/kubelet/kubelet_getters.go getPodVolumeDevicesDir. */
export const devicesFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volumeDevices")
