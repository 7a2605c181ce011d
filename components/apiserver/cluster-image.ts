import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { RESOURCES } from "../../pkg/api/resources.ts"
import type { SnapshotObject } from "../../pkg/snapshot/records.ts"
import type { Storage, Stored, StoreImage } from "../../pkg/storage/storage.ts"
import { resourceOf } from "../../pkg/storage/sorted-keys.ts"

/** The stored objects at one revision. They are values, which later writes do not change. */
export interface ClusterImage {
  readonly revision: number
  /** The UID of the namespace kube-system, by which clusters are told apart; empty when there is none. */
  readonly cluster: string
  /** In no order. */
  readonly objects: readonly SnapshotObject[]
  /** To be called when the objects have been read. */
  end(): void
}

const TRANSIENT: ReadonlySet<string> = new Set(
  RESOURCES.filter(({ highChurn }) => highChurn === true).map(({ prefix }) => prefix),
)
const SELDOM_READ: ReadonlySet<string> = new Set(
  RESOURCES.filter(({ ttlSeconds }) => ttlSeconds !== undefined).map(({ prefix }) => prefix),
)
/** The namespace whose UID is that of the cluster, as is the custom. */
export const CLUSTER_KEY = `${Namespace.prefix}kube-system`

/** Takes a few milliseconds for a hundred thousand objects: none is read or encoded yet. */
export function clusterImage(storage: Storage): ClusterImage {
  const image = storage.image()
  return {
    revision: image.revision,
    cluster: storage.get(CLUSTER_KEY)?.object.metadata.uid ?? "",
    objects: image.objects.map((stored) => new ImageObject(stored, image)),
    end: () => image.end(),
  }
}

/** Reads the content only when it is asked for, and says how the store keeps the object. */
class ImageObject implements SnapshotObject {
  readonly #stored: Stored
  readonly #image: StoreImage

  constructor(stored: Stored, image: StoreImage) {
    this.#stored = stored
    this.#image = image
  }

  get key(): string {
    return this.#stored.key
  }
  get revision(): number {
    return this.#stored.revision
  }
  get created(): number {
    return this.#stored.created
  }
  get time(): number {
    return this.#stored.time
  }
  get transient(): boolean {
    return TRANSIENT.has(resourceOf(this.key) ?? "")
  }
  get seldomRead(): boolean {
    return SELDOM_READ.has(resourceOf(this.key) ?? "")
  }
  get value(): Uint8Array {
    return this.#image.valueOf(this.#stored)
  }
}

/** Returns the UID in the JSON of an object; empty where it is encrypted, or has none. */
export function uidIn(value: Uint8Array | undefined): string {
  try {
    const { metadata } = JSON.parse(Buffer.from(value ?? []).toString()) as { metadata?: { uid?: string } }
    return metadata?.uid ?? ""
  } catch {
    return ""
  }
}
