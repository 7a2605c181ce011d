import type { FieldSpec } from "../config/field-spec.ts"
import type { Replica } from "../kustomization/kustomization.ts"
import { Tag } from "../node/yaml-node.ts"
import { gvkText, isSelected } from "../resource/gvk.ts"
import { applyFieldSpec } from "./apply-field-spec.ts"
import { entrySetter } from "./set-entry.ts"
import type { Transformer } from "./transformer.ts"

/** Returns a transformer that sets the number of replicas of one object. Source: kustomize ReplicaCountTransformer.go. */
export const replicaTransformer = ({ name = "", count = 0 }: Replica, specs: readonly FieldSpec[]): Transformer => ({
  transform(map) {
    let found = false
    for (const spec of specs) {
      for (const resource of map.byAnyId((id) => id.name === name && isSelected(id, spec))) {
        found = true
        applyFieldSpec(resource.node!, spec, {
          set: (node) => entrySetter("", String(count), Tag.int)(node),
          createKind: "scalar",
          createTag: Tag.int,
        })
      }
    }
    if (!found)
      throw new Error(
        `resource with name ${name} does not match a config with the following GVK [${specs.map(gvkText).join(" ")}]`,
      )
  },
})
