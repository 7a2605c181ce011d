import { errorMessage } from "../../../errors/error-message.ts"
import { command, type Invocation } from "../../command/command.ts"
import { stringFlag } from "../../command/flag.ts"
import { attachablePod } from "../../polymorphic/attachable-pod.ts"
import { findContainer, findOrDefault } from "../../polymorphic/containers.ts"
import type { Container, Pod } from "../../polymorphic/pod.ts"
import { parseDetachKeys, untilDetached } from "../../remote/detach-keys.ts"
import { inRawMode, runSession } from "../../remote/remote-session.ts"
import { setUpTerminal } from "../../remote/terminal.ts"
import { pathSegment } from "../../rest/rest-client.ts"
import { sessionFlags } from "./exec.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

const flags = {
  ...sessionFlags(),
  "detach-keys": stringFlag("ctrl-p,ctrl-q", "The keys that end the session, and not the container"),
}

type AttachInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/attach/attach.go. */
export const attachCommand = command({
  use: "attach (POD | TYPE/NAME) -c CONTAINER",
  noFlagsInUse: true,
  short: "Attach to a running container",
  long: "Attach to a process that is already running inside an existing container.",
  example: `
# Print what the pod mypod prints from now on, of the container of the annotation
# kubectl.kubernetes.io/default-container, or of its first one
kubectl attach mypod

# Print what the container ruby-container of the pod mypod prints
kubectl attach mypod -c ruby-container

# Use the shell that runs in the container ruby-container of the pod mypod from this terminal
kubectl attach mypod -c ruby-container -i -t

# Print what the first pod of the replica set nginx prints
kubectl attach rs/nginx`,
  flags,
  async run(invocation) {
    const { flags: values, factory, errOut } = invocation
    const pod = await podOf(invocation)
    let container
    try {
      container = await findOrDefault(pod, values.container, values.quiet, errOut)
    } catch (err) {
      throw new Error(`cannot attach to the container: ${errorMessage(err)}`, { cause: err })
    }
    if (values.tty && container.tty !== true && !values.quiet)
      await errOut.write(`error: Unable to use a TTY - container ${container.name} did not allocate one\n`)
    await attach(invocation, { factory, pod, container, detachKeys: values["detach-keys"] })
  },
})

async function podOf({ flags: values, args, factory }: AttachInvocation): Promise<Pod> {
  const timeoutMs = values["pod-running-timeout"]
  const [first, second] = args
  if (first === undefined) throw new Error("at least 1 argument is required for attach")
  if (args.length > 2)
    throw new Error(
      `expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw ${args.length}: [${args.join(" ")}]`,
    )
  if (timeoutMs <= 0) throw new Error("--pod-running-timeout must be higher than zero")
  const { namespace } = await factory.namespace()
  const result = await factory.build({
    names: [second ?? first],
    scheme: KUBECTL_SCHEME,
    defaultType: second === undefined ? "pods" : first,
    namespace,
    defaultNamespace: true,
  })
  const pod = await attachablePod(factory, await result.object(), timeoutMs)
  const phase = pod.status?.phase
  if (phase === "Succeeded" || phase === "Failed")
    throw new Error(`cannot attach a container in a completed pod; current phase is ${phase}`)
  return pod
}

/** Joins the streams of this program with those of a container. */
export async function attach(
  {
    flags,
    environment,
    out,
    errOut,
  }: Pick<
    Invocation<Pick<ReturnType<typeof sessionFlags>, "stdin" | "quiet">>,
    "flags" | "environment" | "out" | "errOut"
  >,
  {
    factory,
    pod,
    container,
    detachKeys,
  }: {
    readonly factory: AttachInvocation["factory"]
    readonly pod: Pod
    readonly container: Container
    readonly detachKeys: string
  },
): Promise<void> {
  const { stdin, terminal } = await setUpTerminal(
    environment,
    { interactive: flags.stdin, tty: container.tty === true, quiet: flags.quiet },
    errOut,
  )
  const isRaw = terminal !== undefined
  if (!flags.quiet)
    await errOut.write(
      "All commands and output from this session will be recorded in container logs, including credentials and sensitive information passed through the command prompt.\nIf you don't see a command prompt, try pressing enter.\n",
    )
  const { name = "", namespace = "" } = pod.metadata ?? {}
  const path = `/api/v1/namespaces/${pathSegment(namespace)}/pods/${pathSegment(name)}/attach`
  const query = {
    container: container.name,
    stdin: flags.stdin ? "true" : undefined,
    stdout: "true",
    stderr: isRaw ? undefined : "true",
    tty: isRaw ? "true" : undefined,
  }
  const input = isRaw && stdin !== undefined ? untilDetached(stdin, parseDetachKeys(detachKeys)) : stdin
  const streams = { stdin: input, stdout: out, stderr: isRaw ? undefined : errOut, terminal }
  const run = () => runSession(factory, path, query, streams)
  await (isRaw ? inRawMode(environment.stdin, run) : run())
  if (flags.quiet || !flags.stdin || !isRaw) return
  const again = `'kubectl attach ${name} -c ${container.name} -n ${namespace} -i -t'`
  const isEphemeral = findContainer(pod, container.name)?.path.startsWith("spec.ephemeralContainers") === true
  await out.write(
    isEphemeral
      ? `Session ended, the ephemeral container will not be restarted but may be reattached using ${again} if it is still running\n`
      : `Session ended, resume using ${again} command\n`,
  )
}
