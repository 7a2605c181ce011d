import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { ObjectReference } from "./reference.ts"

export const Binding = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Binding",
    plural: "bindings",
    scope: "Namespaced",
    verbs: ["create"],
    doc: "Assigns a pod to a node. The scheduler creates it in the pod's subresource binding.",
  },
  {
    target: f.message(2, ObjectReference, "The node.").required(),
  },
)
export type Binding = ObjectOfResource<typeof Binding>
