import { addQuantities } from "../../../apimachinery/scalars/quantity.ts"
import { formatFieldSelector, parseFieldSelector } from "../../../apimachinery/selectors/fieldselector.ts"
import { formatDuration, parseTime } from "../../../apimachinery/scalars/time.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import { allNamespacesFlag, selectorFlag } from "../../command/shared-flags.ts"
import { newTabWriter } from "../../printers/tab-writer.ts"
import type { ObjectMeta } from "../../rest/json.ts"
import { checkName, pathSegment, type RestClient } from "../../rest/rest-client.ts"
import {
  canonicalSelector,
  checkSortBy,
  compareText,
  compareUsage,
  line,
  measured,
  METRICS,
  type PodMetrics,
  requireMetrics,
  sumOf,
  usageOf,
  usageText,
  ZERO,
} from "./metrics.ts"

const USE = "pod [NAME | -l label]"
/** Metrics of a pod come after its first minutes. */
const DELAY_MS = 120_000

const flags = {
  ...selectorFlag(),
  "field-selector": stringFlag(
    "",
    "A field selector with '=', '==' and '!=' (e.g. --field-selector key1=value1,key2=value2). The server knows few fields of each type.",
  ),
  "sort-by": stringFlag("", "Sort the pods by what they use of this: 'cpu' or 'memory'."),
  containers: boolFlag(false, "Print what the containers of the pods use."),
  ...allNamespacesFlag(
    "If present, print the pods of all namespaces. A namespace of the context, or of --namespace, is ignored.",
  ),
  "no-headers": boolFlag(false, "Print the table without its header."),
  "use-protocol-buffers": boolFlag(true, "Whether to ask for metrics in the form of protocol buffers."),
  sum: boolFlag(false, "Print what all pods use together."),
  "show-swap": boolFlag(false, "Print what is used of swap memory too."),
}
type TopPodInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/top/top_pod.go, pkg/metricsutil. */
export const topPodCommand = command({
  use: USE,
  noFlagsInUse: true,
  short: "Display resource (CPU/memory) usage of pods",
  long: `
Display resource (CPU/memory) usage of pods.

 Shows what each pod uses. A new pod has no metrics in its first minutes.`,
  example: `
# Show what the pods of the default namespace use
kubectl top pod

# Show what the pods of a namespace use
kubectl top pod --namespace=NAMESPACE

# Show what the containers of a pod use
kubectl top pod POD_NAME --containers

# Show what the pods with the label name=web use
kubectl top pod -l name=web`,
  aliases: ["pods", "po"],
  flags,
  run,
})

interface Wanted {
  readonly name: string
  /** The namespace of the command, also where the pods of all are asked for. */
  readonly namespace: string
  readonly labelSelector: string
  readonly fieldSelector: string
}

async function run(invocation: TopPodInvocation): Promise<void> {
  const { flags: values, args, usageError, factory, errOut } = invocation
  if (args.length > 1) throw usageError(USE)
  const [name = ""] = args
  const { namespace } = await factory.namespace()
  checkSortBy(values["sort-by"])
  if (name !== "" && (values.selector !== "" || values["field-selector"] !== ""))
    throw new Error("only one of NAME or selector can be provided")
  const wanted: Wanted = {
    name,
    namespace,
    labelSelector: canonicalSelector(values.selector),
    fieldSelector: formatFieldSelector(parseFieldSelector(values["field-selector"])),
  }
  const client = await factory.client()
  await requireMetrics(client)
  const all = values["all-namespaces"]
  const metrics = await itemsOf<PodMetrics>(client, METRICS, { ...wanted, namespace: all ? "" : namespace })
  if (metrics.length === 0) {
    if (await hasPods(invocation, client, wanted)) throw new Error("metrics not available yet")
    return errOut.write(all ? "No resources found\n" : `No resources found in ${namespace} namespace.\n`)
  }
  await print(invocation, metrics)
}

async function itemsOf<T>(
  client: RestClient,
  root: string,
  { name, namespace, labelSelector, fieldSelector }: Wanted,
): Promise<readonly T[]> {
  const path = `${root}${namespace === "" ? "" : `/namespaces/${pathSegment(namespace)}`}/pods`
  if (name === "") {
    const query = { labelSelector: labelSelector || undefined, fieldSelector: fieldSelector || undefined }
    return (await client.object({ method: "GET", path, query }))["items"] as readonly T[]
  }
  checkName(name)
  return [(await client.object({ method: "GET", path: `${path}/${pathSegment(name)}` })) as unknown as T]
}

/** Whether there are pods, all of them new. @throws Error for one that should have metrics by now */
async function hasPods({ environment }: TopPodInvocation, client: RestClient, wanted: Wanted): Promise<boolean> {
  const pods = await itemsOf<{ readonly metadata: ObjectMeta }>(client, "/api/v1", wanted)
  for (const { metadata } of pods) {
    const age = environment.clock.now() - (parseTime(metadata.creationTimestamp ?? "") ?? 0)
    if (age > DELAY_MS)
      throw new Error(
        `Metrics not available for pod ${metadata.namespace ?? ""}/${metadata.name ?? ""}, age: ${formatDuration(age)}`,
      )
  }
  return pods.length > 0
}

async function print({ flags: values, out }: TopPodInvocation, metrics: readonly PodMetrics[]): Promise<void> {
  const { containers: perContainer, sum, "all-namespaces": withNamespace, "sort-by": sortBy } = values
  const resources = measured(values["show-swap"])
  const columns = ["NAME", "CPU(cores)", "MEMORY(bytes)", ...(values["show-swap"] ? ["SWAP(bytes)"] : [])]
  const headers = [...(withNamespace ? ["NAMESPACE"] : []), ...(perContainer ? ["POD"] : []), ...columns]
  const table = newTabWriter(out)
  if (!values["no-headers"]) await table.write(line(headers))
  const sorted = metrics.toSorted((a, b) =>
    sortBy !== ""
      ? compareUsage(sortBy, sumOf(a.containers, sortBy), sumOf(b.containers, sortBy))
      : (withNamespace ? compareText(a.metadata.namespace, b.metadata.namespace) : 0) ||
        compareText(a.metadata.name, b.metadata.name),
  )
  for (const { metadata, containers } of sorted) {
    const place = withNamespace ? [metadata.namespace ?? ""] : []
    if (!perContainer) {
      const usage = resources.map((resource) => usageText(resource, sumOf(containers, resource)))
      await table.write(line([...place, metadata.name ?? "", ...usage]))
      continue
    }
    const inOrder = containers.toSorted((a, b) =>
      sortBy === ""
        ? compareText(a.name, b.name)
        : compareUsage(sortBy, usageOf(a.usage, sortBy), usageOf(b.usage, sortBy)),
    )
    for (const container of inOrder) {
      const usage = resources.map((resource) => usageText(resource, usageOf(container.usage, resource)))
      await table.write(line([...place, metadata.name ?? "", container.name, ...usage]))
    }
  }
  if (sum) {
    // Without headers, upstream does not count the columns of namespace and pod either.
    const width = values["no-headers"] ? columns.length : headers.length
    await table.write(line([...blanks(width - 2), "________", "________"]))
    const total = resources.map((resource) => {
      const amounts = metrics.map(({ containers }) => sumOf(containers, resource))
      return usageText(
        resource,
        amounts.reduce((a, b) => addQuantities(a, b), ZERO),
      )
    })
    await table.write(line([...blanks(width - 3), "", ...total]))
  }
  await table.flush()
}

const blanks = (count: number): readonly string[] => Array.from({ length: count }, () => "")
