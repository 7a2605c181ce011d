import { bytesOf } from "../../go-fmt/go-bytes.ts"
import { command, type Invocation } from "../command/command.ts"
import { boolFlag } from "../command/flag.ts"
import {
  allNamespacesFlag,
  chunkSizeFlag,
  filenameFlags,
  filenameOptions,
  selectorFlag,
} from "../command/shared-flags.ts"
import { describerFor } from "../describe/describers.ts"
import type { Describing } from "../describe/describing.ts"
import { restDescribeClient } from "../describe/rest-describe-client.ts"
import { throwAggregate } from "../errors/aggregate.ts"
import { isNotFound } from "../errors/status-error.ts"
import { errorMessage } from "../../errors/error-message.ts"
import type { Info } from "../resource/info.ts"

const flags = {
  ...filenameFlags("containing the resource to describe"),
  ...selectorFlag(),
  ...allNamespacesFlag(
    "If present, describe the objects of all namespaces. A namespace of the context, or of --namespace, is ignored.",
  ),
  "show-events": boolFlag(
    true,
    "If true, show the events about the object. Defaults to true for one object, false for several and for the beginning of a name.",
  ),
  ...chunkSizeFlag(),
}

/** Source: kubectl pkg/cmd/describe. */
export const describeCommand = command({
  use: "describe (-f FILENAME | TYPE [NAME_PREFIX | -l label] | TYPE/NAME)",
  noFlagsInUse: true,
  short: "Show details of a specific resource or group of resources",
  long: `
Show details of one object or of several.

 The description of an object has what belongs to it, such as its events and its pods. You name one object, all objects of a type, the beginning of a name, or a label selector. For example:

  $ kubectl describe TYPE NAME_PREFIX

 first looks for the object of this type and name. If there is none, it describes every object whose name begins with NAME_PREFIX.

Use "kubectl api-resources" for a complete list of supported resources.`,
  example: `
# Describe a node
kubectl describe nodes node-4711.example.com

# Describe a pod
kubectl describe pods/web

# Describe the pod that the file "pod.json" names
kubectl describe -f pod.json

# Describe all pods
kubectl describe pods

# Describe the pods with the label name=web
kubectl describe pods -l name=web

# Describe the pods of the replication controller 'frontend', whose names begin with its name
kubectl describe pods frontend`,
  suggestFor: ["inspect"],
  flags,
  run,
})

async function run(invocation: Invocation<typeof flags>): Promise<void> {
  const { flags: values, changed, args, factory, out, errOut, path } = invocation
  const { namespace, explicit } = await factory.namespace()
  if (args.length === 0 && values.filename.length === 0 && values.kustomize === "") {
    const root = path.split(" ").slice(0, -1).join(" ")
    throw new Error(
      `You must specify the type of resource to describe. Use "${root} api-resources" for a complete list of supported resources.\n`,
    )
  }
  const result = await factory.build({
    args,
    allowEmptySelector: true,
    files: filenameOptions(values),
    namespace,
    defaultNamespace: true,
    enforceNamespace: explicit && !values["all-namespaces"],
    allNamespaces: values["all-namespaces"],
    labelSelector: values.selector,
    chunkSize: values["chunk-size"],
    continueOnError: true,
    flatten: true,
  })
  const { infos, error } = await result.infosAndError()
  const several = error !== undefined || infos.length > 1
  const describing = await describingOf(invocation, values["show-events"] && (changed("show-events") || !several))
  if (isNotFound(error) && args.length === 2) return describeByPrefix(invocation, describing, error)

  const errors: unknown[] = error === undefined ? [] : [error]
  const messages = new Set<string>()
  let first = true
  for (const info of infos)
    try {
      const text = await describe(describing, info)
      await out.write(bytesOf(first ? text : `\n\n${text}`))
      first = false
    } catch (err) {
      if (messages.has(errorMessage(err))) continue
      messages.add(errorMessage(err))
      errors.push(err)
    }
  if (infos.length === 0 && errors.length === 0)
    await errOut.write(
      values["all-namespaces"] ? "No resources found\n" : `No resources found in ${namespace} namespace.\n`,
    )
  throwAggregate(errors)
}

async function describingOf({ flags: values, factory }: Invocation<typeof flags>, showEvents: boolean) {
  const { clock, zone } = factory.environment
  return {
    client: restDescribeClient(await factory.client()),
    showEvents,
    chunkSize: values["chunk-size"],
    now: () => clock.now(),
    zone,
  } satisfies Describing
}

async function describe(describing: Describing, { mapping, namespace, name }: Info): Promise<string> {
  const { group, version, resource } = mapping.resource
  const describer = await describerFor({ group, version, resource, kind: mapping.kind.kind })
  return describer(describing, namespace, name)
}

/** Describes all objects whose names begin with the one that was not found. */
async function describeByPrefix(
  { flags: values, args: [type = "", prefix = ""], factory, out }: Invocation<typeof flags>,
  describing: Describing,
  notFound: unknown,
): Promise<void> {
  const { namespace } = await factory.namespace()
  const result = await factory.build({
    args: [type],
    allowEmptySelector: true,
    namespace,
    defaultNamespace: true,
    chunkSize: values["chunk-size"],
    singleResourceType: true,
    flatten: true,
  })
  const matching = (await result.infos()).filter(({ name }) => name.startsWith(prefix))
  if (matching.length === 0) throw notFound
  for (const info of matching) await out.write(bytesOf(`${await describe(describing, info)}\n`))
}
