import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { sleep } from "../../../../pkg/clock/clock.ts"
import { containerNamed, isSidecar } from "../../model/containers.ts"
import type { KubeletContext } from "../../context.ts"
import { runHook } from "../../container/hooks.ts"
import type { RuntimeCache } from "../../pleg/runtime-cache.ts"
import { isRunning, type RuntimeContainer, type RuntimePod } from "../../model/runtime-pod.ts"
import { unlessAborted } from "../../../../pkg/flow/unless-aborted.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"

/**
 * The shortest grace period of a container. Source: pkg/kubelet/kuberuntime/kuberuntime_container.go
 * minimumGracePeriodInSeconds.
 */
const MIN_GRACE_SECONDS = 2

export interface KillRequest {
  /** Undefined for a pod that the API no longer has, whose hooks are unknown. */
  readonly pod: Pod | undefined
  readonly run: RuntimeContainer
  readonly graceSeconds: number
  /** The message of the event; "Stopping container web" unless given. */
  readonly message?: string | undefined
  readonly podIp: string | undefined
  /** Ends the wait, but not the termination: a shorter grace period follows. */
  readonly signal: AbortSignal
}

/**
 * Runs the preStop hook, stops the container with its grace period, and kills it after that. Resolves when it has
 * ended.
 */
export async function killContainer(
  context: KubeletContext,
  cache: RuntimeCache,
  { pod, run, graceSeconds, message, podIp, signal }: KillRequest,
): Promise<void> {
  const { events, runtime, clock } = context
  const of = pod === undefined ? undefined : containerNamed(pod, run.name)
  if (pod !== undefined)
    events.event(pod, "Normal", "Killing", message ?? `Stopping container ${run.name}`, of?.fieldPath)
  const began = clock.monotonic()
  const preStop = of?.container.lifecycle?.preStop
  if (preStop !== undefined && graceSeconds > 0 && run.state === "running") {
    const late = new AbortController()
    const timer = clock.setTimeout(() => late.abort(new Error("the grace period is over")), graceSeconds * 1000)
    try {
      await runHook(context, {
        pod: pod!,
        container: of!.container,
        containerId: run.id,
        handler: preStop,
        podIp,
        signal: AbortSignal.any([signal, late.signal]),
      })
    } catch (err) {
      if (!signal.aborted && !late.signal.aborted) {
        events.event(pod!, "Warning", "FailedPreStopHook", "PreStopHook failed", of!.fieldPath)
        context.log.debug("PreStop hook failed", { pod: pod!.metadata.name, container: run.name, err })
      }
    } finally {
      timer.cancel()
    }
  }
  const left = Math.max(MIN_GRACE_SECONDS, Math.ceil(graceSeconds - (clock.monotonic() - began) / 1000))
  await unlessAborted(
    runtime.containers.stopContainer(run.id, left, { timeoutMs: (left + 120) * 1000, signal }),
    signal,
  )
  await cache.refreshContainer(run.id, run.sandboxId)
}

export interface KillPodRequest {
  readonly pod: Pod | undefined
  readonly runtime: RuntimePod
  readonly graceSeconds: number
  readonly signal: AbortSignal
}

/**
 * Ends all containers of the pod and then its sandboxes: first all containers except sidecars, at once; then sidecars
 * in the reverse order of their start, with the rest of the grace period. Resolves when all have ended; throws when the
 * runtime fails.
 */
export async function killPod(
  context: KubeletContext,
  cache: RuntimeCache,
  { pod, runtime, graceSeconds, signal }: KillPodRequest,
): Promise<void> {
  const { clock } = context
  const deadline = clock.monotonic() + graceSeconds * 1000
  const podIp = runtime.sandboxes[0]?.ips[0]
  const sidecars = (pod?.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name)
  const alive = runtime.containers.filter(({ state }) => state === "running" || state === "unknown")
  const kill = (run: RuntimeContainer, grace: number) =>
    killContainer(context, cache, { pod, run, graceSeconds: grace, podIp, signal })
  await Promise.all(alive.filter(({ name }) => !sidecars.includes(name)).map((run) => kill(run, graceSeconds)))
  for (const name of sidecars.toReversed()) {
    for (const run of alive.filter((container) => container.name === name))
      await kill(run, Math.max(0, Math.ceil((deadline - clock.monotonic()) / 1000)))
  }
  await Promise.all(
    runtime.sandboxes.map(async ({ id, ready }) => {
      if (!ready) return
      await context.runtime.containers.stopPodSandbox(id)
      await cache.refreshSandbox(id)
    }),
  )
}

/**
 * Delay before the runtime is asked again; it doubles. Source of the longest: backOffPeriod of pkg/kubelet/kubelet.go.
 * Differs from upstream, which always waits that long: a runtime that is being restarted is back in a second or two.
 */
const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 10_000

/**
 * Ends a pod as `killPod` does, and asks a runtime that fails again until nothing runs any more. `next` returns the
 * request as it is then: the pod and its grace period may have changed. @throws the reason of the signal when it aborts
 */
export async function killUntilEnded(
  context: KubeletContext,
  cache: RuntimeCache,
  next: () => KillPodRequest & { readonly pod: Pod },
): Promise<void> {
  let waitMs = FIRST_RETRY_MS
  for (let request = next(); isRunning(request.runtime); request = next()) {
    const { pod, signal } = request
    try {
      await killPod(context, cache, request)
      // A runtime may say that all has stopped, and still show it running.
      if (!isRunning(next().runtime)) return
    } catch (err) {
      signal.throwIfAborted()
      const message = `error killing pod: ${errorMessage(err)}`
      context.events.event(pod, "Warning", "FailedKillPod", message)
    }
    await sleep(context.clock, waitMs, signal).catch(() => undefined)
    waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)
    signal.throwIfAborted()
  }
}
