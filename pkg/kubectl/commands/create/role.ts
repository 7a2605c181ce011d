import { stringArrayFlag, stringSliceFlag } from "../../command/flag.ts"
import { generator, metadataOf } from "./generator.ts"
import { checkResources, ruleOptions, rulesOf, verbWarnings } from "./role-rules.ts"

export const ruleFlags = () => ({
  verb: stringSliceFlag([], "A verb of the rule."),
  resource: stringSliceFlag([], "A resource of the rule."),
  "resource-name": stringArrayFlag([], "The name of an object that the rule is for. May be repeated."),
})

/** Source: kubectl pkg/cmd/create/create_role.go. */
export const createRoleCommand = generator({
  use: "role NAME --verb=verb --resource=resource.group/subresource [--resource-name=resourcename] [--dry-run=server|client|none]",
  short: "Create a role with single rule",
  long: "Create a role with one rule.",
  example: `
# Create a role called pod-reader, by which pods may be read
kubectl create role pod-reader --verb=get --verb=list --verb=watch --resource=pods

# Create one for pods of certain names
kubectl create role pod-reader --verb=get --resource=pods --resource-name=readablepod --resource-name=anotherpod

# Create one for a resource of a group of the API
kubectl create role foo --verb=get,list,watch --resource=rs.apps

# Create one for a subresource
kubectl create role foo --verb=get,list,watch --resource=pods,pods/status`,
  flags: ruleFlags(),
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  resource: "roles",
  async make({ name, namespace, flags, invocation: { factory, errOut } }) {
    const options = ruleOptions(flags)
    if (options.verbs.length === 0) throw new Error("at least one verb must be specified")
    await errOut.write(verbWarnings(options.verbs))
    if (options.resources.length === 0) throw new Error("at least one resource must be specified")
    await checkResources(options, await factory.restMapper())
    const rules = await rulesOf(options, () => factory.restMapper())
    return { metadata: metadataOf({ name, namespace }), rules }
  },
})
