import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, durationFlag, stringArrayFlag, stringFlag } from "../../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  saveConfigFlag,
  type DryRun,
  withDryRun,
} from "../../command/shared-flags.ts"
import { aggregate } from "../../errors/aggregate.ts"
import type { Pod } from "../../polymorphic/pod.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { typedAnswer } from "../../printers/typed-answer.ts"
import { typedObject } from "../../printers/printer.ts"
import { Helper } from "../../resource/helper.ts"
import type { Unstructured } from "../../rest/json.ts"
import { annotated } from "../create/generator.ts"
import { overridden, overrideFlags } from "../create/overrides.ts"
import { deleteObjects } from "../delete/delete-objects.ts"
import { deletionFlags, propagationOf, type Propagation } from "../delete/delete-flags.ts"
import { recorded, recordFlag } from "../record.ts"
import { attachToPod, exitOf } from "./attached.ts"
import { isImageName } from "./image-name.ts"
import { podOf, serviceOf } from "./pod.ts"

const TIMEOUT_MS = 60_000

const flags = {
  ...deletionFlags("to use to replace the resource."),
  ...printFlags(),
  ...recordFlag(),
  ...dryRunFlag(),
  ...fieldManagerFlag("kubectl-run"),
  ...overrideFlags(),
  ...saveConfigFlag(),
  "pod-running-timeout": durationFlag(
    TIMEOUT_MS,
    "How long (like 5s, 2m, or 3h, more than zero) to wait until a pod runs",
  ),
  annotations: stringArrayFlag([], "Annotations of the pod."),
  image: stringFlag("", "The image to run."),
  "image-pull-policy": stringFlag("", "When the image is pulled. If empty, the server decides."),
  rm: boolFlag(
    false,
    "If true, delete the pod when it has ended. Only when attaching, as with '--attach' or '-i/--stdin'.",
  ),
  env: stringArrayFlag([], "Environment variables of the container."),
  port: stringFlag("", "The port of the container."),
  labels: stringFlag("", "Labels of the pod between commas, instead of run=NAME.", { shorthand: "l" }),
  stdin: boolFlag(false, "Keep the input of the container open, even if nothing is attached.", { shorthand: "i" }),
  tty: boolFlag(false, "Give the container a terminal.", { shorthand: "t" }),
  attach: boolFlag(
    false,
    "If true, wait until the pod runs, then attach to it as 'kubectl attach ...' does. The default is true with '-i/--stdin', otherwise false. With '--restart=Never' the exit code is that of the container.",
  ),
  "leave-stdin-open": boolFlag(false, "If true, the input stays open when the first attached one has ended."),
  restart: stringFlag("Always", "The restart policy of the pod: Always, OnFailure, or Never."),
  command: boolFlag(false, "If true, further arguments are the 'command' of the container, and not its 'args'."),
  expose: boolFlag(false, "If true, create a ClusterIP service for the pod too. Needs --port."),
  quiet: boolFlag(false, "If true, print nothing but what the container prints.", { shorthand: "q" }),
  privileged: boolFlag(false, "If true, run the container in privileged mode."),
  "detach-keys": stringFlag("ctrl-p,ctrl-q", "The keys that end the session, and not the container"),
}

type RunInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/run/run.go. */
export const runCommand = command({
  use: 'run NAME --image=image [--env="key=value"] [--port=port] [--dry-run=server|client] [--overrides=inline-json] [--command] -- [COMMAND] [args...]',
  noFlagsInUse: true,
  short: "Run a particular image on the cluster",
  long: "Create and run an image in a pod.",
  example: `
# Run nginx in a pod
kubectl run nginx --image=nginx

# Run hazelcast with port 5701
kubectl run hazelcast --image=hazelcast/hazelcast --port=5701

# Run it with environment variables
kubectl run hazelcast --image=hazelcast/hazelcast --env="DNS_DOMAIN=cluster" --env="POD_NAMESPACE=default"

# Run it with labels
kubectl run hazelcast --image=hazelcast/hazelcast --labels="app=hazelcast,env=prod"

# Print the pod, and create nothing
kubectl run nginx --image=nginx --dry-run=client

# Change the pod by JSON before it is created
kubectl run nginx --image=nginx --overrides='{ "apiVersion": "v1", "spec": { ... } }'

# Use busybox from this terminal, and do not restart it when it ends
kubectl run -i -t busybox --image=busybox --restart=Never

# Give the command of the image other arguments
kubectl run nginx --image=nginx -- <arg1> <arg2> ... <argN>

# Run another command
kubectl run nginx --image=nginx --command -- <cmd> <arg1> ... <argN>`,
  flags,
  run,
})

interface Created {
  readonly object: Unstructured
  readonly type: "pods" | "services"
}

async function run(invocation: RunInvocation): Promise<void> {
  const { flags: values, args, changed, factory, out, errOut } = invocation
  if (!changed("image")) throw new Error('required flag(s) "image" not set')
  const dryRun = dryRunOf(values["dry-run"], factory.log)
  await factory.client()
  const attaches = !changed("attach") && values.stdin ? true : values.attach
  const printer = await printerOf(values, withDryRun("created", dryRun), factory)
  const propagation = await propagationOf(values.cascade, errOut)
  check(invocation, attaches, dryRun)
  const [name = "", ...words] = args
  const restartPolicy = values.restart === "" ? (values.stdin ? "OnFailure" : "Always") : values.restart
  const pod = await create(
    invocation,
    await overridden(podOf(name, words, values, values.restart === "" ? "Always" : values.restart), values),
    "pods",
    dryRun,
  )
  const created: Created[] = [{ object: pod, type: "pods" }]
  const errors: unknown[] = []
  if (values.expose)
    try {
      const service = await create(invocation, serviceOf(name, values), "services", dryRun)
      await printer.print(service, out)
      if (values.output === "yaml") await out.write("---\n")
      created.push({ object: service, type: "services" })
    } catch (err) {
      errors.push(err)
    }
  if (attaches) return attached(invocation, created, { restartPolicy, propagation })
  await printer.print(pod, out)
  const error = aggregate(errors)
  if (error !== undefined) throw error
}

function check({ flags: values, args, usageError }: RunInvocation, attaches: boolean, dryRun: DryRun) {
  if (args.length === 0) throw usageError("NAME is required for run")
  if (values["pod-running-timeout"] <= 0) throw usageError("--pod-running-timeout must be higher than zero")
  if (values.image === "") throw new Error("--image is required")
  if (!isImageName(values.image))
    throw new Error(`Invalid image name ${goQuoted(values.image)}: invalid reference format`)
  if (values.tty && !values.stdin) throw usageError("-i/--stdin is required for containers with -t/--tty=true")
  if (values.expose && values.port === "") throw usageError("--port must be set when exposing a service")
  if (!["", "Always", "OnFailure", "Never"].includes(values.restart))
    throw usageError(`invalid restart policy: ${values.restart}`)
  if (!attaches && values.rm) throw usageError("--rm should only be used for attached containers")
  if (attaches && dryRun !== "none")
    throw usageError(
      "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)",
    )
  if (!["", "Always", "IfNotPresent", "Never"].includes(values["image-pull-policy"]))
    throw usageError(`invalid image pull policy: ${values["image-pull-policy"]}`)
}

async function create(
  invocation: RunInvocation,
  made: Unstructured,
  resource: "pods" | "services",
  dryRun: DryRun,
): Promise<Unstructured> {
  const { flags: values, factory } = invocation
  const { namespace, explicit } = await factory.namespace()
  const mapping = await (await factory.restMapper()).restMapping("", resource === "pods" ? "Pod" : "Service", "v1")
  const object = recorded(made, invocation)
  if (dryRun === "client") {
    const { name, ...metadata } = object.metadata ?? {}
    const placed = { ...(name === undefined ? {} : { name }), ...(explicit ? { namespace } : {}), ...metadata }
    return typedObject({ ...object, metadata: placed })
  }
  const helper = new Helper(await factory.client(), mapping)
  const answer = await helper.create(namespace, values["save-config"] ? annotated(object) : object, {
    fieldManager: values["field-manager"],
    serverDryRun: dryRun === "server",
  })
  return typedAnswer(answer, values.output)
}

async function attached(
  invocation: RunInvocation,
  created: readonly Created[],
  { restartPolicy, propagation }: { readonly restartPolicy: string; readonly propagation: Propagation },
): Promise<void> {
  const { flags: values, factory, environment, out, errOut } = invocation
  const pod = created[0]!.object as Pod
  const { stdin, tty, quiet, "detach-keys": detachKeys, "pod-running-timeout": timeoutMs } = values
  const attaching = { factory, environment, out, errOut, timeoutMs, stdin, tty, quiet, detachKeys }
  try {
    await attachToPod(pod, attaching)
    if (!values["leave-stdin-open"] && restartPolicy !== "Always") await exitOf(pod, attaching, restartPolicy)
  } finally {
    if (values.rm && !environment.interrupt.aborted) await remove(invocation, created, propagation)
  }
}

/** Deletes what was created. What goes wrong is not said, as in kubectl. */
async function remove(
  { flags: values, factory, environment, out }: RunInvocation,
  created: readonly Created[],
  propagation: Propagation,
): Promise<void> {
  for (const { object, type } of created) {
    try {
      const result = await factory.build({
        args: [type, object.metadata?.name ?? ""],
        namespace: object.metadata?.namespace ?? "",
        defaultNamespace: true,
        continueOnError: true,
        flatten: true,
      })
      await deleteObjects(result, {
        environment,
        out,
        warnings: factory.warnings,
        propagation,
        gracePeriod: -1,
        dryRun: "none",
        ignoreNotFound: true,
        waits: false,
        timeoutMs: values.timeout,
        output: "",
        quiet: values.quiet,
        warnClusterScope: false,
      })
    } catch {
      return
    }
  }
}
