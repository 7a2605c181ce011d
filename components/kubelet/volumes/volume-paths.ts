import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeletConfig } from "../model/config.ts"
import { podFolder } from "../model/pod-paths.ts"

/** Returns the folder of all pods, each of which has a folder there by its uid. */
export const podsFolder = ({ root }: KubeletConfig): string => join(root, "pods")

/**
 * Returns the folder of a volume; other programs rely on these names. Source: pkg/kubelet/kubelet_getters.go
 * getPodVolumeDir.
 */
export const volumeFolder = (config: KubeletConfig, pod: Pod, kind: string, name: string): string =>
  join(volumesFolder(config, pod.metadata.uid!), `kubernetes.io~${kind}`, name)
export const volumesFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volumes")

/**
 * Returns the folder in which subPaths are mounted for single containers. Source: mount-utils/subpath
 * containerSubPathDirectoryName.
 */
export const subPathsFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volume-subpaths")

/**
 * Returns the folder of the links to a pod's block devices. Source: pkg/kubelet/kubelet_getters.go
 * getPodVolumeDevicesDir.
 */
export const devicesFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volumeDevices")

/**
 * Returns the folder at which the file system of a local volume's block device is mounted, for all pods. Source:
 * generateBlockDeviceBaseGlobalPath in pkg/volume/local/local.go.
 */
export const localMountFolder = (config: KubeletConfig, volume: string): string =>
  join(config.root, "plugins/kubernetes.io/local-volume/mounts", volume)

/** Returns the link by which a pod's folder records that the pod uses a local volume. */
export const localLink = (config: KubeletConfig, podUid: string, volume: string): string =>
  join(devicesFolder(config, podUid), "kubernetes.io~local-volume", volume)
