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
import { stepSpan, type Stage } from "./step-span.ts"
import type { PodIdentity } from "../model/pod-identity.ts"
import { guardedRun, type Mark } from "./guarded-run.ts"
import type { WorkerParts } from "./worker-parts.ts"

/**
 * Runs and ends one pod. Every action on the pod is a step of this worker, and the steps run one after the other.
 * Source: pkg/kubelet/pod_workers.go.
 *
 * Stages, each entered once and in this order:
 *  - running:     each step compares what the pod wants with what runs (`planOf`), and carries out the difference;
 *  - terminating: the containers are being ended. Only a shorter grace period interrupts that;
 *  - terminated:  all containers have ended. The volumes are unmounted, and if the pod was deleted, its object is
 *    removed from the API;
 *  - finished:    the API no longer has the pod, and its remains on the node are removed.
 * `#interrupt` aborts the current step when the stage must change; it is undefined between steps.
 */
export class PodWorker implements Waker {
  readonly identity: PodIdentity
  /** When the kubelet first saw the pod, on the monotonic clock. */
  readonly since: number
  readonly #parts: WorkerParts
  readonly #allocation: PodAllocation
  #stage: Stage = "running"
  /** Whether the API no longer has the pod, or the manifest of a static pod is gone. */
  #removed = false
  #admitted = false
  #adopted = false
  #verdict: Verdict | undefined
  /** Whether its containers have ended for good, though this may not be reported yet. */
  #hasEnded = false
  #graceOverride: number | undefined
  #interrupt: AbortController | undefined
  #working = false
  #again = false
  #stopped = false
  #timer: Timer | undefined
  #due = Infinity
  /** The timer of a report that waits for others. */
  #reporting: Timer | undefined
  #unmounted = false
  /** Exists once somebody waits for the end, which few do. */
  #whenEnded: PromiseWithResolvers<void> | undefined
  readonly #runner: PodRunner

  constructor(parts: WorkerParts, pod: Pod) {
    this.#parts = parts
    this.#allocation = new PodAllocation(pod)
    this.identity = identityOf(pod)
    this.since = parts.context.clock.monotonic()
    this.#runner = new PodRunner(parts, this.identity, this)
  }

  /** The pod with its allocated resources. */
  get pod(): Pod {
    return this.#allocation.pod
  }
  /** Whether the API no longer has the pod, or its manifest is gone: its worker ends. */
  get isRemoved(): boolean {
    return this.#removed
  }
  get stage(): string {
    return this.#stage
  }
  /** Whether all containers have ended and none will be started. */
  get hasEnded(): boolean {
    return this.#stage === "terminated" || this.#stage === "finished"
  }
  /** Whether its volumes are unmounted and its cgroup is removed, after its containers have ended. */
  get isCleanedUp(): boolean {
    return this.#unmounted
  }
  /** Whether its containers have ended for good, as its status says or is about to say. What it had is free then. */
  get isOver(): boolean {
    return this.#hasEnded || this.hasEnded
  }
  /** Resolves when all containers have ended. */
  get ended(): Promise<void> {
    if (this.hasEnded) return Promise.resolve()
    return (this.#whenEnded ??= Promise.withResolvers()).promise
  }
  /** Whether the node has admitted the pod. Running pods were admitted by an earlier kubelet. */
  get isAdmitted(): boolean {
    return this.#admitted || isRunning(this.#runtime)
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
    if (ends || shorter) this.#interrupt?.abort(new Error("the pod is being deleted"))
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
    if (this.#stage === "running" || this.pod.metadata.deletionTimestamp === undefined)
      this.#interrupt?.abort(new Error("the pod was removed"))
    this.wake()
  }

  /** Ends the pod for a reason of the node. */
  fail(verdict: Verdict, graceSeconds?: number): void {
    if (this.#verdict !== undefined || this.#stage !== "running") return
    this.#verdict = verdict
    this.#graceOverride = graceSeconds
    this.#interrupt?.abort(new Error(verdict.reason))
    this.wake()
  }

  /** Syncs the pod, because something about it may have changed. */
  wake(): void {
    if (this.#stopped || this.#stage === "finished") return
    this.#again = true
    if (this.#stage === "terminating") this.#reportEnd()
    if (this.#working) return
    this.#working = true
    this.#parts.context.spawn(`pod ${this.identity.namespace}/${this.identity.name}`, () => this.#work())
  }

  #reportEnd(): void {
    this.#reporting ??= reportEnd(this.#parts.context.clock, this.#runtime.containers.length, () => {
      this.#reporting = undefined
      if (this.#stage === "terminating" && !this.#stopped) this.#report()
    })
  }

  /** Ends the worker and leaves the pod running. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#reporting?.cancel()
    this.#interrupt?.abort(new Error("the kubelet is being stopped"))
  }

  async #work(): Promise<void> {
    while (this.#again && !this.#stopped && this.#stage !== "finished") {
      this.#again = false
      const { signal } = (this.#interrupt = new AbortController())
      this.#timer?.cancel()
      this.#due = Infinity
      try {
        await this.#step(signal)
      } catch (err) {
        if (signal.aborted) this.#again = true
        else {
          const about = { pod: `${this.identity.namespace}/${this.identity.name}`, stage: this.#stage }
          if (isMistake(err)) contain("pod worker", err, this.#parts.context.log, about)
          else this.#parts.context.log.warn("Failed to sync a pod; will retry", { ...about, err })
          this.wakeIn(RETRY_MS)
        }
      }
    }
    this.#interrupt = undefined
    this.#working = false
  }

  /** Syncs the pod after this time at the latest. */
  wakeIn(ms: number): void {
    const due = this.#parts.context.clock.monotonic() + ms
    if (this.#stopped || due >= this.#due) return
    this.#due = due
    this.#timer?.cancel()
    this.#timer = this.#parts.context.clock.setTimeout(() => this.wake(), ms)
  }

  #step(signal: AbortSignal): Promise<void> {
    if (this.#stage === "running" && this.#mustEnd()) this.#stage = "terminating"
    const { tracing } = this.#parts.context
    if (tracing === undefined) return this.#measured(signal)
    const span = stepSpan(tracing, this.#stage, this.identity, this.#allocation.requested)
    return endingWith(tracing, span, () => this.#measured(signal))
  }

  async #measured(signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#parts.context
    const began = clock.monotonic()
    const type = this.#stage !== "running" ? "kill" : this.#admitted ? "update" : "create"
    try {
      await this.#act(signal)
    } finally {
      metrics.synced(type, clock.monotonic() - began)
    }
  }

  #act(signal: AbortSignal): Promise<void> {
    if (this.#stage === "running")
      return guardedRun(this.#parts.context, this.pod, this, (mark) => this.#run(signal, mark))
    if (this.#stage === "terminating") return this.#terminate(signal)
    return this.#clear()
  }

  #mustEnd(): boolean {
    return (
      this.#removed ||
      this.pod.metadata.deletionTimestamp !== undefined ||
      this.#verdict !== undefined ||
      this.#hasEnded ||
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
    this.#hasEnded ||= hasEnded
    if (!this.#removed) status.set(this.pod, reported)
    return reported
  }

  async #run(signal: AbortSignal, mark: Mark): Promise<void> {
    const { context, cache, probes, volumes } = this.#parts
    if (!this.isAdmitted && !(await this.#admit(signal))) return
    this.#admitted = true
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
      this.#again = true
      return
    }
    if (!this.#adopted && isRunning(this.#runtime))
      await adoptPod(context, volumes, { pod: this.pod, runtime: this.#runtime, signal })
    this.#adopted = true
    await this.#runner.apply(this.pod, plan, signal)
    probes.sync(this.pod, this.#runtime)
    this.#parts.logs.sync(this.#runtime.containers)
    this.#report()
    if (hasRemains(this.#runtime)) await this.#parts.clearing.run(() => clearRemains(context, cache, this.#runtime))
    if (this.#mustEnd()) this.#again = true
  }

  /** @returns whether the node admits the pod; if not, the pod has failed */
  async #admit(signal: AbortSignal): Promise<boolean> {
    const { tracing } = this.#parts.context
    const rejection = await traced(tracing, "Admit pod", () =>
      this.#parts.admit(this.pod, () => (this.#admitted = true), signal),
    )
    signal.throwIfAborted()
    if (rejection === undefined) return true
    const { reason, message } = rejection
    this.#parts.context.events.event(this.pod, "Warning", reason, message)
    this.#verdict = { phase: "Failed", reason, message: `Pod was rejected: ${message}`, isRejection: true }
    this.#again = true
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
    this.#again = true
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
    this.#stage = "terminated"
    this.#whenEnded?.resolve()
    this.#again = true
  }

  async #clear(): Promise<void> {
    const { context, cache, clearing, status, volumes } = this.#parts
    const { uid } = this.identity
    if (!this.#unmounted) {
      await Promise.all([volumes.unmount(this.identity), context.runtime.cgroups.remove(podCgroup(this.pod))])
      // What it wrote may be why it was evicted. Source: pkg/kubelet/kubelet.go cleanUpContainersInPod.
      if (status.status(this.pod).reason === EVICTED) await clearing.run(() => clearAll(context, cache, this.#runtime))
      this.#unmounted = true
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
    this.#stage = "finished"
    this.#parts.finished(this)
  }
}
