import { errorMessage } from "../../../errors/error-message.ts"
import type { Invocation } from "../../command/command.ts"
import { ExitError } from "../../errors/errors.ts"
import { StatusError } from "../../errors/status-error.ts"
import { findOrDefault } from "../../polymorphic/containers.ts"
import type { Pod } from "../../polymorphic/pod.ts"
import { podHelper } from "../../polymorphic/pods-of.ts"
import { objectEvents } from "../../resource/object-events.ts"
import { attach } from "../exec/attach.ts"
import { printLog } from "../logs/log-stream.ts"

/** What is needed to follow the pod that was made. */
export interface Attaching extends Pick<Invocation, "factory" | "environment" | "out" | "errOut"> {
  readonly timeoutMs: number
  readonly stdin: boolean
  readonly tty: boolean
  readonly quiet: boolean
  readonly detachKeys: string
}

const hasEnded = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed"

const isReady = ({ status }: Pod): boolean =>
  status?.phase === "Running" &&
  status.conditions?.some(({ type, status: state }) => type === "Ready" && state === "True") === true

/** Joins the streams of the pod when it is ready, or prints its log. Source: kubectl pkg/cmd/run/run.go (handleAttachPod). */
export async function attachToPod(made: Pod, attaching: Attaching): Promise<void> {
  const pod = await waitForPod(made, attaching, (one) => hasEnded(one) || isReady(one))
  if (hasEnded(pod)) return log(pod, attaching)
  const { factory, environment, out, errOut, timeoutMs, stdin, tty, quiet, detachKeys } = attaching
  try {
    await log(pod, attaching)
  } catch (err) {
    await errOut.write(`warning: couldn't fetch pre-attach logs: ${errorMessage(err)}\n`)
  }
  try {
    const container = await findOrDefault(pod, "", quiet, errOut)
    if (tty && container.tty !== true && !quiet)
      await errOut.write(`error: Unable to use a TTY - container ${container.name} did not allocate one\n`)
    const flags = { "pod-running-timeout": timeoutMs, container: "", stdin, tty, quiet }
    await attach({ flags, environment, out, errOut }, { factory, pod, container, detachKeys })
  } catch (err) {
    if (environment.interrupt.aborted) throw err
    const name = pod.metadata?.name ?? ""
    await errOut.write(
      `warning: couldn't attach to pod/${name}, falling back to streaming logs: ${errorMessage(err)}\n`,
    )
    await log(pod, attaching)
  }
}

/** Waits until the pod has ended, and fails with the exit code of its container. */
export async function exitOf(made: Pod, attaching: Attaching, restartPolicy: string): Promise<void> {
  const pod = await waitForPod(made, attaching, (one) =>
    restartPolicy === "OnFailure" ? one.status?.phase === "Succeeded" : hasEnded(one),
  )
  if (pod.status?.phase === "Succeeded") return
  const { namespace, name } = pod.metadata ?? {}
  const where = `pod ${namespace}/${name}`
  const end = pod.status?.containerStatuses?.[0]?.state?.terminated
  if (end === undefined || end.exitCode === 0) throw new Error(`${where} failed with unknown exit code`)
  throw new ExitError(`${where} terminated (${end.reason ?? ""})\n${end.message ?? ""}`, end.exitCode)
}

async function log(pod: Pod, { factory, environment, out, errOut, quiet, timeoutMs }: Attaching): Promise<void> {
  const { name: container } = await findOrDefault(pod, "", quiet, errOut)
  const source = { namespace: pod.metadata?.namespace ?? "", pod: pod.metadata?.name ?? "", container }
  const options = { follow: false, ignoreErrors: false, prefix: false, wholeLines: false, patienceMs: timeoutMs }
  await printLog(source, { ...options, environment, client: await factory.client(), out, errOut, query: {} })
}

async function waitForPod(
  { metadata }: Pod,
  { factory, environment, timeoutMs }: Attaching,
  isMet: (pod: Pod) => boolean,
): Promise<Pod> {
  const over = new AbortController()
  const timedOut = new Error("timed out waiting for the condition")
  const timer = environment.clock.setTimeout(() => over.abort(timedOut), timeoutMs)
  const signal = AbortSignal.any([over.signal, environment.interrupt])
  const watched = {
    helper: await podHelper(factory),
    namespace: metadata?.namespace ?? "",
    name: metadata?.name ?? "",
  }
  try {
    for await (const { type, object } of objectEvents(watched, { environment, signal })) {
      if (type === "DELETED") throw podGone()
      if (type !== "SYNCED" && isMet(object as Pod)) return object as Pod
    }
    throw timedOut
  } finally {
    timer.cancel()
  }
}

const podGone = (): StatusError =>
  new StatusError({ status: "Failure", reason: "NotFound", code: 404, message: 'pods "" not found' })
