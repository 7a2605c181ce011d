import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { isLabelValue } from "../../../apimachinery/validation/names.ts"
import { Aggregate } from "../../errors/aggregate.ts"
import { command } from "../../command/command.ts"
import { dryRunOf, withDryRun } from "../../command/shared-flags.ts"
import { printerOf } from "../../printers/print-flags.ts"
import type { Unstructured } from "../../rest/json.ts"
import { recorded } from "../record.ts"
import { checkMetadataFlags, found, metadataFlags, patchBase, printList, sendChange } from "./metadata-flags.ts"
import { resourcesAndPairs, type Changes } from "./pairs.ts"

/** Source: kubectl pkg/cmd/label/label.go. */
export const labelCommand = command({
  use: "label [--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [--resource-version=version]",
  noFlagsInUse: true,
  short: "Update the labels on a resource",
  long: `
Update the labels on a resource.

  *  A key and a value begin with a letter or number, and may have letters, numbers, hyphens, dots, and underscores, up to 63 characters each.
  *  A key may have a DNS subdomain and a '/' before it, like example.com/my-app.
  *  With --overwrite labels that are there already are replaced; otherwise that is an error.
  *  With --resource-version the labels change only if this is the version of the resource.`,
  example: `
# Give the pod 'foo' the label 'unhealthy' with the value 'true'
kubectl label pods foo unhealthy=true

# Give the pod 'foo' the label 'status' with the value 'unhealthy', also if it has another value
kubectl label --overwrite pods foo status=unhealthy

# Label all pods of the namespace
kubectl label pods --all status=unhealthy

# Label the pod that "pod.json" names
kubectl label -f pod.json status=unhealthy

# Label the pod 'foo' only if it is still in version 1
kubectl label pods foo status=unhealthy --resource-version=1

# Remove the label 'bar' from the pod 'foo', if it is there
# This needs no --overwrite
kubectl label pods foo bar-`,
  flags: metadataFlags("labels", "kubectl-label"),
  async run(invocation) {
    const { flags: values, args, factory, out } = invocation
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    const { resources, pairs } = resourcesAndPairs(args, "label")
    const changes = parseLabels(pairs)
    if (values.list && values.output !== "") throw new Error("--list and --output may not be specified together")
    checkMetadataFlags(values, resources, dryRun, "pod")
    if (changes.set.size === 0 && changes.remove.length === 0 && !values.list)
      throw new Error("at least one label update is required")
    const result = await found(invocation, resources)
    await result.visit(async (info) => {
      const version = values["resource-version"]
      const before = patchBase(info, version)
      const isLocal = dryRun === "client" || values.local || values.list
      if (!isLocal)
        for (const label of changes.remove)
          if (before.metadata?.labels?.[label] === undefined) await out.write(`label ${goQuoted(label)} not found.\n`)
      const { labels, added, removed } = changed(before, changes, values.overwrite)
      const after = recorded(withLabels(before, labels, version), invocation)
      if (!isLocal && (added || removed)) await sendChange(info, before, after, values["field-manager"], dryRun)
      if (values.list) return printList(invocation, result, info, "labels", after)
      const operation = added && removed ? "modified" : added ? "labeled" : removed ? "unlabeled" : "not labeled"
      const printer = await printerOf(values, withDryRun(operation, dryRun), factory)
      await printer.print(after, out)
    })
  },
})

/** Reads `key=value` and `key-`. @throws Error for anything else, and values that no label can have */
export function parseLabels(specs: readonly string[]): Changes {
  const set = new Map<string, string>()
  const remove: string[] = []
  for (const spec of specs)
    if (spec.includes("=")) {
      const [key, value, more] = spec.split("=")
      if (more !== undefined) throw new Error(`invalid label spec: ${spec}`)
      const problem = isLabelValue(value!)
      if (problem !== undefined)
        throw new Error(`invalid label value: ${goQuoted(spec)}: ${[problem].flat().join(";")}`)
      set.set(key!, value!)
    } else if (spec.endsWith("-")) remove.push(spec.slice(0, -1))
    else throw new Error(`unknown label spec: ${spec}`)
  if (remove.some((label) => set.has(label)))
    throw new Error("can not both modify and remove a label in the same command")
  return { set, remove }
}

function changed(
  { metadata }: Unstructured,
  { set, remove }: Changes,
  overwrite: boolean,
): { readonly labels: Record<string, string>; readonly added: boolean; readonly removed: boolean } {
  const old = metadata?.labels ?? {}
  const taken = [...set].filter(([key, value]) => Object.hasOwn(old, key) && old[key] !== value)
  if (!overwrite && taken.length > 0)
    throw new Aggregate(
      taken.map(([key]) => new Error(`'${key}' already has a value (${old[key]}), and --overwrite is false`)),
    )
  const added = [...set].some(([key, value]) => old[key] !== value)
  const removed = remove.some((key) => Object.hasOwn(old, key))
  const gone = new Set(remove)
  const labels = Object.fromEntries(
    Object.entries({ ...old, ...Object.fromEntries(set) }).filter(([key]) => !gone.has(key)),
  )
  return { labels, added, removed }
}

function withLabels(object: Unstructured, labels: Record<string, string>, resourceVersion: string): Unstructured {
  const version = resourceVersion === "" ? {} : { resourceVersion }
  return { ...object, metadata: { ...object.metadata, labels, ...version } }
}
