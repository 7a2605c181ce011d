import { fromUnits } from "../../../apimachinery/scalars/quantity.ts"
import type { Node } from "../../../api/core/v1/node/node.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import { selectorFlag } from "../../command/shared-flags.ts"
import { newTabWriter } from "../../printers/tab-writer.ts"
import { checkName, pathSegment } from "../../rest/rest-client.ts"
import {
  canonicalSelector,
  checkSortBy,
  compareText,
  compareUsage,
  line,
  measured,
  METRICS,
  milli,
  type NodeMetrics,
  requireMetrics,
  usageOf,
  usageText,
} from "./metrics.ts"

const UNKNOWN = "<unknown>"
const USE = "node [NAME | -l label]"

const flags = {
  ...selectorFlag(),
  "sort-by": stringFlag("", "Sort the nodes by what they use of this: 'cpu' or 'memory'."),
  "no-headers": boolFlag(false, "Print the table without its header."),
  "use-protocol-buffers": boolFlag(true, "Whether to ask for metrics in the form of protocol buffers."),
  "show-capacity": boolFlag(false, "Compare with the Capacity of the nodes instead of what is Allocatable."),
  "show-swap": boolFlag(false, "Print what is used of swap memory too."),
}

/** Source: kubectl pkg/cmd/top/top_node.go, pkg/metricsutil. */
export const topNodeCommand = command({
  use: USE,
  noFlagsInUse: true,
  short: "Display resource (CPU/memory) usage of nodes",
  long: "Display resource (CPU/memory) usage of nodes.\n\n Shows what each node uses, and how much of what it has that is.",
  example: `
# Show what all nodes use
kubectl top node

# Show what one node uses
kubectl top node NODE_NAME`,
  aliases: ["nodes", "no"],
  flags,
  run,
})

async function run({ flags: values, args, usageError, factory, out }: Invocation<typeof flags>): Promise<void> {
  if (args.length > 1) throw usageError(USE)
  const [name = ""] = args
  checkSortBy(values["sort-by"])
  if (name !== "" && values.selector !== "") throw new Error("only one of NAME or --selector can be provided")
  const selector = canonicalSelector(values.selector)
  const client = await factory.client()
  await requireMetrics(client)
  const metrics = await itemsOf<NodeMetrics>(`${METRICS}/nodes`)
  if (metrics.length === 0) throw new Error("metrics not available yet")
  const nodes = await itemsOf<Node>("/api/v1/nodes")
  const table = newTabWriter(out)
  const resources = measured(values["show-swap"])
  if (!values["no-headers"])
    await table.write(
      line([
        "NAME",
        "CPU(cores)",
        "CPU(%)",
        "MEMORY(bytes)",
        "MEMORY(%)",
        ...(values["show-swap"] ? ["SWAP(bytes)", "SWAP(%)"] : []),
      ]),
    )
  const sortBy = values["sort-by"]
  const sorted = metrics.toSorted((a, b) =>
    sortBy === ""
      ? compareText(a.metadata.name, b.metadata.name)
      : compareUsage(sortBy, usageOf(a.usage, sortBy), usageOf(b.usage, sortBy)),
  )
  const available = new Map(
    nodes.map((node) => [node.metadata.name ?? "", availableOn(node, values["show-capacity"])] as const),
  )
  for (const { metadata, usage } of sorted) {
    const node = available.get(metadata.name ?? "")
    const cells = resources.flatMap((resource) => {
      if (resource === "swap" && node !== undefined && node["swap"] === undefined) return [UNKNOWN, UNKNOWN]
      const used = usageOf(usage, resource)
      const text = usageText(resource, used)
      return node?.[resource] === undefined ? [text] : [text, percent(milli(used), milli(usageOf(node, resource)))]
    })
    await table.write(line([metadata.name ?? "", ...cells]))
    available.delete(metadata.name ?? "")
  }
  for (const missing of available.keys())
    await table.write(line([missing, ...resources.flatMap(() => [UNKNOWN, UNKNOWN])]))
  await table.flush()

  /** The one object that is asked for, or all that the selector selects. */
  async function itemsOf<T>(path: string): Promise<readonly T[]> {
    if (name === "")
      return (await client.object({ method: "GET", path, query: { labelSelector: selector || undefined } }))[
        "items"
      ] as readonly T[]
    checkName(name)
    return [(await client.object({ method: "GET", path: `${path}/${pathSegment(name)}` })) as unknown as T]
  }
}

function availableOn({ status }: Node, capacity: boolean): Record<string, string> {
  const swap = status.nodeInfo?.swap?.capacity
  return {
    ...(capacity ? status.capacity : status.allocatable),
    ...(swap === undefined ? {} : { swap: String(fromUnits(swap).nano / 1_000_000_000n) }),
  }
}

const percent = (used: bigint, available: bigint): string =>
  `${available === 0n ? 0 : Math.trunc((Number(used) / Number(available)) * 100)}%`
