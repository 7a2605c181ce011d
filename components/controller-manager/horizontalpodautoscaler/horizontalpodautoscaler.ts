import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { quantity } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Scale } from "../../../pkg/api/autoscaling/v1/scale.ts"
import { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
import type { HorizontalPodAutoscalerStatus } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscalerspec.ts"
import type { MetricStatus } from "../../../pkg/api/autoscaling/v2/metric-status.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { keyFrom, type Key } from "../../../pkg/client/informer.ts"
import { defineController, type Controller, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { actionFrom, AutoscalerMetrics, type Action, type Failure } from "./autoscaler-metrics.ts"
import { withCondition, withoutCondition, type ConditionType } from "./conditions.ts"
import {
  limited,
  limitedByRules,
  NO_HISTORY,
  remember,
  rememberChange,
  stabilized,
  stabilizedByRules,
  type History,
} from "./limits/limits.ts"
import { MetricFailure, proposalOf, type Proposal } from "./replicas/metric.ts"
import type { MetricsClient } from "./replicas/metrics-client.ts"
import type { Tolerances } from "./replicas/replicas.ts"
import { canScaleFromZero, hasScaledToZero, zeroCondition } from "./scale-to-zero.ts"
import { podsOf, SelectorFailure } from "./selected-pods.ts"
import { PodSelectors } from "./selectors.ts"
import { writeScale } from "./write-scale.ts"

/** The interval at which each autoscaler is evaluated. Source: --horizontal-pod-autoscaler-sync-period. */
export const AUTOSCALER_SYNC_MS = 15_000
/** Source: --horizontal-pod-autoscaler-tolerance. */
const TOLERANCE = 0.1
const HOUR_MS = 3_600_000

export interface AutoscalerConfig {
  readonly metrics: MetricsClient
  /** Kinds that are served now. */
  readonly resources: () => readonly Resource[]
  /** The interval at which each autoscaler is evaluated. */
  readonly syncPeriodMs: number
  /** The program's metrics, to which the autoscaler adds its own. */
  readonly registry?: Registry
  /** Whether autoscalers scale to none and back: the feature gate HPAScaleToZero. */
  readonly scalesToZero?: boolean
}

/** The parts that all evaluations of one controller share. */
interface SyncParts extends AutoscalerConfig {
  readonly selectors: PodSelectors
  readonly figures: AutoscalerMetrics
}

/**
 * Sets the replicas of a workload according to metrics, at most as fast as its rules allow: every 15 s by default,
 * whatever has changed. Source: pkg/controller/podautoscaler/horizontal.go.
 */
export function horizontalPodAutoscaler(config: AutoscalerConfig): Controller<HorizontalPodAutoscaler> {
  const histories = new Map<Key, History>()
  const selectors = new PodSelectors()
  const figures = new AutoscalerMetrics(config.registry ?? new Registry())
  return defineController<HorizontalPodAutoscaler>({
    name: "horizontal-pod-autoscaler-controller",
    eventSource: "horizontal-pod-autoscaler",
    reconciles: HorizontalPodAutoscaler,
    // Events of its own status writes do not cause an evaluation before the interval has passed.
    concerns: ({ metadata }) => !histories.has(keyFrom(metadata)),
    watches: [{ resource: Pod, keys: () => [] }],
    async reconcile(key, context) {
      const autoscaler = context.informers.of(HorizontalPodAutoscaler).get(key)
      if (autoscaler === undefined || autoscaler.metadata.deletionTimestamp !== undefined) {
        histories.delete(key)
        selectors.delete(key)
        const [namespace = "", name = ""] = key.split("/")
        figures.forget(namespace, name)
        figures.counted(histories.size)
        return
      }
      const sync = new Sync(autoscaler, histories.get(key), { ...config, selectors, figures }, context)
      // Set before the first write, because the write's event comes before the write resolves.
      histories.set(key, sync.history)
      figures.counted(histories.size)
      try {
        await sync.run()
      } finally {
        histories.set(key, sync.history)
      }
      return { requeueAfter: config.syncPeriodMs }
    },
  })
}

/** An error that the autoscaler's conditions and Events have reported already. */
class ReportedError extends Error {}

/** One evaluation of an autoscaler. */
class Sync {
  history: History
  readonly #autoscaler: HorizontalPodAutoscaler
  readonly #config: SyncParts
  readonly #context: ReconcileContext
  #status: HorizontalPodAutoscalerStatus
  readonly #now: number
  #action: Action = "none"

  constructor(
    autoscaler: HorizontalPodAutoscaler,
    history: History | undefined,
    config: SyncParts,
    context: ReconcileContext,
  ) {
    this.#autoscaler = autoscaler
    this.#config = config
    this.#context = context
    this.#status = autoscaler.status
    this.#now = context.clock.monotonic()
    this.history = history ?? NO_HISTORY
  }

  async run(): Promise<void> {
    let failure: Failure = "internal"
    try {
      const isDone = await this.#scale().then(
        () => true,
        (err: unknown) => {
          if (!(err instanceof ReportedError)) throw err
          return false
        },
      )
      await this.#writeStatus()
      if (isDone) failure = "none"
    } finally {
      this.#config.figures.reconciled(this.#action, failure, this.#context.clock.monotonic() - this.#now)
    }
  }

  async #scale(): Promise<void> {
    const { spec } = this.#autoscaler
    const { scale, resource } = await this.#currentScale()
    const current = scale.spec.replicas ?? 0
    if (this.history === NO_HISTORY) this.history = remember(NO_HISTORY, current, this.#now, HOUR_MS)
    const { minReplicas = 1, maxReplicas } = spec

    let statuses: readonly MetricStatus[] = []
    let desired = current
    let reason = ""
    const isOwnZero = current === 0 && this.#config.scalesToZero === true && hasScaledToZero(this.#status)
    if (current === 0 && !(isOwnZero && canScaleFromZero(spec))) {
      this.#set("ScalingActive", "False", "ScalingDisabled", DISABLED)
      if (this.#config.scalesToZero !== true) this.#removeZero()
    } else if (current > maxReplicas) {
      ;[desired, reason] = [maxReplicas, "Current number of replicas above Spec.MaxReplicas"]
    } else if (current < minReplicas && !isOwnZero) {
      ;[desired, reason] = [minReplicas, "Current number of replicas below Spec.MinReplicas"]
    } else {
      const proposal = await this.#proposal(scale)
      statuses = proposal.statuses
      const { best } = proposal
      if (best.replicas > current) reason = `${best.name} above target`
      else if (best.replicas < current) reason = "All metrics below target"
      desired = this.#held(current, best.replicas)
      if (isOwnZero && desired < minReplicas) {
        desired = minReplicas
        if (reason === "") reason = "Current number of replicas below Spec.MinReplicas"
      }
    }
    if (desired !== current) await this.#rescale(scale, resource, desired, reason, statuses)
    this.#observed(current, desired, statuses)
    const { namespace = "", name = "" } = this.#autoscaler.metadata
    this.#config.figures.desired(namespace, name, desired)
  }

  /** Returns the scale of the target. @throws ReportedError when it cannot be read */
  async #currentScale(): Promise<{ readonly scale: Scale; readonly resource: Resource }> {
    const { metadata, spec } = this.#autoscaler
    const { apiVersion = "", kind, name } = spec.scaleTargetRef
    try {
      const resource = this.#resourceOf(apiVersion, kind)
      const ref = { namespace: metadata.namespace, name }
      const scale = await this.#context.client.getSubresource<Scale>(resource, ref, "scale")
      const message = "the HPA controller was able to get the target's current scale"
      this.#set("AbleToScale", "True", "SucceededGetScale", message)
      return { scale, resource }
    } catch (err) {
      const reason = errorMessage(err)
      this.#warn("FailedGetScale", reason)
      const message = `the HPA controller was unable to get the target's current scale: ${reason}`
      this.#set("AbleToScale", "False", "FailedGetScale", message)
      throw new ReportedError(reason)
    }
  }

  /**
   * Returns the proposal of the metric that needs the most replicas. If some metrics fail, the others may only scale
   * up. @throws ReportedError when no metric can be followed
   */
  async #proposal(scale: Scale): Promise<{ readonly best: Proposal; readonly statuses: readonly MetricStatus[] }> {
    const { metadata, spec } = this.#autoscaler
    const { metrics = [] } = spec
    const specReplicas = scale.spec.replicas ?? 0
    const namespace = metadata.namespace ?? ""
    const target = {
      namespace,
      selector: scale.status.selector ?? "",
      pods: this.#podsOf(scale, namespace),
      specReplicas,
      statusReplicas: scale.status.replicas,
      tolerances: this.#tolerances(),
      now: this.#context.clock.now(),
      pluralOf: (apiVersion: string, kind: string) => this.#pluralOf(apiVersion, kind),
    }
    let best: Proposal | undefined
    const statuses: MetricStatus[] = []
    const failures: MetricFailure[] = []
    for (const metric of metrics) {
      const began = this.#context.clock.monotonic()
      const computed = (action: Action, failure: Failure) =>
        this.#config.figures.computed(metric.type, action, failure, this.#context.clock.monotonic() - began)
      try {
        const proposal = await proposalOf(metric, target, this.#config.metrics)
        computed(actionFrom(this.#autoscaler.status.currentReplicas ?? 0, proposal.replicas), "none")
        statuses.push(proposal.status)
        if (best === undefined || proposal.replicas > best.replicas) best = proposal
      } catch (err) {
        if (!(err instanceof MetricFailure)) throw err
        computed("none", "internal")
        this.#warn(err.reason, err.cause.message)
        // Upstream shows an empty entry for it.
        statuses.push({ type: "" })
        failures.push(err)
      }
    }
    const [first] = failures
    if (first !== undefined && (best === undefined || best.replicas < specReplicas)) {
      const message = `the HPA was unable to compute the replica count: ${first.cause.message}`
      this.#set("ScalingActive", "False", first.reason, message)
      this.#observed(specReplicas, this.#status.desiredReplicas ?? 0, statuses)
      const count = `${failures.length} invalid out of ${metrics.length}`
      const about = `invalid metrics (${count}), first error is: ${first.message}`
      this.#warn("FailedComputeMetricsReplicas", about)
      throw new ReportedError(about)
    }
    const found = `the HPA was able to successfully calculate a replica count from ${best!.name}`
    this.#set("ScalingActive", "True", "ValidMetricFound", found)
    return { best: best!, statuses }
  }

  /** @throws ReportedError when the target has no usable selector, or another autoscaler selects some of its pods too */
  #podsOf(scale: Scale, namespace: string): readonly Pod[] {
    try {
      const owner = { namespace, name: this.#autoscaler.metadata.name ?? "" }
      return podsOf(scale, owner, this.#config.selectors, this.#context.informers.of(Pod))
    } catch (err) {
      if (!(err instanceof SelectorFailure)) throw err
      this.#warn(err.event, err.message)
      this.#set("ScalingActive", "False", err.reason, err.condition)
      this.#observed(scale.spec.replicas ?? 0, this.#status.desiredReplicas ?? 0, [])
      this.#warn("FailedComputeMetricsReplicas", err.message)
      throw new ReportedError(err.message)
    }
  }

  #tolerances(): Tolerances {
    const { scaleUp, scaleDown } = this.#autoscaler.spec.behavior ?? {}
    const of = (given: string | undefined) => (given === undefined ? TOLERANCE : Number(quantity(given).nano) / 1e9)
    return { up: of(scaleUp?.tolerance), down: of(scaleDown?.tolerance) }
  }

  #pluralOf(apiVersion: string, kind: string): string {
    const { group, plural } = this.#resourceOf(apiVersion, kind)
    return group === "" ? plural : `${plural}.${group}`
  }

  /** @throws Error where no version of the group has such a kind */
  #resourceOf(apiVersion: string, kind: string): Resource {
    const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [""]
    const resource = this.#config.resources().find((one) => one.group === group && one.kind === kind)
    if (resource === undefined)
      throw new Error(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`)
    return resource
  }

  /** Applies stabilization, rules and bounds to a recommendation. */
  #held(current: number, recommended: number): number {
    const { minReplicas = 1, maxReplicas, behavior } = this.#autoscaler.spec
    const recommendation = { current, desired: recommended, least: minReplicas, most: maxReplicas, now: this.#now }
    const rules = behavior === undefined ? undefined : { up: behavior.scaleUp!, down: behavior.scaleDown! }
    const steady =
      rules === undefined
        ? stabilized(this.history, recommendation)
        : stabilizedByRules(this.history, recommendation, rules)
    this.history = steady.history
    if (steady.replicas === recommended)
      this.#set("AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size")
    else this.#set("AbleToScale", "True", steady.reason, steady.message)
    const next = { ...recommendation, desired: steady.replicas }
    const result = rules === undefined ? limited(next) : limitedByRules(this.history, next, rules)
    const isLimited = result.replicas === steady.replicas ? "False" : "True"
    this.#set("ScalingLimited", isLimited, result.reason, result.message)
    return result.replicas
  }

  async #rescale(
    scale: Scale,
    resource: Resource,
    desired: number,
    reason: string,
    statuses: readonly MetricStatus[],
  ): Promise<void> {
    const { metadata, spec } = this.#autoscaler
    const current = scale.spec.replicas ?? 0
    try {
      await writeScale(this.#context.client, resource, scale, desired)
    } catch (err) {
      const failure = errorMessage(err)
      this.#warn("FailedRescale", `New size: ${desired}; reason: ${reason}; error: ${failure}`)
      const message = `the HPA controller was unable to update the target scale: ${failure}`
      this.#set("AbleToScale", "False", "FailedUpdateScale", message)
      this.#observed(current, this.#status.desiredReplicas ?? 0, statuses)
      throw new ReportedError(failure)
    }
    this.#action = actionFrom(current, desired)
    const done = `the HPA controller was able to update the target scale to ${desired}`
    this.#set("AbleToScale", "True", "SucceededRescale", done)
    this.#context.events.event(
      this.#autoscaler,
      "Normal",
      "SuccessfulRescale",
      `New size: ${desired}; reason: ${reason}`,
    )
    this.#context.log.info("Scaled", {
      target: `${spec.scaleTargetRef.kind} ${metadata.namespace}/${spec.scaleTargetRef.name}`,
      from: current,
      to: desired,
      reason,
    })
    this.#status = { ...this.#status, lastScaleTime: timestamp(this.#context.clock) }
    if (this.#config.scalesToZero === true) {
      const { type, status, reason: why, message } = zeroCondition(spec, current, desired)
      this.#set(type, status, why, message)
    } else this.#removeZero()
    const { behavior } = spec
    if (behavior !== undefined)
      this.history = rememberChange(
        this.history,
        { from: current, to: desired, now: this.#now },
        { up: behavior.scaleUp!, down: behavior.scaleDown! },
      )
  }

  #observed(currentReplicas: number, desiredReplicas: number, currentMetrics: readonly MetricStatus[]): void {
    const { observedGeneration: _, ...status } = this.#status
    this.#status = { ...status, currentReplicas, desiredReplicas, currentMetrics }
  }

  #set(type: ConditionType, status: "True" | "False", reason: string, message: string): void {
    const now = timestamp(this.#context.clock)
    const conditions = withCondition(this.#status, { type, status, reason, message }, now)
    this.#status = { ...this.#status, conditions }
  }

  /** Without the feature there is no such condition. */
  #removeZero(): void {
    this.#status = { ...this.#status, conditions: withoutCondition(this.#status, "ScaledToZero") }
  }

  #warn(reason: string, message: string): void {
    this.#context.events.event(this.#autoscaler, "Warning", reason, message)
  }

  async #writeStatus(): Promise<void> {
    const { status } = this.#autoscaler
    if (deepEqual(status, this.#status)) return
    try {
      await this.#context.client.updateStatus(HorizontalPodAutoscaler, { ...this.#autoscaler, status: this.#status })
    } catch (err) {
      this.#warn("FailedUpdateStatus", errorMessage(err))
      throw err
    }
  }
}

const DISABLED = "scaling is disabled since the replica count of the target is zero"
