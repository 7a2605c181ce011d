import { boolFlag, stringFlag, type FlagValues } from "../../command/flag.ts"
import type { Invocation } from "../../command/command.ts"
import {
  allNamespacesFlag,
  dryRunFlag,
  fieldManagerFlag,
  filenameFlags,
  filenameOptions,
  selectorFlag,
  type DryRun,
} from "../../command/shared-flags.ts"
import { printFlags } from "../../printers/print-flags.ts"
import type { Info } from "../../resource/info.ts"
import type { Result } from "../../resource/result.ts"
import { goJson, type Unstructured } from "../../rest/json.ts"
import { mergeDiff } from "../../patch/merge-patch.ts"
import { recordFlag } from "../record.ts"

/** The flags that `label` and `annotate` have. `what` is what they change, in the plural. */
export const metadataFlags = (what: string, fieldManager: string) => ({
  ...recordFlag(),
  ...printFlags(),
  ...dryRunFlag(),
  ...filenameFlags(`with the resources whose ${what} to change`),
  ...fieldManagerFlag(fieldManager),
  ...selectorFlag(),
  ...allNamespacesFlag("If true, do so in all namespaces."),
  overwrite: boolFlag(false, `If true, replace ${what} that are there already; otherwise that is an error.`),
  list: boolFlag(false, `If true, print the ${what} of the resource.`),
  local: boolFlag(false, "If true, do not ask the server, but work on files only."),
  "field-selector": stringFlag(
    "",
    "A field selector with '=', '==', and '!='. (e.g. --field-selector key1=value1,key2=value2). The server knows only a few fields of each type.",
  ),
  all: boolFlag(false, "Select all resources of the types, in the namespace."),
  "resource-version": stringFlag("", "Change the resource only if this is its version. Only for a single resource."),
})

type MetadataFlags = ReturnType<typeof metadataFlags>
export type MetadataInvocation = Invocation<MetadataFlags>

/** @throws Error when flags and resources do not go together. `files` is how messages name files: `pod.yaml`. */
export function checkMetadataFlags(
  values: FlagValues<MetadataFlags>,
  resources: readonly string[],
  dryRun: DryRun,
  files: string,
): void {
  if (values.all && values.selector !== "") throw new Error("cannot set --all and --selector at the same time")
  if (values.all && values["field-selector"] !== "")
    throw new Error("cannot set --all and --field-selector at the same time")
  const hasFiles = values.filename.length > 0 || values.kustomize !== ""
  if (!values.local) {
    if (resources.length === 0 && !hasFiles)
      throw new Error("one or more resources must be specified as <resource> <name> or <resource>/<name>")
    return
  }
  if (dryRun === "server")
    throw new Error("cannot specify --local and --dry-run=server - did you mean --dry-run=client?")
  const named = `-f ${files}.yaml or --filename=${files}.json`
  if (resources.length > 0) throw new Error(`can only use local files by ${named} when --local=true is set`)
  if (!hasFiles) throw new Error(`one or more files must be specified as ${named}`)
}

/** Finds the resources to change. @throws Error when a version is given for several */
export async function found(
  { flags: values, factory }: MetadataInvocation,
  resources: readonly string[],
): Promise<Result> {
  const { namespace, explicit } = await factory.namespace()
  const remote = {
    labelSelector: values.selector,
    fieldSelector: values["field-selector"],
    allNamespaces: values["all-namespaces"],
    allowEmptySelector: values.all,
    args: resources,
    latest: true,
  }
  const result = await factory.build({
    files: filenameOptions(values),
    namespace,
    defaultNamespace: true,
    enforceNamespace: explicit,
    local: values.local,
    requireObject: !values.local,
    continueOnError: true,
    flatten: true,
    ...(values.local ? {} : remote),
  })
  if (!result.singleItemImplied && values["resource-version"] !== "")
    throw new Error("--resource-version may only be used with a single resource")
  return result
}

/** Returns the object as the patch begins from: without its version if one is asked for, so that it is sent. */
export function patchBase({ loaded }: Info, resourceVersion: string): Unstructured {
  if (resourceVersion === "") return loaded
  const { resourceVersion: _, ...metadata } = loaded.metadata ?? {}
  return { ...loaded, metadata }
}

/** Sends what differs between two states of an object as a merge patch. */
export function sendChange(
  info: Info,
  before: Unstructured,
  after: Unstructured,
  fieldManager: string,
  dryRun: DryRun,
): Promise<Unstructured> {
  const body = goJson(mergeDiff(before, after))
  return info.helper.patch(info.namespace, info.name, "application/merge-patch+json", body, {
    fieldManager,
    serverDryRun: dryRun === "server",
  })
}

/** Prints the labels or annotations of an object. */
export async function printList(
  { out }: MetadataInvocation,
  result: Result,
  info: Info,
  what: "labels" | "annotations",
  object: Unstructured,
): Promise<void> {
  const isSingle = result.singleItemImplied
  if (!isSingle) {
    const { group, kind } = info.hasMapping ? info.mapping.kind : { group: "", kind: info.loaded.kind ?? "" }
    await out.write(`Listing ${what} for ${kind}.${group}/${info.name}:\n`)
  }
  const values = Object.entries(object.metadata?.[what] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [key, value] of values) await out.write(`${isSingle ? "" : " "}${key}=${value}\n`)
}
