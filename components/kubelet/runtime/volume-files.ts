import type { PodSecurityContext } from "../../../pkg/api/core/v1/container/securitycontext.ts"
import type { HostPathVolumeSource } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { OpenFile } from "./open-file.ts"
import type { Payload } from "./payload.ts"

export type FsGroupChangePolicy = NonNullable<PodSecurityContext["fsGroupChangePolicy"]>

/** The group to which the volumes of a pod are given. */
export interface Ownership {
  readonly group: number
  /** Whether the group may only read the files. */
  readonly readOnly: boolean
  readonly policy: FsGroupChangePolicy
}

export interface PayloadRequest {
  readonly folder: string
  readonly payload: Payload
  readonly ownership: Ownership | undefined
  /** The time in the name of the folder with the files: `2026_01_01_00_00_00`. */
  readonly stamp: string
}

export interface SubPathRequest {
  /** The folder (or file) of the volume. */
  readonly volume: string
  /** A relative path without `..`. */
  readonly subPath: string
  /** The host's path that is mounted into this container only, so that no pod can replace it. */
  readonly target: string
}

export interface FolderUsage {
  readonly bytes: number
  /** The number of files and folders, including the folder itself. */
  readonly inodes: number
}

export interface NfsRequest {
  readonly folder: string
  readonly server: string
  readonly path: string
  readonly options: readonly string[]
}

/** A block device for a pod. */
export interface DeviceRequest {
  /** A block device, or a file from which a loop device is made. */
  readonly path: string
  /** The path of a link to `path` in the pod's folder, which records that the pod uses it. */
  readonly link: string
  /** The folder of all pods. */
  readonly pods: string
}

/** A local volume for a pod. */
export interface LocalVolumeRequest {
  /** A folder, or a block device with a file system or with nothing. */
  readonly path: string
  /** The folder at which the file system of a block device is mounted, for all pods. */
  readonly folder: string
  /** The path of a link to `folder` in the pod's folder, which records that the pod uses the mount. */
  readonly link: string
  /** The folder of all pods. */
  readonly pods: string
  /** The type of the file system that a device has or gets. */
  readonly fsType: string
  readonly options: readonly string[]
}

/**
 * The operations on folders, mounts and owners that volumes need. Paths are absolute. All methods reject with an Error
 * whose message users may see.
 */
export interface VolumeFiles {
  /** Makes the mounts below the folder shared: later ones propagate from the host to containers and back. */
  makeShared(folder: string): Promise<void>
  /**
   * Returns the folder below `root` whose contents are never written to disk, for secrets, tokens and other content
   * from the API. It is created once, and found again after a restart.
   */
  memoryFolder(root: string): Promise<string>
  /**
   * Makes the folder contain exactly these files, which are exchanged atomically for readers that use the link
   * `..data`. Does nothing when the folder has them already.
   * @returns whether anything changed
   */
  writePayload(request: PayloadRequest): Promise<boolean>
  /**
   * Creates a folder that all users may write; the content of an existing one stays. With `memoryBytes` the folder is
   * kept in memory, limited to that size.
   */
  makeEmptyDir(
    folder: string,
    options: { readonly memoryBytes?: number | undefined; readonly ownership?: Ownership | undefined },
  ): Promise<void>
  /** Gives everything in the folder, to which the path may be a link, to a group. */
  setOwnership(folder: string, ownership: Ownership): Promise<void>
  /** Returns the group of the folder, to which the path may be a link; undefined where folders have none. */
  groupOf(folder: string): Promise<number | undefined>
  /** Checks that a hostPath has its type, or creates it when the type says so. */
  checkHostPath(path: string, type: NonNullable<HostPathVolumeSource["type"]>): Promise<void>
  mountNfs(request: NfsRequest): Promise<void>
  /**
   * Returns the path of the block device of a volume. @throws Error when the path is neither a block device nor a file
   */
  mapDevice(request: DeviceRequest): Promise<string>
  /**
   * Returns the folder of a local volume: its path, or the folder at which the file system of its device is mounted.
   * Makes a file system on an empty device. @throws Error when the path is neither a folder nor a block device, or an
   * empty device that another pod uses as it is
   */
  mountLocal(request: LocalVolumeRequest): Promise<string>
  /** Gives a loop device the new size of its file. Does nothing for other block devices. */
  growDevice(path: string): Promise<void>
  /** Gives the file system of a local volume the size of its block device. Does nothing for a folder. */
  growLocal(request: Pick<LocalVolumeRequest, "path" | "folder">): Promise<void>
  /**
   * Releases the devices of one pod: removes its links below `folder`, unmounts file systems and detaches loop devices
   * that no pod in the folder `pods` uses any more.
   */
  unmapDevices(folder: string, pods: string): Promise<void>
  /**
   * Returns a path of the host at which `subPath` of the volume is mounted; creates a folder if `subPath` does not
   * exist. @throws Error when it leads out of the volume
   */
  bindSubPath(request: SubPathRequest): Promise<string>
  /**
   * Opens a file of a volume to which a pod may have written; returns undefined when it does not exist. @throws Error
   * when it is not a regular file, or leads out of the volume
   */
  openInside(volume: string, path: string): Promise<OpenFile | undefined>
  /**
   * Returns the disk usage of a folder with all that is in it, without file systems mounted there; undefined when it
   * does not exist.
   */
  usage(folder: string): Promise<FolderUsage | undefined>
  /** Returns the names in a folder; none when it does not exist. */
  list(folder: string): Promise<readonly string[]>
  /**
   * Unmounts everything below the folders, and then removes them. Folders that do not exist are skipped, and nothing is
   * removed from a file system that is still mounted.
   */
  discard(folders: readonly string[]): Promise<void>
}
