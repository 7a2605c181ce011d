import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { command } from "../../command/command.ts"
import { stringArrayFlag } from "../../command/flag.ts"
import { selectorFlag } from "../../command/shared-flags.ts"
import { parseGroupVersion } from "../../rest/json.ts"
import { begin } from "./begin.ts"
import { changeAll, found, LOCAL_AND_SERVER, setFlags } from "./change.ts"

const RBAC = "rbac.authorization.k8s.io"

/** Source: kubectl pkg/cmd/set/set_subject.go. */
export const setSubjectCommand = command({
  use: "subject (-f FILENAME | TYPE NAME) [--user=username] [--group=groupname] [--serviceaccount=namespace:serviceaccountname] [--dry-run=server|client|none]",
  noFlagsInUse: true,
  short: "Update the user, group, or service account in a role binding or cluster role binding",
  long: "Add users, groups, and service accounts to a role binding or cluster role binding.",
  example: `
# Add serviceaccount1 to a cluster role binding
kubectl set subject clusterrolebinding admin --serviceaccount=namespace:serviceaccount1

# Add user1, user2, and group1 to a role binding
kubectl set subject rolebinding admin --user=user1 --user=user2 --group=group1

# Print what the input becomes, in YAML, and do not ask the server
kubectl create rolebinding admin --role=admin --user=admin -o yaml --dry-run=client | kubectl set subject --local -f - --user=foo -o yaml`,
  flags: {
    ...setFlags(),
    ...selectorFlag(),
    user: stringArrayFlag([], "Users to add."),
    group: stringArrayFlag([], "Groups to add."),
    serviceaccount: stringArrayFlag([], "Service accounts to add, as namespace:name."),
  },
  async run(invocation) {
    const { flags: values, args, factory } = invocation
    const { user: users, group: groups, serviceaccount: accounts } = values
    const { dryRun, printer } = await begin(invocation, values, "subjects updated")
    const infos = await (await found(invocation, values, args)).infos()
    if (values.local && dryRun === "server") throw new Error(LOCAL_AND_SERVER)
    if (values.all && values.selector !== "") throw new Error("cannot set --all and --selector at the same time")
    if (users.length === 0 && groups.length === 0 && accounts.length === 0)
      throw new Error("you must specify at least one value of user, group or serviceaccount")
    for (const account of accounts) {
      const [place, name, more] = account.split(":")
      if (name === undefined || name === "" || more !== undefined)
        throw new Error("serviceaccount must be <namespace>:<name>")
      if (place === "" && infos.some(({ loaded }) => loaded.kind === "ClusterRoleBinding"))
        throw new Error("serviceaccount must be <namespace>:<name>, namespace must be specified")
    }
    const { namespace } = await factory.namespace()
    const wanted = [
      ...sorted(users).map((name) => ({ kind: "User", apiGroup: RBAC, name })),
      ...sorted(groups).map((name) => ({ kind: "Group", apiGroup: RBAC, name })),
      ...sorted(accounts).map((account) => {
        const [place = "", name] = account.split(":")
        return { kind: "ServiceAccount", name, namespace: place === "" ? namespace : place }
      }),
    ]
    await changeAll(invocation, values, infos, {
      printer,
      dryRun,
      failure: "failed to patch subjects to rolebinding:",
      change(object) {
        const { kind = "", apiVersion = "" } = object
        if (parseGroupVersion(apiVersion).group !== RBAC || !/^(Cluster)?RoleBinding$/.test(kind))
          throw new Error("setting subjects is only supported for RoleBinding/ClusterRoleBinding")
        const subjects = (object["subjects"] ?? []) as readonly object[]
        const added = wanted.filter((subject) => !subjects.some((each) => deepEqual(each, subject)))
        return added.length === 0 ? undefined : { ...object, subjects: [...subjects, ...added] }
      },
    })
  },
})

const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort()
