import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Probe } from "../../../pkg/api/core/v1/container/probe.ts"
import type { Resting, Timer } from "../../../pkg/clock/clock.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import { portOf } from "../model/ports.ts"
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
 *
 * On a machine in memory, which knows that a check will succeed again, checks are left out that would change nothing,
 * until the machine tells of a change.
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
  #resting: { readonly timer: Resting; readonly forget: () => void } | undefined
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
    this.#countLeft()
    this.#resting?.timer.cancel()
    this.#restIsOver()
    this.#timer?.cancel()
    this.#look?.cancel()
  }

  #arm(ms: number): void {
    const run = () => {
      this.#arm(this.#options.probe.periodSeconds * 1000)
      this.#look?.cancel()
      this.#context.spawn("probe", () => this.#check(true))
    }
    this.#timer = this.#context.clock.setTimeout(run, ms, "work", this.#timer)
  }

  /** Leaves checks out that would change nothing, where that is known. */
  #rest(): void {
    const { clock, runtime } = this.#context
    const { foresight } = runtime
    const { run, podIp, probe, container } = this.#options
    const isDecided = this.#result && this.#count >= probe.successThreshold
    if (foresight === undefined || clock.rest === undefined || this.#timer === undefined || !isDecided) return
    const to = (probe.httpGet ?? probe.tcpSocket ?? probe.grpc)?.port
    const port = to === undefined ? undefined : portOf(to, container)
    if (!foresight.succeeds({ containerId: run.id, podIp, probe, port })) return
    const timer = clock.rest(this.#timer, {
      periodMs: probe.periodSeconds * 1000,
      resumed: (next, left) => {
        this.#restIsOver()
        this.#timer = next
        this.#leftOut(left)
      },
    })
    if (timer === undefined) return
    this.#resting = { timer, forget: foresight.onChange(run.id, () => timer.wake()) }
    this.#context.metrics.countsProbes.add(this.#countLeft)
  }

  #restIsOver(): void {
    this.#resting?.forget()
    this.#resting = undefined
    this.#context.metrics.countsProbes.delete(this.#countLeft)
  }

  /** Counts the checks that were left out until now as the successes that they would have been. */
  readonly #countLeft = (): void => this.#leftOut(this.#resting?.timer.left() ?? 0)

  #leftOut(count: number): void {
    const { run, kind } = this.#options
    if (count > 0) this.#context.metrics.probed(run.pod, run.name, kind, true, 0, count)
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
    if (ok && counts && !isDoubtful && this.#context.clock.monotonic() === began) this.#rest()
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
