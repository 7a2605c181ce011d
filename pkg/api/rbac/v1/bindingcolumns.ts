import type { Column } from "../../../apimachinery/resource.ts"
import type { RoleRef, Subject } from "./rules.ts"

interface Binding {
  readonly roleRef: RoleRef
  readonly subjects?: readonly Subject[] | undefined
}

const namesOf = (binding: Binding, kind: string): string =>
  (binding.subjects ?? [])
    .filter((subject) => subject.kind === kind)
    .map(({ name, namespace }) => (kind === "ServiceAccount" ? `${namespace ?? ""}/${name}` : name))
    .join(", ")

/** The columns of RoleBindings and ClusterRoleBindings. */
export const bindingColumns: readonly Column<Binding>[] = [
  {
    name: "Role",
    type: "string",
    doc: "The role that is granted.",
    value: ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`,
  },
  {
    name: "Users",
    type: "string",
    priority: 1,
    doc: "Users who get it.",
    value: (binding) => namesOf(binding, "User"),
  },
  {
    name: "Groups",
    type: "string",
    priority: 1,
    doc: "Groups that get it.",
    value: (binding) => namesOf(binding, "Group"),
  },
  {
    name: "ServiceAccounts",
    type: "string",
    priority: 1,
    doc: "Service accounts that get it.",
    value: (binding) => namesOf(binding, "ServiceAccount"),
  },
]
