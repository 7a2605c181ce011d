import { command } from "../../command/command.ts"
import { boolFlag, durationFlag, intFlag, stringFlag } from "../../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  filenameFlags,
  filenameOptions,
  selectorFlag,
  withDryRun,
} from "../../command/shared-flags.ts"
import { mergeDiff } from "../../patch/merge-patch.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import type { Info } from "../../resource/info.ts"
import { goJson } from "../../rest/json.ts"
import { recorded, recordFlag } from "../record.ts"
import { scale } from "./scaler.ts"

/** Source: kubectl pkg/cmd/scale/scale.go. */
export const scaleCommand = command({
  use: "scale [--resource-version=version] [--current-replicas=count] --replicas=COUNT (-f FILENAME | TYPE NAME)",
  noFlagsInUse: true,
  short: "Set a new size for a deployment, replica set, or replication controller",
  long: `
Set a new size for a deployment, replica set, replication controller, or stateful set.

 The size may be made to change only under conditions: --current-replicas and --resource-version are checked before, and the server changes nothing if they are no longer true.`,
  example: `
# Scale the replica set 'foo' to 3
kubectl scale --replicas=3 rs/foo

# Scale what "foo.yaml" names to 3
kubectl scale --replicas=3 -f foo.yaml

# If the deployment mysql has 2 replicas now, scale it to 3
kubectl scale --current-replicas=2 --replicas=3 deployment/mysql

# Scale several replication controllers
kubectl scale --replicas=5 rc/example1 rc/example2 rc/example3

# Scale the stateful set 'web' to 3
kubectl scale --replicas=3 statefulset/web`,
  flags: {
    ...recordFlag(),
    ...printFlags(),
    all: boolFlag(false, "Select all resources of the types, in the namespace"),
    "resource-version": stringFlag("", "Change the size only if this is the version of the resource."),
    "current-replicas": intFlag(-1, "Change the size only if this is the present one. -1 (default) for any."),
    replicas: intFlag(0, "The new number of replicas. Required."),
    timeout: durationFlag(
      0,
      "How long to wait until the size is reached; zero means not to wait. Other values need a unit (e.g. 1s, 2m, 3h).",
    ),
    ...filenameFlags("with the resources to scale"),
    ...dryRunFlag(),
    ...selectorFlag(),
  },
  async run(invocation) {
    const { flags: values, args, changed, factory, environment, out } = invocation
    if (!changed("replicas")) throw new Error('required flag(s) "replicas" not set')
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    const printer = await printerOf(values, withDryRun("scaled", dryRun), factory)
    if (values.replicas < 0)
      throw new Error("The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0")
    const current = values["current-replicas"]
    if (current < -1) throw new Error("The --current-replicas must specify an integer of -1 or greater")
    const { namespace, explicit } = await factory.namespace()
    const result = await factory.build({
      args,
      files: filenameOptions(values),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      allowEmptySelector: values.all,
      labelSelector: values.selector,
      continueOnError: true,
      flatten: true,
    })
    const { infos, error } = await result.infosAndError()
    const resourceVersion = values["resource-version"]
    if (resourceVersion !== "" && infos.length > 1)
      throw new Error("cannot use --resource-version with multiple resources")
    if (infos.length === 0) throw error ?? new Error("no objects passed to scale")
    const precondition = current === -1 && resourceVersion === "" ? undefined : { replicas: current, resourceVersion }
    for (const info of infos) {
      if (dryRun === "client") setReplicas(info, values.replicas)
      else {
        const size = await scale(info, {
          environment,
          replicas: values.replicas,
          precondition,
          waitMs: values.timeout === 0 || dryRun !== "none" ? undefined : values.timeout,
          serverDryRun: dryRun === "server",
        })
        setReplicas(info, size)
        const noted = recorded(info.loaded, invocation)
        if (noted !== info.loaded) {
          const cause = goJson(mergeDiff(info.loaded, noted))
          await info.helper.patch(info.namespace, info.name, "application/merge-patch+json", cause)
        }
      }
      await printer.print(info.loaded, out)
    }
    if (error !== undefined) throw error
  },
})

/** Sets the size in an object that is printed, for kinds of which it is known where it stands. */
function setReplicas(info: Info, replicas: number): void {
  const { group } = info.mapping.kind
  if (group !== "apps" && group !== "") return
  const object = info.loaded
  info.object = { ...object, spec: { ...(object["spec"] as object | undefined), replicas } }
}
