import type { Node } from "../api/core/v1/node/node.ts"
import type { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { StorageClass } from "../api/storage/v1/storageclass.ts"

/** What the loops ask of a maker of volumes. */
export interface VolumeRequest {
  readonly claim: PersistentVolumeClaim
  readonly storageClass: StorageClass
  /** The node that was chosen for the first pod; absent if the class binds its claims at once. */
  readonly node?: Node
  /** The name of the volume. */
  readonly name: string
}

/** What the maker determines of a new volume; the rest follows from claim and class. */
export interface MadeVolume {
  readonly annotations?: Readonly<Record<string, string>>
  /** Why the storage may hold more than the claim requests, as one sentence without a full stop. */
  readonly sizeNotEnforced?: string
  /** Where the storage is, and from which nodes it can be reached. */
  readonly spec: Pick<PersistentVolume["spec"], "hostPath" | "local" | "nodeAffinity">
}

/**
 * Creates and removes the storage of volumes, for the loops of provisioner.ts. Source of the contract:
 * sigs.k8s.io/sig-storage-lib-external-provisioner.
 */
export interface VolumeMaker {
  /** The maker's name in annotations of its volumes, and the `provisioner` of its classes. */
  readonly name: string
  /** Returns whether the maker is responsible for classes with this provisioner. */
  serves(provisioner: string): boolean
  /** Returns whether the maker can create volumes for this node; undefined for a claim without a node. */
  reaches(nodeName: string | undefined): boolean
  /**
   * Creates the storage; does nothing if it exists already.
   * @throws Error whose message says why it cannot be created
   */
  make(request: VolumeRequest): Promise<MadeVolume>
  /** Called when the API has the volume, after `make`. */
  finished?(request: Pick<VolumeRequest, "claim" | "name">): Promise<void>
  /**
   * Enlarges the storage to `size`; absent if sizes are not enforced, so that nothing has to be done. Returns whether
   * the node that has the volume must do something too before its pods see the new size.
   */
  resize?(volume: PersistentVolume, size: string): Promise<{ readonly onNode: boolean }>
  /**
   * Removes the storage; does nothing if it is gone already.
   * @throws Error whose message says why it cannot be removed
   */
  remove(volume: PersistentVolume): Promise<void>
}

/** Returns the node affinity of a volume that can be reached from the nodes with this label. */
export const reachedFrom = (label: string, value: string): NonNullable<PersistentVolume["spec"]["nodeAffinity"]> => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: label, operator: "In", values: [value] }] }] },
})
