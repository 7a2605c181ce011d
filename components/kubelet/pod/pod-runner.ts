import { formatDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { traced } from "../../../pkg/tracing/tracing.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { Backoff } from "../model/backoff.ts"
import { killContainer, killPod } from "./ending/kill.ts"
import { unlinkLog } from "../logs/container-links.ts"
import { containerHash } from "../model/labels.ts"
import type { PodPlan } from "./plan.ts"
import type { ContainerStart } from "../model/containers.ts"
import { podFolder } from "../model/pod-paths.ts"
import type { Reset } from "../model/restart-all.ts"
import { isRunning, latest, latestExited, type RuntimePod, type RuntimeSandbox } from "../model/runtime-pod.ts"
import { podCgroup, podResources } from "../sandbox/sandbox-config.ts"
import { SandboxMaker, type MadeSandbox, type SandboxParts } from "../sandbox/sandbox-maker.ts"
import { startContainer, type StartParts } from "../container/start-container.ts"
import { NotAttached, StartError, VolumeError } from "../model/start-error.ts"
import type { StartFailure } from "../status/container-status.ts"
import type { MountedVolumes } from "../model/mounted-volume.ts"
import type { PodIdentity } from "../model/pod-identity.ts"

/** What starting containers needs. */
export interface RunnerParts extends StartParts, SandboxParts {
  readonly crashes: Backoff
}

/** Schedules another sync of the pod. */
export interface Waker {
  /** Syncs again as soon as the present sync is done. */
  wake(): void
  /** Syncs again after this many milliseconds at the latest. */
  wakeIn(ms: number): void
}

/** What containers need before they start. */
interface Prepared extends MadeSandbox {
  readonly mounted: MountedVolumes
}

/**
 * A failed step is retried after this time, unless something wakes the worker before. Source: pkg/kubelet/kubelet.go
 * backOffPeriod.
 */
export const RETRY_MS = 10_000
/**
 * The first wait after a volume could not be mounted; it doubles up to RETRY_MS. Source:
 * pkg/util/goroutinemap/exponentialbackoff. Differs from upstream, where it grows to two minutes: nothing tells the
 * kubelet here when a claim is bound.
 */
const FIRST_MOUNT_RETRY_MS = 500
/** After a failed pull the pod is synced again this soon, so that its status shows the backoff. */
const PULL_RETRY_MS = 2_000

const NO_FAILURES: ReadonlyMap<string, StartFailure> = new Map()

/**
 * Carries out the plan of one pod: creates and removes its sandbox, volumes and containers. A failed step is recorded,
 * and retried later. Source: pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod.
 */
export class PodRunner {
  readonly #parts: RunnerParts
  readonly #identity: PodIdentity
  readonly #waker: Waker
  readonly #sandboxes: SandboxMaker
  // The maps exist while they have entries: there are very many pods, nearly all of which never fail.
  #failures: Map<string, StartFailure> | undefined
  /** No sandbox is created before this time of the monotonic clock, after one could not be. */
  #sandboxDue = 0
  #mountRetryMs = FIRST_MOUNT_RETRY_MS
  /** When the containers ended that made all start again, by their names: the runtime no longer has those runs. */
  #causes: Map<string, number> | undefined

  constructor(parts: RunnerParts, identity: PodIdentity, waker: Waker) {
    this.#parts = parts
    this.#identity = identity
    this.#waker = waker
    this.#sandboxes = new SandboxMaker(parts, identity)
  }

  /** Why containers that should run do not run, by their names. */
  get failures(): ReadonlyMap<string, StartFailure> {
    return this.#failures ?? NO_FAILURES
  }

  /** Lets the next sync create a sandbox at once, although the last one failed: the pod or the runtime has changed. */
  retryAtOnce(): void {
    this.#sandboxDue = 0
  }

  forgetFailures(): void {
    this.#failures = undefined
  }

  #fail(container: string, failure: StartFailure): void {
    this.#failures ??= new Map()
    this.#failures.set(container, failure)
  }

  get #runtime(): RuntimePod {
    return this.#parts.cache.of(this.#identity)
  }

  /** Stops and starts containers in the order of the plan. */
  async apply(pod: Pod, plan: PodPlan, signal: AbortSignal): Promise<void> {
    const { context, cache } = this.#parts
    const podIp = this.#runtime.sandboxes[0]?.ips[0]
    if (plan.createSandbox && this.#waitsForSandbox()) return
    if (plan.killPod) {
      if (plan.createSandbox)
        context.events.event(pod, "Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
      if (isRunning(this.#runtime))
        await killPod(context, cache, {
          pod,
          runtime: this.#runtime,
          graceSeconds: pod.spec.terminationGracePeriodSeconds,
          signal,
        })
    }
    await Promise.all(
      plan.kill.map(({ run, message, graceSeconds }) =>
        killContainer(context, cache, {
          pod,
          run,
          message,
          podIp,
          signal,
          graceSeconds: graceSeconds ?? pod.spec.terminationGracePeriodSeconds,
        }),
      ),
    )
    if (plan.start.length === 0) return
    const starts = plan.start.filter((start) => !this.#isBackingOff(pod, start))
    if (starts.length === 0 && !plan.createSandbox) return
    const isNamespaced = plan.createSandbox && pod.spec.hostUsers === false
    if (isNamespaced) context.metrics.containers.startsUserNamespacedPod()
    const prepared = await this.#prepare(pod, plan, signal)
    const allStarted = prepared !== undefined && (await this.#startAll(pod, starts, prepared, signal))
    if (isNamespaced && !allStarted) context.metrics.containers.failedUserNamespacedPod()
  }

  /** Returns whether all containers were started whose turn it was. */
  async #startAll(
    pod: Pod,
    starts: readonly ContainerStart[],
    prepared: Prepared,
    signal: AbortSignal,
  ): Promise<boolean> {
    let failed = false
    for (const start of starts) {
      signal.throwIfAborted()
      const started = await this.#start(pod, start, prepared, signal)
      failed ||= !started
      // The containers behind a failed init container wait; a started sidecar lets the next init container begin.
      if (!started && start.type !== "regular" && start.type !== "ephemeral") break
      if (started && start.type === "sidecar") this.#waker.wake()
    }
    return !failed
  }

  /**
   * Whether the last sandbox failed too recently. The sync may have another cause than the end of the wait: a runtime
   * keeps the remains of a failed sandbox, and every change of them is told. Source: the work queue of
   * pkg/kubelet/pod_workers.go completeWork.
   */
  #waitsForSandbox(): boolean {
    const left = this.#sandboxDue - this.#parts.context.clock.monotonic()
    if (left <= 0 || isRunning(this.#runtime)) return false
    this.#waker.wakeIn(left)
    return true
  }

  /**
   * Stops and removes containers, in this order, so that all start again. Their logs stay until the pod is gone.
   * Source: kuberuntime_manager.go SyncPod, ContainersToReset.
   */
  async reset(pod: Pod, resets: readonly Reset[], signal: AbortSignal): Promise<void> {
    const { context, cache } = this.#parts
    const podIp = this.#runtime.sandboxes[0]?.ips[0]
    for (const { run, isCause } of resets) {
      if (run.state !== "exited")
        await killContainer(context, cache, { pod, run, graceSeconds: 0, message: "killing", podIp, signal })
      await context.runtime.containers.removeContainer(run.id)
      cache.forget(run.id)
      await unlinkLog(context, run)
      this.#failures?.delete(run.name)
      if (isCause) (this.#causes ??= new Map()).set(run.name, run.finishedAt)
      else this.#causes?.delete(run.name)
    }
  }

  /**
   * Whether a container must wait before it is restarted, which is recorded as its failure. Source:
   * kuberuntime_manager.go doBackOff. Differs from upstream: a container that makes all start again waits like one that
   * is started again alone; otherwise a pod could take the node's processors by that.
   */
  #isBackingOff(pod: Pod, { container, fieldPath }: ContainerStart): boolean {
    const { context, crashes } = this.#parts
    const { uid, name, namespace } = this.#identity
    const since = latestExited(this.#runtime, container.name)?.finishedAt ?? this.#causes?.get(container.name)
    if (since === undefined) return false
    const key = `${uid}_${container.name}_${containerHash(container)}`
    const left = crashes.remaining(key, since)
    if (left <= 0) {
      crashes.next(key, since)
      return false
    }
    const shown = `${name}_${namespace}(${uid})`
    if (this.failures.get(container.name)?.reason !== "CrashLoopBackOff") {
      context.events.event(
        pod,
        "Warning",
        "BackOff",
        `Back-off restarting failed container ${container.name} in pod ${shown}`,
        fieldPath,
      )
    }
    this.#fail(container.name, {
      reason: "CrashLoopBackOff",
      message:
        `back-off ${formatDuration(crashes.delay(key))} restarting failed container=${container.name} ` +
        `pod=${shown}`,
    })
    this.#waker.wakeIn(left)
    return true
  }

  /** Prepares volumes, cgroup and sandbox. Undefined when they are not ready yet. */
  async #prepare(pod: Pod, plan: PodPlan, signal: AbortSignal): Promise<Prepared | undefined> {
    const { context, volumes } = this.#parts
    const { files } = context.runtime
    try {
      // The folder comes first, because the remains of a pod are found by it. Source: kubelet_pods.go makePodDataDirs.
      if (plan.createSandbox) await files.makeFolder(podFolder(context.config, this.#identity.uid))
      const [mounted] = await Promise.all([
        traced(context.tracing, "Mount volumes", () => volumes.mount(pod, signal)),
        plan.createSandbox ? this.#ensureCgroup(pod) : undefined,
      ])
      signal.throwIfAborted()
      this.#mountRetryMs = FIRST_MOUNT_RETRY_MS
      if (plan.createSandbox && !(await this.#hasDevices(pod, signal))) {
        this.#waker.wakeIn(RETRY_MS)
        return undefined
      }
      const made =
        plan.sandbox === undefined
          ? await traced(context.tracing, "Create sandbox", () => this.#sandboxes.create(pod, plan.attempt, signal))
          : { sandbox: plan.sandbox, config: await this.#sandboxes.config(pod, plan.attempt) }
      if (made !== undefined && (await this.#isNetworkReady(pod, made.sandbox, signal))) return { mounted, ...made }
      if (made === undefined) this.#sandboxDue = context.clock.monotonic() + RETRY_MS
      this.#waker.wakeIn(RETRY_MS)
      return undefined
    } catch (err) {
      signal.throwIfAborted()
      if (err instanceof NotAttached) {
        this.#waker.wakeIn(RETRY_MS)
        return undefined
      }
      if (!(err instanceof VolumeError)) throw err
      context.events.event(pod, "Warning", "FailedMount", err.message)
      this.#waker.wakeIn(this.#mountRetryMs)
      this.#mountRetryMs = Math.min(this.#mountRetryMs * 2, RETRY_MS)
      return undefined
    }
  }

  async #ensureCgroup(pod: Pod): Promise<void> {
    const { runtime, pidLimits } = this.#parts.context
    const { pod: mostPids } = await pidLimits()
    await runtime.cgroups.ensure(podCgroup(pod), { ...podResources(pod), mostPids })
  }

  /** Whether the devices of the pod's claims are prepared now. */
  async #hasDevices(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { context, dra } = this.#parts
    try {
      await traced(context.tracing, "Prepare devices", () => dra.prepare(pod))
      signal.throwIfAborted()
      return true
    } catch (err) {
      signal.throwIfAborted()
      const why = errorMessage(err)
      context.events.event(
        pod,
        "Warning",
        "FailedPrepareDynamicResources",
        `Failed to prepare dynamic resources: ${why}`,
      )
      return false
    }
  }

  async #isNetworkReady(pod: Pod, { ips }: RuntimeSandbox, signal: AbortSignal): Promise<boolean> {
    const { events, networkReady, tracing } = this.#parts.context
    try {
      await traced(tracing, "Wait for network policies", () => networkReady(pod, ips))
      signal.throwIfAborted()
      return true
    } catch (err) {
      signal.throwIfAborted()
      const why = errorMessage(err)
      events.event(pod, "Warning", "NetworkNotReady", `The pod's containers wait for its network: ${why}`)
      return false
    }
  }

  /** @returns whether the container runs now */
  async #start(
    pod: Pod,
    start: ContainerStart,
    { mounted, sandbox, config }: Prepared,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { context, cache, images } = this.#parts
    const { container } = start
    const pullWait = () => Math.max(1, images.waitFor(pod, container))
    try {
      await startContainer(context, this.#parts, {
        pod,
        start,
        runtime: this.#runtime,
        sandbox,
        sandboxConfig: config,
        mounted,
        signal,
      })
      this.#failures?.delete(container.name)
      // The cache has seen the end of this container already, so no event of the runtime will wake the worker.
      if (latest(this.#runtime, container.name)?.state === "exited") this.#waker.wake()
      return true
    } catch (err) {
      signal.throwIfAborted()
      if (!(err instanceof StartError)) throw err
      this.#fail(container.name, { reason: err.reason, message: err.message })
      if (err.reason === "PostStartHookError") {
        const run = latest(this.#runtime, container.name)
        if (run?.state === "running") {
          await killContainer(context, cache, {
            pod,
            run,
            graceSeconds: pod.spec.terminationGracePeriodSeconds,
            message: `Container ${container.name} failed postStart hook`,
            podIp: sandbox.ips[0],
            signal,
          })
        }
        this.#waker.wake()
      } else if (err.reason === "RunContainerError" && latest(this.#runtime, container.name)?.state === "exited")
        this.#waker.wake()
      else if (err.reason === "ErrImagePull") this.#waker.wakeIn(Math.min(PULL_RETRY_MS, pullWait()))
      else if (err.reason === "ImagePullBackOff") this.#waker.wakeIn(pullWait())
      else this.#waker.wakeIn(RETRY_MS)
      return false
    }
  }
}
