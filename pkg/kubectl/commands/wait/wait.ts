import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { sleep } from "../../../clock/clock.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, durationFlag, stringArrayFlag, stringFlag } from "../../command/flag.ts"
import { allNamespacesFlag, filenameFlags, filenameOptions } from "../../command/shared-flags.ts"
import { isDeadlineExceeded, SilentExit } from "../../errors/errors.ts"
import { isNotFound, StatusError } from "../../errors/status-error.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import type { BuilderOptions } from "../../resource/builder-options.ts"
import type { Info } from "../../resource/info.ts"
import { objectEvents } from "../../resource/object-events.ts"
import { missingResource } from "../../resource/resource-args.ts"
import type { Result } from "../../resource/result.ts"
import type { Unstructured } from "../../rest/json.ts"
import type { Condition } from "./condition.ts"
import { conditionsOf } from "./conditions.ts"

const A_WEEK_MS = 7 * 24 * 3_600_000
/** How often it is looked whether an object has been created. */
const CREATED_MS = 500
/** The exit code of a program that SIGINT has ended: 128 and the number of the signal. */
const BY_INTERRUPT = 130
const TIMED_OUT = "timed out waiting for the condition"

const files = filenameFlags("identifying the resource.")
const flags = {
  ...printFlags(),
  ...files,
  recursive: { ...files.recursive, default: true, defaultText: "true" },
  selector: stringFlag("", "A label selector with '=', '==' and '!=' (e.g. -l key1=value1,key2=value2).", {
    shorthand: "l",
  }),
  "field-selector": stringFlag(
    "",
    "A field selector with '=', '==' and '!=' (e.g. --field-selector key1=value1,key2=value2). The server knows few fields of each type.",
  ),
  all: boolFlag(false, "Wait for all objects of the types in the namespace."),
  ...allNamespacesFlag(
    "If present, wait for the objects of all namespaces. A namespace of the context, or of --namespace, is ignored.",
  ),
  local: boolFlag(false, "If true, do not ask the server."),
  timeout: durationFlag(
    30_000,
    "How long to wait. Zero looks once and does not wait, a negative time waits for a week.",
  ),
  for: stringArrayFlag(
    [],
    "What to wait for: [create|delete|condition=condition-name[=condition-value]|jsonpath='{JSONPath expression}'=[JSONPath value]]. The condition-value is true unless given, in letters of any case. Several must all hold, one after the other; create is always waited for first.",
  ),
}
type WaitInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/wait. */
export const waitCommand = command({
  use: "wait ([-f FILENAME] | resource.group/resource.name | resource.group [(-l label | --all)]) [--for=create|--for=delete|--for condition=available|--for=jsonpath='{}'[=value]]",
  noFlagsInUse: true,
  short: "Wait for a specific condition on one or many resources",
  long: `
Wait until one or many objects are as you want them.

 Waits until each object has a condition in its status, or until a JSONPath has a value in it.

 With "create" or "delete" as the value of --for, it waits until the objects are there or are gone.

 A line is printed for each condition that holds; -o prints the object instead.`,
  example: `
# Wait until the pod "web" has the condition "Ready"
kubectl wait --for=condition=Ready pod/web

# Wait until the condition has another status than true
kubectl wait --for=condition=Ready=false pod/web

# Wait until the phase of the pod is "Running"
kubectl wait --for=jsonpath='{.status.phase}'=Running pod/web

# Wait until the service "web" has an ingress
kubectl wait --for=jsonpath='{.status.loadBalancer.ingress}' service/web

# Wait until the secret "web" is created, for 30s at most
kubectl wait --for=create secret/web --timeout=30s

# Wait until the pod "web" is deleted, for 60s at most
kubectl delete pod/web
kubectl wait --for=delete pod/web --timeout=60s

# Wait until the pod "web" is created and Ready
kubectl wait --for=condition=Ready --for=create pod/web`,
  flags,
  run,
})

async function run(invocation: WaitInvocation): Promise<void> {
  const { flags: values, factory, environment, changed, out } = invocation
  const printer = await printerOf(values, "condition met", {
    readFile: (path) => factory.readFile(path),
    outputIsSet: changed("output"),
  })
  const conditions = await conditionsOf(values.for)
  const timeoutMs = values.timeout < 0 ? A_WEEK_MS : values.timeout
  const over = new AbortController()
  const timer = timeoutMs === 0 ? undefined : environment.clock.setTimeout(() => over.abort(new TimedOut()), timeoutMs)
  const signal = AbortSignal.any([over.signal, environment.interrupt])
  const isForDelete = conditions.some(({ type }) => type === "delete")
  try {
    if (conditions.some(({ type }) => type === "create")) await waitCreated(invocation, signal, timeoutMs)
    const result = await find(invocation)
    if (isForDelete) result.ignoreErrors(isNotFound)
    let visited = 0
    await result.visit(async (info) => {
      visited++
      for (const condition of conditions)
        await printer.print(await waitFor(invocation, { info, condition, signal, timeoutMs }), out)
    })
    if (visited === 0 && !isForDelete) throw new Error("no matching resources found")
  } finally {
    timer?.cancel()
  }
}

class TimedOut extends Error {
  override readonly name = "TimedOut"
  constructor(where = "") {
    super(`${TIMED_OUT}${where}`)
  }
}

async function find({ flags: values, args, factory }: WaitInvocation): Promise<Result> {
  const { namespace, explicit } = await factory.namespace()
  if (values.local && args.length > 0) throw missingResource(true)
  const shared: BuilderOptions = {
    namespace,
    defaultNamespace: true,
    allNamespaces: values["all-namespaces"],
    files: filenameOptions(values),
    enforceNamespace: explicit,
    continueOnError: true,
    flatten: true,
  }
  return factory.build(
    values.local
      ? { ...shared, local: true }
      : {
          ...shared,
          args,
          allowEmptySelector: values.all,
          labelSelector: values.selector,
          fieldSelector: values["field-selector"],
          latest: true,
        },
  )
}

/** Looks again and again until an object is there. */
async function waitCreated(invocation: WaitInvocation, signal: AbortSignal, timeoutMs: number): Promise<void> {
  for (;;) {
    let found = false
    try {
      const result = await find(invocation)
      await result.visit(() => {
        found = true
        return Promise.resolve()
      })
    } catch (err) {
      if (isDeadlineExceeded(err)) throw new TimedOut()
      if (!isNotFound(err)) throw err
      found = false
    }
    if (found) return
    if (timeoutMs === 0) throw new TimedOut()
    const { clock, interrupt } = invocation.environment
    try {
      await sleep(clock, CREATED_MS, signal)
    } catch (err) {
      // Upstream does not catch the signal here, so that it ends the program.
      throw interrupt.aborted ? new SilentExit(BY_INTERRUPT) : err
    }
  }
}

interface Waiting {
  readonly info: Info
  readonly condition: Condition
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** Resolves with the object that the condition holds of. @throws Error when it does not within the time */
async function waitFor(invocation: WaitInvocation, waiting: Waiting): Promise<Unstructured> {
  const { info, condition, signal } = waiting
  if (info.name === "") throw new Error("resource name must be provided")
  if (condition.type === "create") return info.loaded
  try {
    return await (condition.type === "delete" ? waitGone(invocation, waiting) : waitMet(invocation, waiting))
  } catch (err) {
    if (err instanceof TimedOut || signal.reason instanceof TimedOut)
      throw new TimedOut(` on ${info.mapping.resource.resource}/${info.name}`)
    throw err
  }
}

async function waitMet({ environment }: WaitInvocation, { info, condition, signal, timeoutMs }: Waiting) {
  if (condition.type !== "check") throw new Error("the condition cannot be checked")
  if (timeoutMs === 0) {
    const object = await info.helper.get(info.namespace, info.name)
    if (condition.isMet(object)) return object
    throw new Error(`condition not met for ${info.objectName}`)
  }
  for await (const event of objectEvents(info, { environment, signal })) {
    if (event.type === "SYNCED" && event.object === undefined) throw notFound(info)
    // After the end of the object, another one of the name may come.
    if (event.type === "SYNCED" || event.type === "DELETED") continue
    if (condition.isMet(event.object)) return event.object
  }
  throw new TimedOut()
}

async function waitGone({ environment }: WaitInvocation, { info, signal, timeoutMs }: Waiting): Promise<Unstructured> {
  let object: Unstructured
  try {
    object = await info.helper.get(info.namespace, info.name)
  } catch (err) {
    if (isNotFound(err)) return info.loaded
    throw err
  }
  if (timeoutMs === 0) throw new Error(`condition not met for ${info.objectName}`)
  for await (const event of objectEvents(info, { environment, signal }))
    if (event.type === "DELETED" || (event.type === "SYNCED" && event.object === undefined)) return object
  throw new TimedOut()
}

/** The error of a server for an object that is gone. */
function notFound({ mapping, name }: Info): StatusError {
  const { group, resource } = mapping.resource
  const what = group === "" ? resource : `${resource}.${group}`
  return new StatusError({
    status: "Failure",
    reason: "NotFound",
    code: 404,
    message: `${what} ${goQuoted(name)} not found`,
  })
}
