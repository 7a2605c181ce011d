import type { Namespace } from "../../../../../pkg/api/core/v1/namespace.ts"
import type { KindHooks } from "../../context.ts"

/**
 * A deleted namespace is removed once it is empty: until then its spec.finalizers keep it. Source:
 * pkg/registry/core/namespace/storage/storage.go.
 */
export const namespaceHooks: KindHooks<Namespace> = {
  // The first deletion only marks the namespace, even where no finalizer keeps it.
  holdsDeletion: (object) =>
    object.metadata.deletionTimestamp === undefined || (object.spec.finalizers ?? []).length > 0,
  markDeleting: markTerminating,
}

/** Sets the phase Terminating. A namespace has no grace period: it goes as soon as it is empty. */
function markTerminating(namespace: Namespace): Namespace {
  const { deletionGracePeriodSeconds: _grace, ...metadata } = namespace.metadata
  return { ...namespace, metadata, status: { ...namespace.status, phase: "Terminating" } }
}
