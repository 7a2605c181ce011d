/** A volume that is ready for the containers of its pod. */
export interface MountedVolume {
  readonly name: string
  /** The folder on the node, or the path of the block device. */
  readonly hostPath: string
  /** A block device, which containers use by volumeDevices instead of volumeMounts. */
  readonly isDevice?: true
  /** Whether the volume is read-only in every container, whatever its volumeMount says. */
  readonly readOnly: boolean
  /**
   * How usage is measured: by the sizes of its files, or by its file system if that holds nothing else. Absent for
   * volumes that do not belong to the pod: paths of the node and images.
   */
  readonly measured?: "files" | "filesystem"
  /**
   * Does what the node has to do when the claim of the volume has grown; the kubelet calls it now and then. Absent for
   * volumes whose size does not concern the node. @throws Error where that fails; the next call tries again
   */
  readonly grow?: () => Promise<void>
  /** Whether the runtime should relabel it for SELinux. */
  readonly selinuxRelabel?: boolean
  /** An image volume: the runtime mounts this image instead of `hostPath`. */
  readonly image?: string
}

/** The volumes of a pod, by their names in its spec. */
export type MountedVolumes = ReadonlyMap<string, MountedVolume>
