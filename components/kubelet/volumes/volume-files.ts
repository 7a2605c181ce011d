import type { PodSecurityContext } from "../../../pkg/api/core/v1/container/securitycontext.ts"
import type { HostPathVolumeSource } from "../../../pkg/api/core/v1/volume/volume.ts"
import type { OpenFile } from "../runtime/runtime.ts"
import type { Payload } from "./payload.ts"

export type FsGroupChangePolicy = NonNullable<PodSecurityContext["fsGroupChangePolicy"]>

/** The group that a pod's volumes belong to. */
export interface Ownership {
  readonly group: number
  /** Files are made readable for the group, not writable. */
  readonly readOnly: boolean
  readonly policy: FsGroupChangePolicy
}

export interface PayloadRequest {
  readonly folder: string
  readonly payload: Payload
  readonly ownership: Ownership | undefined
  /** Time for the name of the folder with the files: `2026_01_01_00_00_00`. */
  readonly stamp: string
}

export interface SubPathRequest {
  /** The volume's own folder (or file). */
  readonly volume: string
  /** Relative; has no `..`. */
  readonly subPath: string
  /**
   * Where the host may show it, so that nobody can exchange it under the container: a path of this container's mount
   * alone.
   */
  readonly target: string
}

export interface FolderUsage {
  readonly bytes: number
  /** Files and folders, itself included. */
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
  /** A device, or a file that becomes one. */
  readonly path: string
  /** A link of the pod's own to `path`, which says that the pod has it. */
  readonly link: string
}

/**
 * What volumes need of the machine: folders, mounts and owners. Paths are absolute. All reject with an Error whose
 * message users may see.
 */
export interface VolumeFiles {
  /** Makes mounts below the folder come to the containers that have it, and theirs to the machine. */
  makeShared(folder: string): Promise<void>
  /**
   * The folder below `root` whose contents never reach the disk: for secrets, tokens and what else comes from the API.
   * Made once, and found again after a restart.
   */
  memoryFolder(root: string): Promise<string>
  /**
   * Brings the folder to hold just these files, all of them changed in one instant for who looks through `..data`. Does
   * nothing when they are there.
   * @returns whether anything changed
   */
  writePayload(request: PayloadRequest): Promise<boolean>
  /**
   * An empty folder that everybody may write; what is in one that exists stays. With `memoryBytes` it is kept in
   * memory, up to that size.
   */
  makeEmptyDir(
    folder: string,
    options: { readonly memoryBytes?: number | undefined; readonly ownership?: Ownership | undefined },
  ): Promise<void>
  /** Gives everything in the folder to the group. */
  setOwnership(folder: string, ownership: Ownership): Promise<void>
  /** Checks, or makes, what a hostPath must be. */
  checkHostPath(path: string, type: NonNullable<HostPathVolumeSource["type"]>): Promise<void>
  mountNfs(request: NfsRequest): Promise<void>
  /** Returns the path of the block device that a volume is. @throws Error where it is none, and cannot become one */
  mapDevice(request: DeviceRequest): Promise<string>
  /**
   * Lets go of the devices of one pod: of its links below `folder`, and of what no pod in the folder `pods` has any
   * more.
   */
  unmapDevices(folder: string, pods: string): Promise<void>
  /**
   * A path of the host that shows what `subPath` is now, made as a folder if it is not there. @throws Error when it
   * leads out of the volume
   */
  bindSubPath(request: SubPathRequest): Promise<string>
  /**
   * Opens a file of a volume that a pod may have written, of any size; undefined when there is none. @throws Error for
   * what is no file, or leads out of the volume
   */
  openInside(volume: string, path: string): Promise<OpenFile | undefined>
  /**
   * What a folder takes of the disk with all that is in it, but for what is mounted there; undefined when there is
   * none.
   */
  usage(folder: string): Promise<FolderUsage | undefined>
  /** Names in a folder; none when it does not exist. */
  list(folder: string): Promise<readonly string[]>
  /**
   * Unmounts all that lies below the folders and removes them. What is not there is no error; nothing that is mounted
   * is ever looked into.
   */
  discard(folders: readonly string[]): Promise<void>
}
