import { customFlag, stringSliceFlag, type Flag } from "../../command/flag.ts"
import { generator, metadataOf } from "./generator.ts"
import { checkResources, ruleOptions, rulesOf, verbWarnings } from "./role-rules.ts"
import { ruleFlags } from "./role.ts"
import { sortedRecord } from "./sorted-record.ts"

const NON_RESOURCE_VERBS = new Set(["*", "get", "post", "put", "delete", "patch", "head", "options"])

/** Source: component-base cli/flag/map_string_string.go. */
const labelsFlag = (usage: string): Flag<Readonly<Record<string, string>>> =>
  customFlag({
    type: "mapStringString",
    default: {},
    defaultText: "",
    usage,
    parse(text, previous, changed) {
      const labels = new Map<string, string>(changed ? Object.entries(previous) : [])
      for (const pair of text.split(",").filter((part) => part !== "")) {
        const at = pair.indexOf("=")
        if (at === -1) throw new Error("malformed pair, expect string=string")
        labels.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim())
      }
      return sortedRecord(labels)
    },
  })

/** Source: kubectl pkg/cmd/create/create_clusterrole.go. */
export const createClusterRoleCommand = generator({
  use: "clusterrole NAME --verb=verb --resource=resource.group [--resource-name=resourcename] [--dry-run=server|client|none]",
  short: "Create a cluster role",
  long: "Create a cluster role.",
  example: `
# Create a cluster role called pod-reader, by which pods may be read
kubectl create clusterrole pod-reader --verb=get,list,watch --resource=pods

# Create one for pods of certain names
kubectl create clusterrole pod-reader --verb=get --resource=pods --resource-name=readablepod

# Create one for a path that is no resource
kubectl create clusterrole "foo" --verb=get --non-resource-url=/logs/*

# Create one that has the rules of others
kubectl create clusterrole monitoring --aggregation-rule="rbac.example.com/aggregate-to-monitoring=true"`,
  flags: {
    ...ruleFlags(),
    "non-resource-url": stringSliceFlag([], "A path that may be asked for and is no resource."),
    "aggregation-rule": labelsFlag("The labels of the cluster roles whose rules this one has."),
  },
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  resource: "clusterroles",
  clusterScoped: true,
  async make({ name, flags, invocation: { factory, errOut } }) {
    const options = ruleOptions(flags)
    const { verbs, resources, resourceNames } = options
    const urls = [...new Set(flags["non-resource-url"])]
    const matchLabels = flags["aggregation-rule"]
    const metadata = metadataOf({ name })
    if (Object.keys(matchLabels).length > 0) {
      if ([urls, verbs, resources, resourceNames].some((values) => values.length > 0))
        throw new Error("aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames")
      return { metadata, rules: null, aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } }
    }
    if (verbs.length === 0) throw new Error("at least one verb must be specified")
    if (resources.length === 0 && urls.length === 0)
      throw new Error("one of resource or nonResourceURL must be specified")
    if (resources.length > 0) {
      await errOut.write(verbWarnings(verbs))
      await checkResources(options, await factory.restMapper())
    }
    if (urls.length > 0) checkUrls(verbs, urls)
    return { metadata, rules: await rulesOf(options, () => factory.restMapper(), urls) }
  },
})

function checkUrls(verbs: readonly string[], urls: readonly string[]): void {
  for (const verb of verbs)
    if (!NON_RESOURCE_VERBS.has(verb)) throw new Error(`invalid verb: '${verb}' for nonResourceURL`)
  for (const url of urls) {
    if (url === "*") continue
    if (!url.startsWith("/")) throw new Error("nonResourceURL should start with /")
    if (url.slice(0, -1).includes("*"))
      throw new Error("nonResourceURL only supports wildcard matches when '*' is at the end")
  }
}
