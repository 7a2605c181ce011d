import { f } from "../../../apimachinery/fields.ts"
import { DeleteOptions } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectOfResource } from "../../../apimachinery/resource.ts"

export const Eviction = defineResource(
  {
    group: "policy",
    version: "v1",
    kind: "Eviction",
    plural: "evictions",
    scope: "Namespaced",
    verbs: ["create"],
    doc:
      "Asks for the deletion of a pod if the disruption budgets allow it; created under the pod's eviction " +
      "subresource, never stored.",
  },
  {
    deleteOptions: f.message(2, DeleteOptions, "How the pod is to be deleted."),
  },
)
export type Eviction = ObjectOfResource<typeof Eviction>
