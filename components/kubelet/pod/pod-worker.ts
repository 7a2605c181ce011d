import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import type { PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import { contain, isMistake } from "../../../pkg/failure/contain.ts"
import { endingWith, traced } from "../../../pkg/tracing/tracing.ts"
import { DEADLINE_EXCEEDED, millisecondsLeft } from "./ending/active-deadline.ts"
import { adoptPod } from "./adopt-pod.ts"
import { reportEnd } from "./end-reports.ts"
import { clearAll, clearRemains, hasRemains } from "./ending/garbage.ts"
import { graceSeconds } from "./ending/grace-period.ts"
import { killUntilEnded } from "./ending/kill.ts"
import { isStaticPod } from "../model/labels.ts"
import { planOf } from "./plan.ts"
import { identityOf } from "../model/pod-identity.ts"
import { PodRunner, RETRY_MS, type Waker } from "./pod-runner.ts"
import { PodAllocation } from "./resources/pod-allocation.ts"
import { isMarkedRestarting, resetsOf } from "../model/restart-all.ts"
import { isRunning, type RuntimePod } from "../model/runtime-pod.ts"
import { podCgroup } from "../sandbox/sandbox-config.ts"
import { EVICTED } from "../model/rejection.ts"
import type { Verdict } from "../status/pod-status.ts"
import { isEnd, reportedStatus } from "./reported-status.ts"
import { FIRST, isCleanedUp, isOver, isTerminated, type Stage } from "./stage.ts"
import { StepLoop } from "./step-loop.ts"
import { stepSpan } from "./step-span.ts"
import type { PodIdentity } from "../model/pod-identity.ts"
import { guardedRun, type Mark } from "./guarded-run.ts"
import type { WorkerParts } from "./worker-parts.ts"

/**
 * Runs and ends one pod. Every action on the pod is a step of this worker, and the steps run one after the other.
 * Source: pkg/kubelet/pod_workers.go.
 */
export class PodWorker implements Waker {
  readonly identity: PodIdentity
  /** When the kubelet first saw the pod, on the monotonic clock. */
  readonly since: number
  readonly #parts: WorkerParts
  readonly #allocation: PodAllocation
  readonly #loop: StepLoop
  #stage: Stage = FIRST
  /** Whether the API no longer has the pod, or the manifest of a static pod is gone. */
  #removed = false
  /** Why the node ends the pod. */
  #verdict: Verdict | undefined
  #graceOverride: number | undefined
  /** The timer of a report that waits for others. */
  #reporting: Timer | undefined
  /** Exists once somebody waits for the end, which few do. */
  #whenEnded: PromiseWithResolvers<void> | undefined
  readonly #runner: PodRunner

  constructor(parts: WorkerParts, pod: Pod) {
    this.#parts = parts
    this.#allocation = new PodAllocation(pod)
    this.identity = identityOf(pod)
    this.since = parts.context.clock.monotonic()
    this.#runner = new PodRunner(parts, this.identity, this)
    const { namespace, name } = this.identity
    this.#loop = new StepLoop({
      clock: parts.context.clock,
      spawn: (work) => parts.context.spawn(`pod ${namespace}/${name}`, work),
      step: (signal) => this.#step(signal),
      failed: (err) => this.#failed(err),
    })
  }

  /** The pod with its allocated resources. */
  get pod(): Pod {
    return this.#allocation.pod
  }
  /** Whether the API no longer has the pod, or its manifest is gone: its worker ends. */
  get isRemoved(): boolean {
    return this.#removed
  }
  get stage(): Stage["is"] {
    return this.#stage.is
  }
  /** Whether its volumes are unmounted and its cgroup is removed, after its containers have ended. */
  get isCleanedUp(): boolean {
    return isCleanedUp(this.#stage)
  }
  /** Whether its containers have ended for good, as its status says or is about to say. What it had is free then. */
  get isOver(): boolean {
    return isOver(this.#stage)
  }
  /** Resolves when all containers have ended. */
  get ended(): Promise<void> {
    if (isTerminated(this.#stage)) return Promise.resolve()
    return (this.#whenEnded ??= Promise.withResolvers()).promise
  }
  /** Whether the node has admitted the pod. Running pods were admitted by an earlier kubelet. */
  get isAdmitted(): boolean {
    return this.#stage.isAdmitted || isRunning(this.#runtime)
  }
  get #runtime(): RuntimePod {
    return this.#parts.cache.of(this.identity)
  }

  /** Takes over a newer pod of the API. */
  update(pod: Pod): void {
    const before = this.pod
    this.note(pod)
    const ends = pod.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined
    const shorter =
      (pod.metadata.deletionGracePeriodSeconds ?? Infinity) < (before.metadata.deletionGracePeriodSeconds ?? Infinity)
    if (ends || shorter) this.#loop.interrupt("the pod is being deleted")
    this.retry()
  }

  /** Syncs the pod, and tries again what failed without waiting. */
  retry(): void {
    this.#runner.retryAtOnce()
    this.wake()
  }

  /** Takes over a newer pod of the API that needs no sync. */
  note(pod: Pod): void {
    this.#allocation.note(pod)
  }

  /** Ends the pod, because the API no longer has it or its manifest is gone. */
  remove(): void {
    if (this.#removed) return
    this.#removed = true
    this.#parts.status.forget(this.identity.uid)
    if (this.#stage.is === "running" || this.pod.metadata.deletionTimestamp === undefined)
      this.#loop.interrupt("the pod was removed")
    this.wake()
  }

  /** Ends the pod for a reason of the node. */
  fail(verdict: Verdict, graceSeconds?: number): void {
    if (this.#verdict !== undefined || this.#stage.is !== "running") return
    this.#verdict = verdict
    this.#graceOverride = graceSeconds
    this.#loop.interrupt(verdict.reason)
    this.wake()
  }

  /** Syncs the pod, because something about it may have changed. */
  wake(): void {
    if (this.#loop.hasEnded) return
    if (this.#stage.is === "terminating") this.#reportEnd()
    this.#loop.wake()
  }

  /** Syncs the pod after this time at the latest. */
  wakeIn(ms: number): void {
    this.#loop.wakeIn(ms, () => this.wake())
  }

  #reportEnd(): void {
    this.#reporting ??= reportEnd(this.#parts.context.clock, this.#runtime.containers.length, () => {
      this.#reporting = undefined
      if (this.#stage.is === "terminating" && !this.#loop.hasEnded) this.#report()
    })
  }

  /** Ends the worker and leaves the pod running. */
  stop(): void {
    this.#reporting?.cancel()
    this.#loop.stop("the kubelet is being stopped")
  }

  /** Says what a step has thrown, and has it tried again. */
  #failed(err: unknown): void {
    const { log } = this.#parts.context
    const about = { pod: `${this.identity.namespace}/${this.identity.name}`, stage: this.#stage.is }
    if (isMistake(err)) contain("pod worker", err, log, about)
    else log.warn("Failed to sync a pod; will retry", { ...about, err })
    this.wakeIn(RETRY_MS)
  }

  #step(signal: AbortSignal): Promise<void> {
    const stage = this.#stage
    if (stage.is === "running" && this.#mustEnd())
      this.#stage = { is: "terminating", isAdmitted: stage.isAdmitted, isOver: stage.isOver }
    const { tracing } = this.#parts.context
    if (tracing === undefined) return this.#measured(signal)
    const span = stepSpan(tracing, this.#stage.is, this.identity, this.#allocation.requested)
    return endingWith(tracing, span, () => this.#measured(signal))
  }

  async #measured(signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#parts.context
    const began = clock.monotonic()
    const { is, isAdmitted } = this.#stage
    const type = is !== "running" ? "kill" : isAdmitted ? "update" : "create"
    try {
      await this.#act(signal)
    } finally {
      metrics.synced(type, clock.monotonic() - began)
    }
  }

  #act(signal: AbortSignal): Promise<void> {
    if (this.#stage.is === "running")
      return guardedRun(this.#parts.context, this.pod, this, (mark) => this.#run(signal, mark))
    if (this.#stage.is === "terminating") return this.#terminate(signal)
    return this.#clear()
  }

  #mustEnd(): boolean {
    return (
      this.#removed ||
      this.pod.metadata.deletionTimestamp !== undefined ||
      this.#verdict !== undefined ||
      this.isOver ||
      this.#isReportedEnded()
    )
  }

  #isReportedEnded(): boolean {
    return isEnd(this.#parts.status.status(this.pod))
  }

  /** Reports the pod's status. */
  #report(terminal = false): PodStatus {
    const { status } = this.#parts
    const { reported, hasEnded } = reportedStatus(this.#parts, {
      pod: this.pod,
      allocation: this.#allocation,
      runtime: this.#runtime,
      failures: this.#runner.failures,
      terminal,
      verdict: this.#verdict,
    })
    if (hasEnded && "isOver" in this.#stage) this.#stage = { ...this.#stage, isOver: true }
    if (!this.#removed) status.set(this.pod, reported)
    return reported
  }

  async #run(signal: AbortSignal, mark: Mark): Promise<void> {
    const { context, cache, probes, volumes } = this.#parts
    if (!this.isAdmitted && !(await this.#admit(signal))) return
    this.#note({ isAdmitted: true })
    const resize = {
      problemOf: (pod: Pod) => this.#parts.resizeProblem(pod),
      began: () => void this.#report(),
      runtime: this.#runtime,
      signal,
    }
    if (await this.#allocation.resize(context, cache, resize)) this.wakeIn(RETRY_MS)
    const { reported, plan } = mark(() => {
      volumes.sync(this.identity.uid)
      probes.sync(this.pod, this.#runtime)
      return { reported: this.#report(), plan: planOf(this.pod, this.#runtime, probes) }
    })
    if (this.#pastDeadline(reported.startTime)) return
    if (isMarkedRestarting(reported)) {
      await this.#runner.reset(this.pod, resetsOf(this.pod, this.#runtime), signal)
      this.#loop.wake()
      return
    }
    if (!this.#isAdopted && isRunning(this.#runtime))
      await adoptPod(context, volumes, { pod: this.pod, runtime: this.#runtime, signal })
    this.#note({ isAdopted: true })
    await this.#runner.apply(this.pod, plan, signal)
    probes.sync(this.pod, this.#runtime)
    this.#parts.logs.sync(this.#runtime.containers)
    this.#report()
    if (hasRemains(this.#runtime)) await this.#parts.clearing.run(() => clearRemains(context, cache, this.#runtime))
    if (this.#mustEnd()) this.#loop.wake()
  }

  get #isAdopted(): boolean {
    return this.#stage.is === "running" && this.#stage.isAdopted
  }

  /** Notes what is known of a pod that runs. */
  #note(what: { readonly isAdmitted?: true; readonly isAdopted?: true }): void {
    if (this.#stage.is === "running") this.#stage = { ...this.#stage, ...what }
  }

  /** @returns whether the node admits the pod; if not, the pod has failed */
  async #admit(signal: AbortSignal): Promise<boolean> {
    const { tracing } = this.#parts.context
    const rejection = await traced(tracing, "Admit pod", () =>
      this.#parts.admit(this.pod, () => this.#note({ isAdmitted: true }), signal),
    )
    signal.throwIfAborted()
    if (rejection === undefined) return true
    const { reason, message } = rejection
    this.#parts.context.events.event(this.pod, "Warning", reason, message)
    this.#verdict = { phase: "Failed", reason, message: `Pod was rejected: ${message}`, isRejection: true }
    this.#loop.wake()
    return false
  }

  #pastDeadline(startTime: string | undefined): boolean {
    const { clock, events } = this.#parts.context
    const left = millisecondsLeft(this.pod.spec, startTime, clock.now())
    if (left === undefined) return false
    if (left > 0) {
      this.wakeIn(left)
      return false
    }
    this.#verdict = DEADLINE_EXCEEDED
    events.event(this.pod, "Normal", DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message)
    this.#loop.wake()
    return true
  }

  /** Ends all containers. */
  async #terminate(signal: AbortSignal): Promise<void> {
    const { context, cache, probes } = this.#parts
    probes.stopKilling(this.identity.uid)
    // A pod that ended before this kubelet started, and has no remains, keeps its stored status.
    const isPast = isPodTerminal(this.pod) && this.#runtime.containers.length === 0
    if (!this.#isReportedEnded()) this.#report()
    const remaining = () => ({
      pod: this.pod,
      runtime: this.#runtime,
      graceSeconds: graceSeconds(this.pod, this.#removed, this.#graceOverride),
      signal,
    })
    await killUntilEnded(context, cache, remaining)
    probes.stop(this.identity.uid)
    this.#runner.forgetFailures()
    // After the containers have ended, and before others can see it: they could give the devices to the next pod.
    await this.#parts.dra.unprepare(this.identity.uid)
    if (!isPast) this.#report(true)
    this.#stage = { is: "terminated", isAdmitted: this.#stage.isAdmitted, isCleanedUp: false }
    this.#whenEnded?.resolve()
    this.#loop.wake()
  }

  async #clear(): Promise<void> {
    const { context, cache, clearing, status, volumes } = this.#parts
    const { uid } = this.identity
    if (!this.isCleanedUp) {
      await Promise.all([volumes.unmount(this.identity), context.runtime.cgroups.remove(podCgroup(this.pod))])
      // What it wrote may be why it was evicted. Source: pkg/kubelet/kubelet.go cleanUpContainersInPod.
      if (status.status(this.pod).reason === EVICTED) await clearing.run(() => clearAll(context, cache, this.#runtime))
      this.#stage = { is: "terminated", isAdmitted: this.#stage.isAdmitted, isCleanedUp: true }
    }
    if (!this.#removed && this.pod.metadata.deletionTimestamp !== undefined && !isStaticPod(this.pod)) {
      // The status is written before the pod is deleted, so that others can read it.
      await status.written(uid)
      if (!this.#removed) await this.#delete()
      return
    }
    if (this.#removed) await this.#finish()
  }

  /** Tells the API that the pod may be deleted. A refusal is retried until the informer shows that the pod is gone. */
  async #delete(): Promise<void> {
    const { uid } = this.identity
    try {
      await this.#parts.context.client.delete(Pod, this.pod.metadata, {
        gracePeriodSeconds: 0,
        preconditions: { uid },
      })
    } catch (err) {
      if (!isNotFound(err) && !isConflict(err)) throw err
      this.wakeIn(RETRY_MS)
    }
  }

  /** Removes the remains of the pod on the node. */
  async #finish(): Promise<void> {
    const { context, images, crashes, clearing, cache } = this.#parts
    const { uid } = this.identity
    images.forget(uid)
    crashes.forget(`${uid}_`)
    await clearing.run(() => clearAll(context, cache, this.#runtime))
    this.#parts.userNamespaces.release(uid)
    this.#stage = { is: "finished", isAdmitted: this.#stage.isAdmitted }
    this.#loop.end()
    this.#parts.finished(this)
  }
}
