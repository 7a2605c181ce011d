import { f } from "../../../apimachinery/fields.ts"
import { isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { PolicyRule, RBAC_GROUP, ruleFaults } from "./rules.ts"

const fields = {
  rules: f.list(2, PolicyRule, "Rules for the namespace.").atomic().orNull(),
}
export interface Role extends ObjectFor<typeof fields> {}

export const Role = defineResource(
  {
    group: RBAC_GROUP,
    version: "v1",
    kind: "Role",
    plural: "roles",
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "A set of rules that bindings grant within the namespace.",
    validateName: isPathSegmentName,
    allowCreateOnUpdate: true,
    validate: ({ rules }) => ruleFaults("rules", rules ?? [], true),
  },
  fields,
)
