import { ApiError, badRequest, notFound } from "../../../pkg/apimachinery/errors.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import type { LogOptions, NodeConnector, PodTarget } from "../../../pkg/component/node-connector.ts"
import { joinPortForward, joinRemoteCommand } from "../../../pkg/streaming/join.ts"
import type { RemoteCommandClient } from "../../../pkg/streaming/remote-command-client.ts"
import type { CommandStreams, RemoteCommandSession } from "../../../pkg/streaming/remote-command.ts"
import { failureStatus } from "../../../pkg/streaming/status.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { KubeletContext } from "../context.ts"
import { containersOf } from "../model/containers.ts"
import { readLog } from "../logs/read.ts"
import type { PodWorkers } from "../pod/pod-workers.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import type { RuntimeContainer } from "../model/runtime-pod.ts"
import { attached } from "./attached.ts"
import { CommandPlaces } from "./command-places.ts"
import { withInputApart } from "./input-apart.ts"
import { kubeletServer } from "../server/server.ts"
import type { StatusManager } from "../status/status-manager.ts"
import type { VolumeUsages } from "../stats/volume-usage.ts"

export interface ConnectorParts {
  readonly context: KubeletContext
  readonly cache: RuntimeCache
  readonly workers: PodWorkers
  readonly status: StatusManager
  readonly volumeUsages: VolumeUsages
  /** Aborts when the kubelet stops. */
  readonly stopping: AbortController
  /** Why the kubelet does not do its work, or nothing. */
  problem(): string | undefined
}

/**
 * Logs, exec, attach and port forwarding of the pods of this node, and the kubelet's own paths. Source:
 * pkg/kubelet/server/server.go, pkg/kubelet/kubelet_pods.go.
 */
export function nodeConnector({
  context,
  cache,
  workers,
  status,
  volumeUsages,
  stopping,
  problem,
}: ConnectorParts): NodeConnector {
  const { runtime, clock } = context
  const places = new CommandPlaces({ cache, processes: (containerId) => runtime.streams.processes(containerId) })

  /** A static pod is known to the API by the uid of its mirror. */
  const podOf = ({ uid, namespace, name }: PodTarget): Pod => {
    const pod = (
      workers.get(uid) ??
      workers.all().find(({ identity }) => identity.namespace === namespace && identity.name === name)
    )?.pod
    if (pod === undefined) throw notFound(Pod, name)
    return pod
  }
  const runsOf = (pod: Pod, container: string): readonly RuntimeContainer[] => {
    if (!containersOf(pod).some((of) => of.container.name === container))
      throw badRequest(`container "${container}" in pod "${pod.metadata.name}" is not available`)
    return (cache.get(pod.metadata.uid!)?.containers ?? []).filter(({ name }) => name === container)
  }
  const runningOf = (pod: Pod, container: string): RuntimeContainer => {
    const [run] = runsOf(pod, container)
    if (run?.state !== "running")
      throw new ApiError("InternalError", `unable to upgrade connection: container not found ("${container}")`)
    return run
  }

  async function join(
    command: RemoteCommandClient,
    accept: () => Promise<RemoteCommandSession | undefined>,
    seen: (command: RemoteCommandClient) => RemoteCommandClient = (unchanged) => unchanged,
  ): Promise<void> {
    const session = await accept()
    if (session === undefined) return command.close()
    // In one turn: what comes must find its reader.
    await joinRemoteCommand(session, seen(command), clock, stopping.signal)
  }

  /**
   * Resolves to true when a container has ended, of which the runtime tells a little later than its streams end; to
   * false when it has not within `limitMs` milliseconds, or before `left` aborts.
   */
  async function hasEnded(
    { id, pod }: RuntimeContainer,
    { left, limitMs }: { readonly left?: AbortSignal; readonly limitMs?: number | undefined },
  ): Promise<boolean> {
    const isOver = () => cache.container(id)?.state !== "running"
    if (isOver()) return true
    if (left?.aborted === true) return false
    return new Promise((resolve) => {
      const settle = (ended: boolean) => {
        forget()
        left?.removeEventListener("abort", leave)
        timer?.cancel()
        resolve(ended)
      }
      const forget = cache.on((uid) => {
        if (uid === pod.uid && isOver()) settle(true)
      })
      const leave = () => settle(false)
      left?.addEventListener("abort", leave)
      const timer = limitMs === undefined ? undefined : clock.setTimeout(() => settle(false), limitMs)
    })
  }

  /** Whether a run that was attached to when it was young was over, with all that it printed, before anybody listened. */
  async function wasShort(run: RuntimeContainer, attachedAt: number): Promise<boolean> {
    if (attachedAt - run.startedAt > SHORT_MS || ((await runtime.files.size(run.logPath)) ?? 0) === 0) return false
    return hasEnded(run, { limitMs: END_TOLD_MS })
  }

  /** Attaches to a container: to its input in a session of its own, see `withInputApart`. */
  async function attachTo(
    run: RuntimeContainer,
    streams: CommandStreams,
    inputEndsOutput: boolean,
  ): Promise<RemoteCommandClient> {
    const connected = async (part: CommandStreams) => {
      const { stdin, stdout, stderr, tty } = part
      const url = await orApiError(runtime.containers.attach({ containerId: run.id, stdin, stdout, stderr, tty }))
      return runtime.streams.attach(url, part)
    }
    const wanted = { ...streams, stderr: streams.stderr && !streams.tty }
    if (!wanted.stdin || (!wanted.stdout && !wanted.stderr)) return connected(wanted)
    const output = await connected({ ...wanted, stdin: false })
    try {
      const input = await connected({ ...wanted, stdout: false, stderr: false })
      return withInputApart(output, input, {
        inputEndsOutput,
        hasEnded: (left, limitMs) => hasEnded(run, { left, limitMs }),
      })
    } catch (err) {
      output.close()
      throw err
    }
  }

  const logs: NodeConnector["logs"] = async (target, options, signal) => {
    const pod = podOf(target)
    const run = runForLogs(pod, options, runsOf(pod, options.container), status.status(pod))
    return readLog({
      files: runtime.files,
      path: run.logPath,
      options,
      clock,
      signal,
      isLive: () => cache.container(run.id)?.state === "running",
      onChange: (listener) =>
        cache.on((uid) => {
          if (uid === pod.metadata.uid) listener()
        }),
    })
  }

  const { network } = runtime
  return {
    logs,
    ...(network.fetch === undefined ? {} : { fetch: network.fetch.bind(network) }),
    proxy: kubeletServer({ context, cache, workers, status, volumeUsages, logs, problem }),
    async exec(target, { container, command, streams }, accept) {
      const { stdin, stdout, stderr, tty } = streams
      const { id: containerId, pod } = runningOf(podOf(target), container)
      const started = await places.starting(pod.uid, async () => {
        const wanted = { containerId, cmd: command, stdin, stdout, stderr: stderr && !tty, tty }
        const url = await orApiError(runtime.containers.exec(wanted))
        return runtime.streams.exec(url, streams, containerId)
      })
      await join(started, accept)
    },
    async attach(target, { container, streams }, accept) {
      const attachedAt = clock.now()
      const pod = podOf(target)
      const run = runningOf(pod, container)
      const closesInput = containersOf(pod).some(
        (of) => of.container.name === container && of.container.stdinOnce === true && of.container.tty !== true,
      )
      const inputEndsOutput = runtime.streams.inputEndsOutput && !closesInput
      const command = await attachTo(run, streams, inputEndsOutput)
      const missed = () => wasShort(run, attachedAt)
      await join(command, accept, (whole) => attached(whole, { clock, inputEndsOutput, missed }))
    },
    async portForward(target, accept) {
      const pod = podOf(target)
      const sandbox = cache.get(pod.metadata.uid!)?.sandboxes.find(({ ready }) => ready)
      if (sandbox === undefined)
        throw new ApiError(
          "InternalError",
          `unable to forward port because pod is not running. Current status=${status.status(pod).phase ?? "Pending"}`,
        )
      const client = await runtime.streams.portForward(() => orApiError(runtime.containers.portForward(sandbox.id, [])))
      const session = await accept()
      if (session === undefined) return client.close()
      await joinPortForward(session, client)
    },
  }
}

/** Who attaches to a container that has not run for longer wants to see all of it. In milliseconds. */
const SHORT_MS = 5000
/** On a busy machine the runtime tells of the end of a container seconds after its streams have ended. */
const END_TOLD_MS = 5000

async function orApiError<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (err) {
    throw new ApiError("InternalError", failureStatus(errorMessage(err)).message!, undefined, { cause: err })
  }
}

/**
 * The run whose log is meant. Source: pkg/kubelet/kubelet_pods.go validateContainerLogStatus. @throws ApiError
 * BadRequest
 */
function runForLogs(
  pod: Pod,
  { container, previous }: Pick<LogOptions, "container" | "previous">,
  runs: readonly RuntimeContainer[],
  status: Pod["status"],
): RuntimeContainer {
  const name = pod.metadata.name ?? ""
  // A run that is made but not started has written nothing: until then, the run before it is the last one.
  const [newest, before] = runs.filter(({ state, logPath }) => state !== "created" && logPath !== "")
  if (previous) {
    // A container that waits for its next start has ended as its newest run did.
    const ended =
      newest?.state === "exited" &&
      statusOf(status, container)?.lastState.terminated?.containerID === `containerd://${newest.id}`
        ? newest
        : before
    if (ended === undefined) throw badRequest(`previous terminated container "${container}" in pod "${name}" not found`)
    return ended
  }
  if (newest !== undefined) return newest
  const known = statusOf(status, container)
  // The node has rejected the pod.
  if (known === undefined && (status.phase === "Failed" || status.phase === "Succeeded"))
    throw badRequest(`container "${container}" in pod "${name}" is not available`)
  const reason = known?.state.waiting?.reason ?? "ContainerCreating"
  const why =
    reason === "ErrImagePull"
      ? "image can't be pulled"
      : reason === "ImagePullBackOff"
        ? "trying and failing to pull image"
        : reason
  throw badRequest(`container "${container}" in pod "${name}" is waiting to start: ${why}`)
}

const statusOf = (status: Pod["status"], name: string): ContainerStatus | undefined =>
  [
    ...(status.containerStatuses ?? []),
    ...(status.initContainerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ].find((of) => of.name === name)
