import type { Command } from "../../command/command.ts"
import { stringArrayFlag, stringFlag } from "../../command/flag.ts"
import { filled, generator, metadataOf } from "./generator.ts"

const GROUP = "rbac.authorization.k8s.io"

const subjectFlags = () => ({
  user: stringArrayFlag([], "The name of a user who gets the role. May be repeated."),
  group: stringArrayFlag([], "The name of a group whose users get the role. May be repeated."),
  serviceaccount: stringArrayFlag([], "A service account that gets the role, as <namespace>:<name>. May be repeated."),
})

/** Source: kubectl pkg/cmd/create/create_rolebinding.go. */
export const createRoleBindingCommand: Command = generator({
  use: "rolebinding NAME --clusterrole=NAME|--role=NAME [--user=username] [--group=groupname] [--serviceaccount=namespace:serviceaccountname] [--dry-run=server|client|none]",
  short: "Create a role binding for a particular role or cluster role",
  long: "Create a role binding for a particular role or cluster role.",
  example: `
# Create a role binding that gives the cluster role admin to two users and a group
kubectl create rolebinding admin --clusterrole=admin --user=user1 --user=user2 --group=group1

# Create one for a service account
kubectl create rolebinding admin-binding --role=admin --serviceaccount=monitoring:sa-dev`,
  flags: {
    clusterrole: stringFlag("", "The cluster role that is given."),
    role: stringFlag("", "The role that is given."),
    ...subjectFlags(),
  },
  apiVersion: `${GROUP}/v1`,
  kind: "RoleBinding",
  resource: "rolebindings",
  failure: "failed to create rolebinding:",
  make({ name, namespace, flags }) {
    const { clusterrole, role } = flags
    if ((clusterrole === "") === (role === "")) throw new Error("exactly one of clusterrole or role must be specified")
    return {
      metadata: metadataOf({ name, namespace }),
      ...filled("subjects", subjectsOf(flags)),
      roleRef:
        role === ""
          ? { apiGroup: GROUP, kind: "ClusterRole", name: clusterrole }
          : { apiGroup: GROUP, kind: "Role", name: role },
    }
  },
})

/** Source: kubectl pkg/cmd/create/create_clusterrolebinding.go. */
export const createClusterRoleBindingCommand: Command = generator({
  use: "clusterrolebinding NAME --clusterrole=NAME [--user=username] [--group=groupname] [--serviceaccount=namespace:serviceaccountname] [--dry-run=server|client|none]",
  short: "Create a cluster role binding for a particular cluster role",
  long: "Create a cluster role binding for a particular cluster role.",
  example: `
# Create a cluster role binding that gives cluster-admin to two users and a group
kubectl create clusterrolebinding cluster-admin --clusterrole=cluster-admin --user=user1 --user=user2 --group=group1`,
  flags: { clusterrole: stringFlag("", "The cluster role that is given."), ...subjectFlags() },
  required: ["clusterrole"],
  apiVersion: `${GROUP}/v1`,
  kind: "ClusterRoleBinding",
  resource: "clusterrolebindings",
  clusterScoped: true,
  failure: "failed to create clusterrolebinding:",
  make: ({ name, flags }) => ({
    metadata: metadataOf({ name }),
    ...filled("subjects", subjectsOf(flags)),
    roleRef: { apiGroup: GROUP, kind: "ClusterRole", name: flags.clusterrole },
  }),
})

function subjectsOf({
  user,
  group,
  serviceaccount,
}: {
  readonly user: readonly string[]
  readonly group: readonly string[]
  readonly serviceaccount: readonly string[]
}): readonly object[] {
  return [
    ...user.map((name) => ({ kind: "User", apiGroup: GROUP, name })),
    ...group.map((name) => ({ kind: "Group", apiGroup: GROUP, name })),
    ...serviceaccount.map((text) => {
      const [namespace = "", name = "", ...rest] = text.split(":")
      if (namespace === "" || name === "" || rest.length > 0)
        throw new Error("serviceaccount must be <namespace>:<name>")
      return { kind: "ServiceAccount", name, namespace }
    }),
  ]
}
