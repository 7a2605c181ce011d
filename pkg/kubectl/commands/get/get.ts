import { command, nameOf } from "../../command/command.ts"
import { filenameOptions } from "../../command/shared-flags.ts"
import { isNotFound } from "../../errors/status-error.ts"
import type { BuilderOptions } from "../../resource/builder-options.ts"
import type { RequestTransform } from "../../resource/helper.ts"
import { GET_FORMATS, getFlags, type GetInvocation, type GetValues } from "./get-flags.ts"
import { isHumanReadable } from "./get-printer.ts"
import { printObjects } from "./print-objects.ts"
import { printTables } from "./print-tables.ts"

/** Source: kubectl pkg/cmd/get/get.go. */
export const getCommand = command({
  use: `get [(-o|--output=)${GET_FORMATS.join("|")}] (TYPE[.VERSION][.GROUP] [NAME | -l label] | TYPE[.VERSION][.GROUP]/NAME ...) [flags]`,
  noFlagsInUse: true,
  short: "Display one or many resources",
  long: `
Display one or many resources.

 Prints a table with what matters most of the resources. A label selector, given by --selector, chooses among them. Of a resource whose objects are in namespaces you see those of the current namespace, unless you name another one.

 With the output format 'template' and a Go template as the value of --template you choose the fields that are printed.

Use "kubectl api-resources" for a complete list of supported resources.`,
  example: `
# List all pods as a table
kubectl get pods

# List all pods with more columns, such as the node
kubectl get pods -o wide

# Show one replication controller as a table
kubectl get replicationcontroller web

# List deployments as JSON, in version "v1" of the group "apps"
kubectl get deployments.v1.apps -o json

# Show one pod as JSON
kubectl get -o json pod web-pod-13je7

# Show the pod that the file "pod.yaml" names as JSON
kubectl get -f pod.yaml -o json

# List the objects of a folder with a kustomization.yaml
kubectl get -k dir/

# Print nothing but the phase of a pod
kubectl get -o template pod/web-pod-13je7 --template={{.status.phase}}

# Print columns of your own
kubectl get pod test-pod -o custom-columns=CONTAINER:.spec.containers[0].name,IMAGE:.spec.containers[0].image

# List replication controllers and services together
kubectl get rc,services

# Show objects by their types and names
kubectl get rc/web service/frontend pods/web-pod-13je7

# Show the subresource 'status' of a pod
kubectl get pod web-pod-13je7 --subresource status

# List all deployments of the namespace 'backend'
kubectl get deployments.apps --namespace backend

# List all pods of all namespaces
kubectl get pods --all-namespaces`,
  suggestFor: ["list", "ls"],
  flags: getFlags,
  run,
})

async function run(invocation: GetInvocation): Promise<void> {
  const { flags, args, factory } = invocation
  if (flags.raw !== "") {
    if (args.length > 0) throw new Error("arguments may not be passed when --raw is specified")
    const { getRaw } = await import("./raw.ts")
    return getRaw(invocation)
  }
  const { namespace, explicit } = await factory.namespace()
  await checkArguments(invocation)
  checkFlags(flags)
  const options: BuilderOptions = {
    namespace,
    defaultNamespace: true,
    allNamespaces: flags["all-namespaces"],
    files: filenameOptions(flags),
    enforceNamespace: explicit && !flags["all-namespaces"],
    labelSelector: flags.selector,
    fieldSelector: flags["field-selector"],
    args,
    allowEmptySelector: true,
    latest: true,
    transform: asTable(flags),
  }
  if (flags.watch || flags["watch-only"]) {
    const { watchObjects } = await import("./watch.ts")
    return watchObjects(invocation, { ...options, chunkSize: flags["chunk-size"], singleResourceType: true })
  }
  const result = await factory.build({
    ...options,
    subresource: flags.subresource,
    // All objects are sorted together.
    chunkSize: flags["sort-by"] === "" ? flags["chunk-size"] : 0,
    continueOnError: true,
    flatten: true,
  })
  if (flags["ignore-not-found"]) result.ignoreErrors(isNotFound)
  return isHumanReadable(flags) ? printTables(invocation, result, namespace) : printObjects(invocation, result)
}

async function checkArguments({ flags, args, errOut, parents, path, usageError }: GetInvocation): Promise<void> {
  const isSorted = flags["sort-by"] !== ""
  if (flags.watch) {
    if (isSorted)
      await errOut.write("warning: --watch requested, --sort-by will be ignored for watch events received\n")
  } else if (flags["watch-only"]) {
    if (isSorted) await errOut.write("warning: --watch-only requested, --sort-by will be ignored\n")
  } else if (args.length === 0 && flags.filename.length === 0 && flags.kustomize === "") {
    const root = path.split(" ").slice(0, -1).join(" ")
    await errOut.write(
      `You must specify the type of resource to get. Use "${root} api-resources" for a complete list of supported resources.\n\n`,
    )
    const hasExplain = parents[0]?.commands.some(({ name }) => name === "explain") === true
    throw usageError(
      hasExplain && nameOf(parents[0]!) !== ""
        ? `Required resource not specified.\nUse "${root} explain <resource>" for a detailed description of that resource (e.g. ${root} explain pods).`
        : "Required resource not specified.",
    )
  }
}

function checkFlags(flags: GetValues): void {
  const { output } = flags
  if (flags["show-labels"] && output !== "" && output !== "wide")
    throw new Error(`--show-labels option cannot be used with ${output} printer`)
  if (flags["output-watch-events"] && !flags.watch && !flags["watch-only"])
    throw new Error("--output-watch-events option can only be used with --watch or --watch-only")
}

/** Custom columns and whole objects cannot be printed from a table of the server. */
export const isServerPrint = ({ "server-print": serverPrint, output }: GetValues): boolean =>
  serverPrint && !output.includes("custom-columns") && output !== "yaml" && !output.includes("json")

const TABLE_ACCEPT = [
  "application/json;as=Table;v=v1;g=meta.k8s.io",
  "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
  "application/json",
].join(",")

const asTable = (flags: GetValues): RequestTransform =>
  isServerPrint(flags) && isHumanReadable(flags)
    ? (request) => ({
        ...request,
        accept: TABLE_ACCEPT,
        // The field to sort by must be in the rows.
        query: { ...request.query, ...(flags["sort-by"] === "" ? {} : { includeObject: "Object" }) },
      })
    : (request) => request
