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
