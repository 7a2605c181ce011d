import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import { allNamespacesFlag, dryRunFlag, dryRunOf, filenameOptions, selectorFlag } from "../../command/shared-flags.ts"
import { isNotFound } from "../../errors/status-error.ts"
import type { Info } from "../../resource/info.ts"
import type { Result } from "../../resource/result.ts"
import { checkRaw, rawRequest } from "../../rest/raw.ts"
import { deletionFlags, propagationOf } from "./delete-flags.ts"
import { deleteObjects, kindText } from "./delete-objects.ts"

const flags = {
  ...deletionFlags("with the resources to delete."),
  ...selectorFlag(),
  ...dryRunFlag(),
  ...allNamespacesFlag(
    "If true, delete in all namespaces. The namespace of the current context and --namespace do not matter then.",
  ),
  all: boolFlag(false, "Delete all resources of the types, in the namespace."),
  "field-selector": stringFlag(
    "",
    "A field selector with '=', '==', and '!='. (e.g. --field-selector key1=value1,key2=value2). The server knows only a few fields of each type.",
  ),
  "ignore-not-found": boolFlag(
    false,
    'Take "resource not found" as a success. "true" is the default together with --all.',
  ),
  interactive: boolFlag(false, "If true, delete only when the user says yes.", { shorthand: "i" }),
  now: boolFlag(false, "If true, end resources at once (same as --grace-period=1)."),
  output: stringFlag("", 'Output mode. "-o name" prints only resource/name.', { shorthand: "o" }),
  raw: stringFlag("", "The path to send the DELETE to, at the server of the kubeconfig."),
  wait: boolFlag(true, "If true, wait until the resources are gone. This waits for finalizers."),
}

type DeleteInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/delete/delete.go. */
export const deleteCommand = command({
  use: "delete ([-f FILENAME] | [-k DIRECTORY] | TYPE [(NAME | -l label | --all)])",
  noFlagsInUse: true,
  short: "Delete resources by files, the input, names, or a selector",
  long: `
Delete resources by files, the input, resources and names, or by resources and a label selector.

 Files may be JSON or YAML. Only one kind of argument may be given: files, resources and names, or resources and a label selector.

 Some resources, such as pods, end gracefully. They have a time for it (the grace period), after which they are ended by force; --grace-period sets another one, and --now sets 1. Because such a resource is on another machine, it may not be known whether it has ended. With --grace-period=0 and --force it is removed from the API without waiting for that.

 IMPORTANT: Removing pods by force does not wait until their processes have ended, so these may run on until the node notices, or for ever. If your processes share storage, or rely on being the only one of their name, this can corrupt data. Do it only when you are sure that the pod has ended, or that your application bears several copies of it.

 The command does not compare versions: what others change in the same moment is lost with the resource.

 After a custom resource definition was deleted, it may take some minutes until discovery forgets it.`,
  example: `
# Delete the pod that the file pod.json describes
kubectl delete -f ./pod.json

# Delete what a folder with a kustomization.yaml describes
kubectl delete -k dir

# Delete what all files whose names end in '.json' describe
kubectl delete -f '*.json'

# Delete the pod that the JSON of the input describes
cat pod.json | kubectl delete -f -

# Delete pods and services with the names "baz" and "foo"
kubectl delete pod,service baz foo

# Delete pods and services with the label name=myLabel
kubectl delete pods,services -l name=myLabel

# Delete a pod with the shortest delay
kubectl delete pod foo --now

# Delete a pod of a dead node by force
kubectl delete pod foo --force

# Delete all pods
kubectl delete pods --all

# Delete all pods, if the user says yes
kubectl delete pods --all --interactive`,
  suggestFor: ["rm", "remove"],
  flags,
  async run(invocation) {
    const { flags: values, changed, factory, environment, out, errOut } = invocation
    const propagation = await propagationOf(values.cascade, errOut)
    const gracePeriod = gracePeriodOf(values)
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    const result = values.raw === "" ? await found(invocation) : undefined
    const preview = result !== undefined && values.interactive ? await found(invocation) : undefined
    check(invocation, gracePeriod)
    if (result === undefined)
      return rawRequest(factory, out, { method: "DELETE", raw: values.raw, filename: values.filename[0] ?? "" })
    const selects = values.all || values.selector !== "" || values["field-selector"] !== ""
    const ignoreNotFound = selects && !changed("ignore-not-found") ? true : values["ignore-not-found"]
    const seen = preview === undefined ? undefined : await confirmed(preview, ignoreNotFound, invocation)
    if (preview !== undefined && seen === undefined) return
    const { explicit } = await factory.namespace()
    await deleteObjects(result, {
      environment,
      out,
      warnings: factory.warnings,
      propagation,
      gracePeriod,
      dryRun,
      ignoreNotFound,
      waits: values.wait,
      timeoutMs: values.timeout,
      output: values.output,
      warnClusterScope: explicit && !values["all-namespaces"],
      ...(seen === undefined ? {} : { selects: (info) => seen.has(identityOf(info)) }),
    })
  },
})

/** The grace period in seconds that the flags ask for. */
export function gracePeriodOf({
  "grace-period": seconds,
  force,
  now = false,
}: {
  readonly "grace-period": number
  readonly force: boolean
  readonly now?: boolean
}): number {
  if (now && seconds !== -1) throw new Error("--now and --grace-period cannot be specified together")
  if (now) return 1
  // Without --force nobody shall lose data by a zero.
  if (seconds === 0 && !force) return 1
  return force && seconds < 0 ? 0 : seconds
}

async function found({ flags: values, args, factory }: DeleteInvocation): Promise<Result> {
  const { namespace, explicit } = await factory.namespace()
  return factory.build({
    args,
    files: filenameOptions(values),
    namespace,
    defaultNamespace: true,
    enforceNamespace: explicit,
    allNamespaces: values["all-namespaces"],
    labelSelector: values.selector,
    fieldSelector: values["field-selector"],
    selectAll: values.all,
    requireObject: false,
    continueOnError: true,
    flatten: true,
  })
}

function check({ flags: values, factory }: DeleteInvocation, gracePeriod: number): void {
  if (values.output !== "" && values.output !== "name")
    throw new Error(`unexpected -o output mode: ${values.output}. We only support '-o name'`)
  if (values.all && values.selector !== "") throw new Error("cannot set --all and --selector at the same time")
  if (values.all && values["field-selector"] !== "")
    throw new Error("cannot set --all and --field-selector at the same time")
  if (values.force && gracePeriod === 0)
    factory.warnings.print(
      "Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.",
    )
  else if (values.force && gracePeriod > 0)
    throw new Error("--force and --grace-period greater than 0 cannot be specified together")
  if (values.raw === "") return
  if (values.interactive) throw new Error("--interactive can not be used with --raw")
  if (values.filename.length > 1) throw new Error("--raw can only use a single local file or stdin")
  if (/^https?:\/\//.test(values.filename[0] ?? "")) throw new Error("--raw cannot read from a url")
  if (values.recursive) throw new Error("--raw and --recursive are mutually exclusive")
  if (values.output !== "") throw new Error("--raw and --output are mutually exclusive")
  checkRaw(values.raw)
}

const identityOf = ({ mapping: { resource }, namespace, name }: Info): string =>
  JSON.stringify([resource.group, resource.resource, namespace, name])

/** Shows what would be deleted, and returns it if the user says yes. */
async function confirmed(
  preview: Result,
  ignoreNotFound: boolean,
  { environment, out }: DeleteInvocation,
): Promise<ReadonlySet<string> | undefined> {
  if (ignoreNotFound) preview.ignoreErrors(isNotFound)
  const infos: Info[] = []
  await preview.visit((info) => {
    infos.push(info)
    return Promise.resolve()
  })
  if (infos.length === 0) {
    await out.write("No resources found\n")
    return undefined
  }
  const lines = infos.map((info) => `${kindText(info)}/${info.name}\n`)
  await out.write(`You are about to delete the following ${infos.length} resource(s):\n${lines.join("")}`)
  await out.write("Do you want to continue? (y/N): ")
  let answer = ""
  const decoder = new TextDecoder()
  for await (const part of environment.stdin) {
    answer += decoder.decode(part, { stream: true })
    if (answer.includes("\n")) break
  }
  if (answer.split("\n", 1)[0]!.trim().toLowerCase() === "y") return new Set(infos.map(identityOf))
  await out.write("deletion is cancelled\n")
  return undefined
}
