import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { canonicalTime } from "../../../apimachinery/scalars/time.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, durationFlag, int64Flag, intFlag, stringFlag } from "../../command/flag.ts"
import { selectorFlag } from "../../command/shared-flags.ts"
import { isNotFound } from "../../errors/status-error.ts"
import { logSources } from "../../polymorphic/log-sources.ts"
import { isList, type Unstructured } from "../../rest/json.ts"
import { printLog, type LogStreamOptions } from "./log-stream.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

const USE = "logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]"
const TIMEOUT_MS = 20_000
/** How many lines of each pod are printed where a selector names the pods. */
const SELECTOR_TAIL = 10

const flags = {
  "all-pods": boolFlag(false, "Print the logs of all pods. Sets --prefix."),
  "all-containers": boolFlag(false, "Print the logs of all containers of the pods."),
  follow: boolFlag(false, "Go on printing what comes.", { shorthand: "f" }),
  timestamps: boolFlag(false, "Print the time of each line"),
  "limit-bytes": int64Flag(0, "The most bytes of the log to print. No limit by default."),
  previous: boolFlag(false, "If true, print the log of the container's instance before, if there was one.", {
    shorthand: "p",
  }),
  tail: int64Flag(-1, "How many of the last lines to print. -1 for all without a selector, and 10 with one."),
  "ignore-errors": boolFlag(false, "Go on with other logs after an error."),
  "since-time": stringFlag(
    "",
    "Print only what is newer than a date (RFC3339). All by default. Not together with --since.",
  ),
  since: durationFlag(
    0,
    "Print only what is newer than a duration like 5s, 2m, or 3h. All by default. Not together with --since-time.",
  ),
  container: stringFlag("", "Print the log of this container", { shorthand: "c" }),
  "insecure-skip-tls-verify-backend": boolFlag(
    false,
    "Do not check who the kubelet is that sends the log. An attacker could send another one. Useful when the certificates of your kubelets have expired.",
  ),
  "pod-running-timeout": durationFlag(
    TIMEOUT_MS,
    "How long (like 5s, 2m, or 3h, more than zero) to wait until a pod runs",
  ),
  ...selectorFlag(),
  "max-log-requests": intFlag(5, "The most logs that are followed at once with a selector. 5 by default."),
  prefix: boolFlag(false, "Print before each line of which pod and container it is"),
}

type LogsInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/logs/logs.go. */
export const logsCommand = command({
  use: USE,
  noFlagsInUse: true,
  short: "Print the logs for a container in a pod",
  long: `
Print the log of a container of a pod or of another resource. If the pod has one container, its name may be left out.`,
  example: `
# Print the log of the pod nginx, which has one container
kubectl logs nginx

# Print it with the names of pod and container before each line
kubectl logs nginx --prefix

# Print 500 bytes of it
kubectl logs nginx --limit-bytes=500

# Print it, and wait up to 20 seconds until the pod runs
kubectl logs nginx --pod-running-timeout=20s

# Print the logs of all containers of the pod nginx
kubectl logs nginx --all-containers=true

# Print the logs of all pods of the deployment nginx
kubectl logs deployment/nginx --all-pods=true

# Print the logs of all containers of the pods with the label app=nginx
kubectl logs -l app=nginx --all-containers=true

# Print the log that the container ruby of the pod web-1 had before it was restarted
kubectl logs -p -c ruby web-1

# Follow the log of the container ruby of the pod web-1
kubectl logs -f -c ruby web-1

# Follow the logs of all containers of the pods with the label app=nginx
kubectl logs -f -l app=nginx --all-containers=true

# Print the last 20 lines of the pod nginx
kubectl logs --tail=20 nginx

# Print what the pod nginx wrote in the last hour
kubectl logs --since=1h nginx

# Print the log of a node whose kubelet has an expired certificate
kubectl logs --insecure-skip-tls-verify-backend nginx

# Print the log of the first container of the job hello
kubectl logs job/hello

# Print the log of the container nginx-1 of the deployment nginx
kubectl logs deployment/nginx -c nginx-1`,
  flags,
  async run(invocation) {
    const { flags: values, args, factory, errOut } = invocation
    checkArgs(invocation)
    const timeoutMs = values["pod-running-timeout"]
    if (timeoutMs <= 0) throw new Error("--pod-running-timeout must be higher than zero")
    const query = queryOf(invocation)
    const object = await objectOf(invocation)
    const container = args[1] ?? values.container
    check(invocation, container)
    const allPods = values["all-pods"]
    const sources = await logSources(object, {
      factory,
      errOut,
      container,
      allContainers: values["all-containers"],
      allPods,
      timeoutMs,
    })
    const isParallel = values.follow && sources.length > 1
    const most = values["max-log-requests"]
    if (isParallel && sources.length > most)
      throw new Error(
        `you are attempting to follow ${sources.length} log streams, but maximum allowed concurrency is ${most}, use --max-log-requests to increase the limit`,
      )
    const options: LogStreamOptions = {
      environment: invocation.environment,
      client: await factory.client(),
      out: invocation.out,
      errOut,
      query,
      follow: values.follow,
      ignoreErrors: values["ignore-errors"],
      prefix: values.prefix || allPods,
      wholeLines: isParallel,
      patienceMs: timeoutMs,
    }
    if (isParallel) await Promise.all(sources.map((source) => printLog(source, options)))
    else for (const source of sources) await printLog(source, options)
  },
})

function checkArgs({ flags: values, args, usageError }: LogsInvocation): void {
  const usage = `expected '${USE}'.\nPOD or TYPE/NAME is a required argument for the logs command`
  if ((args.length === 0 && values.selector === "") || args.length > 2) throw usageError(usage)
  if (args.length === 1 && values.selector !== "") throw usageError("only a selector (-l) or a POD name is allowed")
}

/** The parameters of the request for a log. */
function queryOf({ flags: values, changed }: LogsInvocation): LogStreamOptions["query"] {
  const tail =
    values.selector !== "" && values.tail === -1 && !changed("tail")
      ? SELECTOR_TAIL
      : values.tail === -1
        ? undefined
        : values.tail
  const text = (value: number | undefined) => (value === undefined ? undefined : String(value))
  const flag = (value: boolean) => (value ? "true" : undefined)
  return {
    follow: flag(values.follow),
    previous: flag(values.previous),
    timestamps: flag(values.timestamps),
    insecureSkipTLSVerifyBackend: flag(values["insecure-skip-tls-verify-backend"]),
    sinceTime: values["since-time"] === "" ? undefined : timeText(values["since-time"]),
    sinceSeconds: values.since === 0 ? undefined : text(Math.round(values.since / 1000)),
    limitBytes: values["limit-bytes"] === 0 ? undefined : text(values["limit-bytes"]),
    tailLines: text(tail),
  }
}

async function objectOf({ flags: values, args, factory, errOut }: LogsInvocation): Promise<Unstructured> {
  const { namespace } = await factory.namespace()
  const [name] = args
  const result = await factory.build({
    ...(name === undefined ? { args: ["pods"] } : { names: [name], defaultType: "pods" }),
    scheme: KUBECTL_SCHEME,
    namespace,
    defaultNamespace: true,
    labelSelector: values.selector,
    singleResourceType: true,
  })
  let infos
  try {
    infos = await result.infos()
  } catch (err) {
    if (!isNotFound(err)) throw err
    throw new Error(`error from server (NotFound): ${err.message} in namespace ${JSON.stringify(namespace)}`, {
      cause: err,
    })
  }
  if (values.selector === "" && infos.length !== 1) throw new Error("expected a resource")
  const object = infos[0]!.loaded
  if (values.selector !== "" && isList(object) && object.items.length === 0)
    await errOut.write(`No resources found in ${namespace} namespace.\n`)
  return object
}

function check({ flags: values, args, changed }: LogsInvocation, container: string): void {
  if (values["since-time"] !== "" && values.since !== 0)
    throw new Error("at most one of `sinceTime` or `sinceSeconds` may be specified")
  if (values["all-containers"] && container !== "")
    throw new Error(`--all-containers=true should not be specified with container name ${container}`)
  if (changed("container") && args.length === 2)
    throw new Error("only one of -c or an inline [CONTAINER] arg is allowed")
  if (values["limit-bytes"] < 0) throw new Error("--limit-bytes must be greater than 0")
  if (values.since < 0) throw new Error("--since must be greater than 0")
  if (values.tail < -1) throw new Error("--tail must be greater than or equal to -1")
}

/** @throws Error in the words of Go's time.Parse for a text that is no time */
function timeText(text: string): string {
  const time = canonicalTime(text)
  if (time !== undefined) return time
  const layout = "2006-01-02T15:04:05Z07:00"
  throw new Error(`parsing time ${goQuoted(text)} as "${layout}": cannot parse ${goQuoted(text)} as "2006"`)
}
