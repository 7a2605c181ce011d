import type { Namespace } from "../../../../../pkg/api/core/v1/namespace.ts"
import type { KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import type { KindHooks } from "../../context.ts"

/**
 * A namespace goes when what is in it has gone: until then spec.finalizers hold it. Source:
 * pkg/registry/core/namespace/storage/storage.go.
 */
export const namespaceHooks: KindHooks = {
  // The first deletion only marks it, even where no finalizer holds it.
  holdsDeletion: (object) =>
    object.metadata.deletionTimestamp === undefined || ((object as Namespace).spec.finalizers ?? []).length > 0,
  markDeleting: markTerminating,
}

/** A namespace is given no grace period: what counts is whether it is empty. */
function markTerminating(object: KubeObject): KubeObject {
  const { deletionGracePeriodSeconds: _grace, ...metadata } = object.metadata
  return { ...object, metadata, status: { ...(object as Namespace).status, phase: "Terminating" } } as Namespace
}
