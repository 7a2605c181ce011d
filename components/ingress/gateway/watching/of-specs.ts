import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { InformerHandlers } from "../../../../pkg/client/informer.ts"

/** Calls `changed` when an object appears, goes or changes its spec, but not when only its status changes. */
export const ofSpecs = (changed: () => void): InformerHandlers<KubeObject> => ({
  added: changed,
  deleted: changed,
  updated: ({ metadata }, { metadata: old }) =>
    void (
      (metadata.generation === old.generation && metadata.deletionTimestamp === old.deletionTimestamp) ||
      changed()
    ),
})
