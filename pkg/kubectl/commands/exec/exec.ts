import { command } from "../../command/command.ts"
import { boolFlag, durationFlag, stringFlag, stringSliceFlag } from "../../command/flag.ts"
import { attachablePod } from "../../polymorphic/attachable-pod.ts"
import { findContainer, findOrDefault, notValid } from "../../polymorphic/containers.ts"
import { inRawMode, runSession } from "../../remote/remote-session.ts"
import { setUpTerminal } from "../../remote/terminal.ts"
import { isList } from "../../rest/json.ts"
import { pathSegment } from "../../rest/rest-client.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

const TIMEOUT_MS = 60_000

/** The flags that `exec` and `attach` have. */
export const sessionFlags = () => ({
  "pod-running-timeout": durationFlag(
    TIMEOUT_MS,
    "How long (like 5s, 2m, or 3h, more than zero) to wait until a pod runs",
  ),
  container: stringFlag(
    "",
    "The container. Without it the one of the annotation kubectl.kubernetes.io/default-container is used, or the first one of the pod",
    { shorthand: "c" },
  ),
  stdin: boolFlag(false, "Pass the input to the container", { shorthand: "i" }),
  tty: boolFlag(false, "The input is a terminal", { shorthand: "t" }),
  quiet: boolFlag(false, "Print nothing but what the session prints", { shorthand: "q" }),
})

/** Source: kubectl pkg/cmd/exec/exec.go. */
export const execCommand = command({
  use: "exec (POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [args...]",
  noFlagsInUse: true,
  short: "Execute a command in a container",
  long: "Execute a command in a container.",
  example: `
# Print what the command 'date' prints in the pod mypod, in its first container
kubectl exec mypod -- date

# Print what it prints in the container ruby-container of the pod mypod
kubectl exec mypod -c ruby-container -- date

# Use 'bash' in the container ruby-container of the pod mypod from this terminal
kubectl exec mypod -c ruby-container -i -t -- bash -il

# List /usr in the first container of the pod mypod, the newest first
# Flags after the two dashes (--) are those of the command
# Do not put the command and its flags into quotes: write ls -t /usr, not "ls -t /usr"
kubectl exec mypod -i -t -- ls -t /usr

# Print what 'date' prints in the first pod of the deployment mydeployment
kubectl exec deploy/mydeployment -- date

# Print what it prints in the first pod of the service myservice
kubectl exec svc/myservice -- date`,
  flags: {
    ...sessionFlags(),
    filename: stringSliceFlag([], "The file, folder or address of files with the resource", { shorthand: "f" }),
  },
  async run({ flags, args, argsBeforeDash, factory, environment, out, errOut, usageError }) {
    const name = args.length > 0 && argsBeforeDash !== 0 ? args[0]! : ""
    const words = argsBeforeDash > -1 ? args.slice(argsBeforeDash) : []
    if (argsBeforeDash === -1 && (args.length > 1 || (args.length > 0 && flags.filename.length > 0)))
      throw usageError("exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead")
    const timeoutMs = flags["pod-running-timeout"]
    if (timeoutMs <= 0) throw usageError("--pod-running-timeout must be higher than zero")
    if (name === "" && flags.filename.length === 0) throw new Error("pod, type/name or --filename must be specified")
    if (words.length === 0) throw new Error("you must specify at least one command for the container")
    const { namespace, explicit } = await factory.namespace()
    const result = await factory.build({
      files: { filenames: flags.filename, kustomize: "", recursive: false },
      scheme: KUBECTL_SCHEME,
      ...(name === "" ? {} : { names: [name], defaultType: "pods" }),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
    })
    const object = await result.object()
    if (isList(object)) throw new Error("cannot exec into multiple objects at a time")
    const pod = await attachablePod(factory, object, timeoutMs)
    const phase = pod.status?.phase
    if (phase === "Succeeded" || phase === "Failed")
      throw new Error(`cannot exec into a container in a completed pod; current phase is ${phase}`)
    if (flags.container !== "" && findContainer(pod, flags.container) === undefined)
      throw notValid(flags.container, pod)
    const container =
      flags.container === "" ? (await findOrDefault(pod, "", flags.quiet, errOut)).name : flags.container
    const { stdin, terminal } = await setUpTerminal(
      environment,
      { interactive: flags.stdin, tty: flags.tty, quiet: flags.quiet },
      errOut,
    )
    const isRaw = terminal !== undefined
    const { name: podName = "", namespace: podNamespace = "" } = pod.metadata ?? {}
    const path = `/api/v1/namespaces/${pathSegment(podNamespace)}/pods/${pathSegment(podName)}/exec`
    const query = {
      container,
      command: words,
      stdin: flags.stdin ? "true" : undefined,
      stdout: "true",
      stderr: isRaw ? undefined : "true",
      tty: isRaw ? "true" : undefined,
    }
    const run = () =>
      runSession(factory, path, query, { stdin, stdout: out, stderr: isRaw ? undefined : errOut, terminal })
    await (isRaw ? inRawMode(environment.stdin, run) : run())
  },
})
