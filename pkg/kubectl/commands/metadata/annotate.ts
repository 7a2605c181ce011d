import { command } from "../../command/command.ts"
import { dryRunOf, withDryRun } from "../../command/shared-flags.ts"
import { printerOf } from "../../printers/print-flags.ts"
import type { Unstructured } from "../../rest/json.ts"
import { recorded } from "../record.ts"
import { checkMetadataFlags, found, metadataFlags, patchBase, printList, sendChange } from "./metadata-flags.ts"
import { parsePairs, resourcesAndPairs, type Changes } from "./pairs.ts"

/** Source: kubectl pkg/cmd/annotate/annotate.go. */
export const annotateCommand = command({
  use: "annotate [--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [--resource-version=version]",
  noFlagsInUse: true,
  short: "Update the annotations on a resource",
  long: `
Update the annotations on one or more resources.

 Every object can carry more data as annotations: keys with values that may be larger than those of labels, and may be any text, also JSON. Tools and extensions keep their own data there.

 With --overwrite annotations that are there already are replaced; otherwise that is an error. With --resource-version the annotations change only if this is the version of the resource.

Use "kubectl api-resources" for a complete list of supported resources.`,
  example: `
# Give the pod 'foo' the annotation 'description' with the value 'my frontend'
# Of several values for one annotation the last one counts
kubectl annotate pods foo description='my frontend'

# Annotate the pod that "pod.json" names
kubectl annotate -f pod.json description='my frontend'

# Annotate the pod 'foo', also if it has another value
kubectl annotate --overwrite pods foo description='my frontend running nginx'

# Annotate all pods of the namespace
kubectl annotate pods --all description='my frontend running nginx'

# Annotate the pod 'foo' only if it is still in version 1
kubectl annotate pods foo description='my frontend running nginx' --resource-version=1

# Remove the annotation 'description' from the pod 'foo', if it is there
# This needs no --overwrite
kubectl annotate pods foo description-`,
  flags: metadataFlags("annotations", "kubectl-annotate"),
  async run(invocation) {
    const { flags: values, args, factory, out } = invocation
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    const printer = await printerOf(values, withDryRun("annotated", dryRun), factory)
    const { resources, pairs } = resourcesAndPairs(args, "annotation")
    const changes = parsePairs(pairs, "annotation")
    if (values.list && values.output !== "") throw new Error("--list and --output may not be specified together")
    checkMetadataFlags(values, resources, dryRun, "rsrc")
    check(changes, values.list)
    const result = await found(invocation, resources)
    await result.visit(async (info) => {
      const isLocal = dryRun === "client" || values.local || values.list
      const version = values["resource-version"]
      const before = isLocal ? info.loaded : patchBase(info, version)
      const after = changed(isLocal ? before : recorded(before, invocation), changes, values.overwrite, version)
      if (values.list) return printList(invocation, result, info, "annotations", after)
      const object = isLocal ? after : await sendChange(info, before, after, values["field-manager"], dryRun)
      await printer.print(object, out)
    })
  },
})

function check({ set, remove }: Changes, list: boolean): void {
  if (set.size === 0 && remove.length === 0 && !list) throw new Error("at least one annotation update is required")
  const both = remove.filter((key) => set.has(key))
  if (both.length > 0)
    throw new Error(
      `can not both modify and remove the following annotation(s) in the same command: ${both.join(", ")}`,
    )
}

/** The cause of a change may always be replaced. */
const CHANGE_CAUSE = "kubernetes.io/change-cause"

function changed(
  object: Unstructured,
  { set, remove }: Changes,
  overwrite: boolean,
  resourceVersion: string,
): Unstructured {
  const old = object.metadata?.annotations ?? {}
  const taken = [...set].filter(([key, value]) => key !== CHANGE_CAUSE && Object.hasOwn(old, key) && old[key] !== value)
  if (!overwrite && taken.length > 0)
    throw new Error(
      `--overwrite is false but found the following declared annotation(s): ${taken
        .map(([key]) => `'${key}' already has a value (${old[key]})`)
        .join("; ")}`,
    )
  const gone = new Set(remove)
  const annotations = Object.fromEntries(
    Object.entries({ ...old, ...Object.fromEntries(set) }).filter(([key]) => !gone.has(key)),
  )
  const version = resourceVersion === "" ? {} : { resourceVersion }
  return { ...object, metadata: { ...object.metadata, annotations, ...version } }
}
