import { f } from "../../../apimachinery/fields.ts"
import { isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { bindingColumns } from "./bindingcolumns.ts"
import { bindingFaults, RBAC_GROUP, RoleRef, roleRefChange, Subject } from "./rules.ts"

const fields = {
  subjects: f.list(2, Subject, "Users, groups and service accounts that get the role.").atomic(),
  roleRef: f.message(3, RoleRef, "The role; cannot be changed.").required(),
}
export interface ClusterRoleBinding extends ObjectFor<typeof fields> {}

export const ClusterRoleBinding = defineResource(
  {
    group: RBAC_GROUP,
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "Grants a role to subjects, everywhere.",
    columns: bindingColumns,
    validateName: isPathSegmentName,
    allowCreateOnUpdate: true,
    validate: ({ roleRef, subjects = [] }) => bindingFaults(roleRef, subjects, ["ClusterRole"]),
    validateUpdate: ({ roleRef }, old) => roleRefChange(roleRef, old.roleRef),
  },
  fields,
)
