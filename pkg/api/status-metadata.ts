import type { ObjectMeta } from "../apimachinery/meta.ts"

interface WithMetadata {
  readonly metadata: ObjectMeta
}

/**
 * An object whose metadata a write to a subresource leaves as it was, but for the version it goes by and who manages
 * its fields. Source: apimachinery pkg/apis/meta/v1 ResetObjectMetaForStatus.
 */
export function withMetadataOf<T extends WithMetadata>(object: T, old: WithMetadata): T {
  const { resourceVersion, managedFields } = object.metadata
  return { ...object, metadata: { ...old.metadata, resourceVersion, managedFields } }
}
