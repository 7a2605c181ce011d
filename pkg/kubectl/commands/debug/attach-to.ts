import { errorMessage } from "../../../errors/error-message.ts"
import { StatusError } from "../../errors/status-error.ts"
import { findOrDefault } from "../../polymorphic/containers.ts"
import { logSources } from "../../polymorphic/log-sources.ts"
import type { ContainerStatus, Pod } from "../../polymorphic/pod.ts"
import { podHelper } from "../../polymorphic/pods-of.ts"
import { objectEvents } from "../../resource/object-events.ts"
import { attach } from "../exec/attach.ts"
import { printLog } from "../logs/log-stream.ts"
import type { Debugging } from "./debug-pods.ts"

/** Waits until a container runs, and attaches to it; prints its log where it has ended. */
export async function attachTo(debugging: Debugging, made: Pod, name: string): Promise<void> {
  const { invocation } = debugging
  const { factory, errOut, environment, flags } = invocation
  const pod = await running(debugging, made, name)
  if (statusOf(pod, name)?.state?.terminated !== undefined) return printLogOf(debugging, pod, name)
  try {
    const phase = pod.status?.phase
    if (phase === "Succeeded" || phase === "Failed")
      throw new Error(`cannot attach a container in a completed pod; current phase is ${phase}`)
    const container = await findOrDefault(pod, name, flags.quiet, errOut)
    if (flags.tty && container.tty !== true && !flags.quiet)
      await errOut.write(`error: Unable to use a TTY - container ${name} did not allocate one\n`)
    await attach(invocation, { factory, pod, container, detachKeys: "" })
  } catch (err) {
    if (environment.interrupt.aborted) throw err
    const podName = pod.metadata?.name ?? ""
    await errOut.write(
      `warning: couldn't attach to pod/${podName}, falling back to streaming logs: ${errorMessage(err)}\n`,
    )
    await printLogOf(debugging, pod, name)
  }
}

const statusOf = ({ status }: Pod, name: string): ContainerStatus | undefined =>
  [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find((each) => each.name === name)

/** Returns the pod when the container has started, or has ended already. */
async function running({ invocation }: Debugging, { metadata }: Pod, name: string): Promise<Pod> {
  const { factory, errOut, environment, flags } = invocation
  const { name: podName = "", namespace = "" } = metadata ?? {}
  const watched = { helper: await podHelper(factory), namespace, name: podName }
  const hasStarted = async (pod: Pod): Promise<boolean> => {
    const { state = {} } = statusOf(pod, name) ?? { name }
    if (state.running !== undefined || state.terminated !== undefined) return true
    const message = state.waiting?.message ?? ""
    if (!flags.quiet && message !== "") await errOut.write(`Warning: container ${name}: ${message}\n`)
    return false
  }
  const { interrupt: signal } = environment
  for await (const { type, object } of objectEvents(watched, { environment, signal })) {
    if (type === "DELETED") throw new StatusError({ reason: "NotFound", code: 404, message: 'pods "" not found' })
    if (type !== "SYNCED" && (await hasStarted(object as Pod)))
      return { ...object, kind: "Pod", apiVersion: "v1" } as Pod
  }
  throw signal.reason
}

async function printLogOf({ invocation }: Debugging, pod: Pod, container: string): Promise<void> {
  const { factory, environment, out, errOut } = invocation
  const options = { factory, errOut, container, allContainers: false, allPods: false, timeoutMs: 0 }
  const client = await factory.client()
  for (const source of await logSources(pod, options))
    await printLog(source, {
      environment,
      client,
      out,
      errOut,
      query: {},
      follow: false,
      ignoreErrors: false,
      prefix: false,
      wholeLines: false,
      patienceMs: 0,
    })
}
