import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Probe } from "../../../pkg/api/core/v1/container/probe.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import type { RuntimeContainer } from "../model/runtime-pod.ts"
import { check } from "./prober.ts"
import type { ProbeKind } from "../model/probe-kind.ts"

export interface ProbeWorkerOptions {
  readonly pod: Pod
  readonly container: AnyContainer
  readonly fieldPath: string
  readonly kind: ProbeKind
  readonly probe: Probe
  readonly run: RuntimeContainer
  readonly podIp: string
  /** The result before the first check. */
  readonly initial: boolean
  onResult(ok: boolean): void
}

/** First delay before an extra check; it doubles. */
const FIRST_LOOK_MS = 50

/**
 * Checks one running container again and again. Source: pkg/kubelet/prober/worker.go.
 *
 * Differs from upstream: until a startup or readiness probe has succeeded for the first time, there are extra checks
 * between the periodic ones, at growing intervals. Only their successes count: a failure is not counted and causes no
 * event. So a container that is ready 100 ms after its start is found ready then and not a whole period later.
 */
export class ProbeWorker {
  readonly #context: KubeletContext
  readonly #options: ProbeWorkerOptions
  readonly #stopping = new AbortController()
  #result: boolean
  #last: boolean | undefined
  #count = 0
  #everSucceeded: boolean
  #timer: Timer | undefined
  #look: Timer | undefined
  #lookMs = FIRST_LOOK_MS
  #held = false

  constructor(context: KubeletContext, options: ProbeWorkerOptions) {
    this.#context = context
    this.#options = options
    this.#result = options.initial
    this.#everSucceeded = options.initial && options.kind !== "liveness"
  }

  get result(): boolean {
    return this.#result
  }

  /**
   * Starts `initialDelaySeconds` after the container's start, but at most that long after now, because the wall clock
   * may have been set back since.
   */
  start(): void {
    const { run, probe } = this.#options
    const delayMs = (probe.initialDelaySeconds ?? 0) * 1000
    this.#arm(Math.min(delayMs, Math.max(0, run.startedAt + delayMs - this.#context.clock.now())))
  }

  stop(): void {
    this.#stopping.abort(new Error("the probe was stopped"))
    this.#timer?.cancel()
    this.#look?.cancel()
  }

  #arm(ms: number): void {
    this.#timer = this.#context.clock.setTimeout(() => {
      this.#arm(this.#options.probe.periodSeconds * 1000)
      this.#look?.cancel()
      this.#context.spawn("probe", () => this.#check(true))
    }, ms)
  }

  async #check(counts: boolean): Promise<void> {
    const { signal } = this.#stopping
    if (this.#held || signal.aborted) return
    this.#held = true
    const { pod, container, run, podIp, probe, kind, fieldPath } = this.#options
    const began = this.#context.clock.monotonic()
    const request = { pod, container, containerId: run.id, podIp, probe, signal }
    const { ok, isDoubtful = false, output } = await check(this.#context, request).finally(() => (this.#held = false))
    if (signal.aborted) return
    if (ok || counts) this.#context.metrics.probed(run.pod, run.name, kind, ok, this.#context.clock.monotonic() - began)
    if (!ok && counts)
      this.#context.events.event(pod, "Warning", "Unhealthy", `${TITLES[kind]} probe failed: ${output}`, fieldPath)
    if (isDoubtful)
      this.#context.events.event(pod, "Warning", "ProbeWarning", `${TITLES[kind]} probe warning: ${output}`, fieldPath)
    if (ok || counts) this.#take(ok)
    if (!ok && !this.#everSucceeded && kind !== "liveness") this.#lookAgain()
  }

  #lookAgain(): void {
    if (this.#stopping.signal.aborted || this.#lookMs >= this.#options.probe.periodSeconds * 1000) return
    this.#look = this.#context.clock.setTimeout(
      () => this.#context.spawn("probe", () => this.#check(false)),
      this.#lookMs,
    )
    this.#lookMs *= 2
  }

  /** Applies the thresholds: as many equal results in a row as the threshold says change the probe's result. */
  #take(ok: boolean): void {
    const { probe, onResult, kind } = this.#options
    this.#count = ok === this.#last ? this.#count + 1 : 1
    this.#last = ok
    if (ok) this.#everSucceeded = true
    if (this.#count < (ok ? probe.successThreshold : probe.failureThreshold)) return
    const changed = ok !== this.#result
    this.#result = ok
    // No more checks: a failed liveness or startup probe gets the container killed, and a successful startup probe is
    // done.
    if ((kind === "liveness" && !ok) || kind === "startup") this.stop()
    if (changed || (!ok && kind !== "readiness")) onResult(ok)
  }
}

const TITLES = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" } as const
