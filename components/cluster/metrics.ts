import type { Clock } from "../../pkg/clock/clock.ts"
import type { SchedulerObserver } from "../scheduler/observer.ts"
import type { ControllerObserver } from "../../pkg/controller/start.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"

/**
 * Buckets for the seconds of a reconcile or a scheduling attempt. Source: scheduler metrics, ExponentialBuckets(0.001,
 * 2, 15).
 */
const ATTEMPT_BUCKETS = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i)

/**
 * Buckets for the seconds in which a key waits or is worked on. Source: component-base metrics/prometheus/workqueue,
 * ExponentialBuckets(10e-9, 10, 10).
 */
const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10]

/** Registers the controllers' metrics, with the names of controller-runtime and client-go (workqueue). */
export function controllerMetrics(registry: Registry, clock: Pick<Clock, "monotonic">): ControllerObserver {
  const reconciles = registry.counter(
    "controller_runtime_reconcile_total",
    "Total number of reconciliations per controller.",
    "controller",
    "result",
  )
  const seconds = registry.histogram(
    "controller_runtime_reconcile_time_seconds",
    "Length of time per reconciliation per controller.",
    ATTEMPT_BUCKETS,
    "controller",
  )
  const depth = registry.gauge("workqueue_depth", "Current depth of workqueue.", "name")
  const adds = registry.counter("workqueue_adds_total", "Total number of adds handled by workqueue.", "name")
  const retries = registry.counter("workqueue_retries_total", "Total number of retries handled by workqueue.", "name")
  const waited = registry.histogram(
    "workqueue_queue_duration_seconds",
    "How long in seconds an item stays in workqueue before being requested.",
    QUEUE_BUCKETS,
    "name",
  )
  const worked = registry.histogram(
    "workqueue_work_duration_seconds",
    "How long in seconds processing an item from workqueue takes.",
    QUEUE_BUCKETS,
    "name",
  )
  const running = registry.gauge(
    "running_managed_controllers",
    "Indicates where instances of a controller are currently running",
    "name",
    "manager",
  )
  /** When each key was taken that a controller works on, by the controller. */
  const working = new Map<string, () => Iterable<number>>()
  const agesOf = (of: (ages: readonly number[]) => number) => () =>
    Object.fromEntries(
      [...working].map(([name, since]) => [name, of([...since()].map((at) => (clock.monotonic() - at) / 1000))]),
    )
  registry.readEach(
    "gauge",
    "workqueue_unfinished_work_seconds",
    "How many seconds of work has been done that is in progress and hasn't been observed by work_duration.",
    "name",
    agesOf((ages) => ages.reduce((sum, age) => sum + age, 0)),
  )
  registry.readEach(
    "gauge",
    "workqueue_longest_running_processor_seconds",
    "How many seconds has the longest running processor for workqueue been running.",
    "name",
    agesOf((ages) => ages.reduce((longest, age) => Math.max(longest, age), 0)),
  )
  return {
    queue(controller) {
      running.with(controller, "kube-controller-manager").set(1)
      const [added, retried, waiting] = [adds.with(controller), retries.with(controller), waited.with(controller)]
      return {
        added: () => added.inc(),
        retried: () => retried.inc(),
        taken: (milliseconds) => waiting.observe(milliseconds / 1000),
        working: (since) => void working.set(controller, since),
      }
    },
    reconciled(controller, outcome, milliseconds) {
      reconciles.with(controller, outcome === "requeue" ? "requeue_after" : outcome).inc()
      seconds.with(controller).observe(milliseconds / 1000)
      worked.with(controller).observe(milliseconds / 1000)
    },
    queued(controller, waiting) {
      depth.with(controller).set(waiting)
    },
  }
}

/** Buckets for the seconds until a pod is bound. Source: scheduler metrics, ExponentialBuckets(0.01, 2, 20). */
const SCHEDULING_BUCKETS = Array.from({ length: 20 }, (_, i) => 0.01 * 2 ** i)
/** Buckets for the seconds of an extension point. Source: scheduler metrics, ExponentialBuckets(0.0001, 2, 12). */
const POINT_BUCKETS = Array.from({ length: 12 }, (_, i) => 0.0001 * 2 ** i)
/** Buckets for the seconds of a question to a plugin. Source: scheduler metrics, ExponentialBuckets(0.00001, 1.5, 20). */
const PLUGIN_BUCKETS = Array.from({ length: 20 }, (_, i) => 0.00001 * 1.5 ** i)
/** More attempts share a label. Source: pkg/scheduler/schedule_one.go getAttemptsLabel. */
const MOST_ATTEMPTS = 15

/** Registers the scheduler's metrics, with upstream's names. Source: pkg/scheduler/metrics. */
export function schedulerMetrics(registry: Registry): SchedulerObserver {
  const attempts = registry.counter(
    "scheduler_schedule_attempts_total",
    "Number of attempts to schedule pods, by the result.",
    "result",
    "profile",
  )
  const seconds = registry.histogram(
    "scheduler_scheduling_attempt_duration_seconds",
    "Scheduling attempt latency in seconds (scheduling algorithm + binding).",
    ATTEMPT_BUCKETS,
    "result",
    "profile",
  )
  const pending = registry.gauge("scheduler_pending_pods", "Number of pending pods, by the queue type.", "queue")
  const tries = registry.histogram(
    "scheduler_pod_scheduling_attempts",
    "Number of attempts to successfully schedule a pod.",
    [1, 2, 4, 8, 16],
  )
  const algorithm = registry.histogram(
    "scheduler_scheduling_algorithm_duration_seconds",
    "Scheduling algorithm latency in seconds",
    ATTEMPT_BUCKETS,
  )
  const sinceQueued = registry.histogram(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue",
    SCHEDULING_BUCKETS,
    "attempts",
  )
  const points = registry.histogram(
    "scheduler_framework_extension_point_duration_seconds",
    "Latency for running all plugins of a specific extension point.",
    POINT_BUCKETS,
    "extension_point",
    "status",
    "profile",
  )
  const preemptions = registry
    .counter("scheduler_preemption_attempts_total", "Total preemption attempts in the cluster till now")
    .with()
  const victims = registry
    .histogram("scheduler_preemption_victims", "Number of selected preemption victims", [1, 2, 4, 8, 16, 32, 64])
    .with()
  const incoming = registry.counter(
    "scheduler_queue_incoming_pods_total",
    "Number of pods added to scheduling queues by event and queue type.",
    "queue",
    "event",
  )
  const asked = registry.histogram(
    "scheduler_plugin_execution_duration_seconds",
    "Duration for running a plugin at a specific extension point.",
    PLUGIN_BUCKETS,
    "plugin",
    "extension_point",
    "status",
  )
  return {
    asked: (name, point, status, milliseconds) => asked.with(name, point, status).observe(milliseconds / 1000),
    point: (name, status, milliseconds, profile) => points.with(name, status, profile).observe(milliseconds / 1000),
    preempted(count) {
      preemptions.inc()
      if (count !== undefined) victims.observe(count)
    },
    incoming: (queue, event) => incoming.with(queue, event).inc(),
    attempted(result, milliseconds, profile) {
      attempts.with(result, profile).inc()
      seconds.with(result, profile).observe(milliseconds / 1000)
    },
    searched: (milliseconds) => algorithm.with().observe(milliseconds / 1000),
    placed(count, milliseconds) {
      tries.with().observe(count)
      sinceQueued.with(count < MOST_ATTEMPTS ? String(count) : `${MOST_ATTEMPTS}+`).observe(milliseconds / 1000)
    },
    pending(sizes) {
      for (const [queue, size] of Object.entries(sizes)) pending.with(queue).set(size)
    },
  }
}
