import { command } from "../command/command.ts"
import { boolFlag, stringFlag, stringSliceFlag } from "../command/flag.ts"
import { throwAggregate } from "../errors/aggregate.ts"
import { JSON_YAML_FORMATS, jsonYamlPrinter, noPrinter, outputUsage } from "../printers/print-flags.ts"
import { typedObject } from "../printers/printer.ts"
import { newTabWriter } from "../printers/tab-writer.ts"
import type { ApiResource } from "../rest/api-resource.ts"
import { groupVersionText, parseGroupVersion } from "../rest/json.ts"

const FORMATS = [...JSON_YAML_FORMATS, "name", "wide"]

/** Source: kubectl pkg/cmd/apiresources. */
export const apiResourcesCommand = command({
  use: "api-resources",
  short: "Print the resources that the server has",
  long: "Print the resources that the server has.",
  example: `
# Print the resources of the server
kubectl api-resources

# Print them with their verbs and categories
kubectl api-resources -o wide

# Print them in the order of a column
kubectl api-resources --sort-by=name

# Print those whose objects are in namespaces
kubectl api-resources --namespaced=true

# Print those whose objects are in no namespace
kubectl api-resources --namespaced=false

# Print those of one group
kubectl api-resources --api-group=rbac.authorization.k8s.io`,
  flags: {
    "api-group": stringFlag("", "Print only the resources of this group."),
    cached: boolFlag(false, "Print what is remembered of the server, if there is something."),
    categories: stringSliceFlag([], "Print only the resources that belong to these categories."),
    namespaced: boolFlag(
      true,
      "If false, print the resources whose objects are in no namespace, otherwise those of namespaces.",
    ),
    "no-headers": boolFlag(false, "Print the table without its header."),
    output: stringFlag("", outputUsage(FORMATS), { shorthand: "o" }),
    "show-managed-fields": boolFlag(false, "If true, print managedFields too in JSON and YAML."),
    "sort-by": stringFlag("", "The column by which the resources are sorted: 'name' or 'kind'."),
    verbs: stringSliceFlag([], "Print only the resources that have these verbs."),
  },
  async run({ flags, changed, args, usageError, factory, out }) {
    if (args.length > 0) throw usageError(`unexpected arguments: [${args.join(" ")}]`)
    const { output } = flags
    const objectPrinter = jsonYamlPrinter(output, flags)
    if (objectPrinter === undefined && !["", "name", "wide"].includes(output)) throw noPrinter(output, FORMATS)
    if (!["", "name", "kind"].includes(flags["sort-by"])) throw new Error("--sort-by accepts only name or kind")
    const discovery = await factory.discovery()
    if (!flags.cached) discovery.invalidate()
    const { lists, failed } = await discovery.preferredResources()
    const resources = lists.flatMap(({ groupVersion, resources: all }) => {
      const { group, version } = parseGroupVersion(groupVersion)
      return all
        .filter(
          (resource) =>
            resource.verbs.length > 0 &&
            (!changed("api-group") || flags["api-group"] === group) &&
            (!changed("namespaced") || flags.namespaced === resource.namespaced) &&
            flags.verbs.every((verb) => resource.verbs.includes(verb)) &&
            flags.categories.every((category) => resource.categories?.includes(category) === true),
        )
        .map((resource) => inOrder(resource, group, version))
    })
    resources.sort(compareBy(flags["sort-by"]))
    if (lists.some((list) => list.resources.length > 0)) {
      if (objectPrinter !== undefined)
        await objectPrinter.print(
          typedObject({ kind: "APIResourceList", apiVersion: "v1", groupVersion: "", resources }),
          out,
        )
      else if (output === "name") for (const resource of resources) await out.write(`${qualifiedName(resource)}\n`)
      else {
        const table = newTabWriter(out)
        if (!flags["no-headers"])
          await table.write(
            `NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND${output === "wide" ? "\tVERBS\tCATEGORIES" : ""}\n`,
          )
        for (const resource of resources) await table.write(row(resource, output === "wide"))
        await table.flush()
      }
    }
    throwAggregate(failed === undefined ? [] : [failed])
  },
})

/** The resource with its group and version, in the order of Go's struct. */
function inOrder(resource: ApiResource, group: string, version: string): ApiResource {
  const { name, singularName, namespaced, kind, verbs, shortNames, categories } = resource
  return {
    name,
    singularName,
    namespaced,
    ...(group === "" ? {} : { group }),
    version,
    kind,
    verbs,
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
  }
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const compareBy =
  (column: string) =>
  (a: ApiResource, b: ApiResource): number => {
    const [x, y] = [a, b].map((each) =>
      column === "name" ? each.name : column === "kind" ? each.kind : (each.group ?? ""),
    )
    return compareText(x!, y!) || compareText(a.name, b.name)
  }

const qualifiedName = ({ name, group = "" }: ApiResource): string => (group === "" ? name : `${name}.${group}`)

function row(
  { name, shortNames = [], group = "", version = "", namespaced, kind, verbs, categories = [] }: ApiResource,
  wide: boolean,
): string {
  const cells = [name, shortNames.join(","), groupVersionText(group, version), String(namespaced), kind]
  return `${[...cells, ...(wide ? [verbs.join(","), categories.join(",")] : [])].join("\t")}\n`
}
