import type { ObjectMeta } from "../apimachinery/meta.ts"

interface WithMetadata {
  readonly metadata: ObjectMeta
}

/**
 * Returns the object with the metadata of `old`, except for the resourceVersion and the managed fields, as a write to a
 * subresource leaves it. Source: apimachinery pkg/apis/meta/v1 ResetObjectMetaForStatus.
 */
export function withMetadataOf<T extends WithMetadata>(object: T, old: WithMetadata): T {
  const { resourceVersion, managedFields } = object.metadata
  return { ...object, metadata: { ...old.metadata, resourceVersion, managedFields } }
}
