import type { Node } from "../api/core/v1/node/node.ts"
import type { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { StorageClass } from "../api/storage/v1/storageclass.ts"

/** What is asked of who makes volumes. */
export interface VolumeRequest {
  readonly claim: PersistentVolumeClaim
  readonly storageClass: StorageClass
  /** The node that was chosen for the first pod; absent where the class binds its claims at once. */
  readonly node?: Node
  /** Name of the volume. */
  readonly name: string
}

/** What the maker says of a new volume; the rest follows from claim and class. */
export interface MadeVolume {
  readonly annotations?: Readonly<Record<string, string>>
  /** Why the storage may hold more than the claim asks for, in one sentence without a full stop. */
  readonly sizeNotEnforced?: string
  /** Where the storage is, and from which nodes it is reached. */
  readonly spec: Pick<PersistentVolume["spec"], "hostPath" | "local" | "nodeAffinity">
}

/**
 * Makes and removes the storage behind volumes: what is behind the loops of provisioner.ts. Source of the contract:
 * sigs.k8s.io/sig-storage-lib-external-provisioner.
 */
export interface VolumeMaker {
  /** Names the maker in annotations of its volumes, and is what classes call it. */
  readonly name: string
  /** Whether claims of a class with this provisioner are its own. */
  serves(provisioner: string): boolean
  /** Whether it can make volumes for this node; undefined for a claim that has none. */
  reaches(nodeName: string | undefined): boolean
  /** Makes the storage, or finds it made. @throws Error whose message says why it cannot be */
  make(request: VolumeRequest): Promise<MadeVolume>
  /**
   * Makes the storage as large as `size` says; absent where the size is but a number. Returns whether the node that
   * has the volume must do something too before its pods see the new size.
   */
  resize?(volume: PersistentVolume, size: string): Promise<{ readonly onNode: boolean }>
  /** Removes the storage, also where it is gone already. @throws Error whose message says why it cannot be */
  remove(volume: PersistentVolume): Promise<void>
}

/** Says that a volume is reached from the nodes that have this label. */
export const reachedFrom = (label: string, value: string): NonNullable<PersistentVolume["spec"]["nodeAffinity"]> => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: label, operator: "In", values: [value] }] }] },
})
