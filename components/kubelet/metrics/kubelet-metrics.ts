import { registerProcessMetrics } from "../../../pkg/metrics/process.ts"
import { Registry, type Distribution, type Value } from "../../../pkg/metrics/registry.ts"
import type { ProbeKind } from "../model/probe-kind.ts"
import type { PodIdentity } from "../model/pod-identity.ts"
import { ContainerMetrics } from "./container-metrics.ts"
import { DEFAULT_BUCKETS } from "./default-buckets.ts"
import { DeviceMetrics } from "./device-metrics.ts"
import { WhenUsed } from "./when-used.ts"

/** Pods with a ready sandbox, and containers by state: created, running, exited, unknown. */
export interface KubeletFigures {
  readonly pods: number
  readonly containers: Readonly<Record<string, number>>
}

export interface KubeletMetricsOptions {
  readonly nodeName: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly figures: () => KubeletFigures
  /** The program's own registry, which has the kubelet's metrics too. */
  readonly shared?: Registry | undefined
}

/**
 * Seconds from when the kubelet first sees a pod until it runs. Source: pkg/kubelet/metrics podStartupDurationBuckets.
 */
const POD_START_BUCKETS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
]
/** Source: pkg/kubelet/metrics RuntimeOperationsDuration, ExponentialBuckets(.005, 2.5, 14). */
const RUNTIME_BUCKETS = Array.from({ length: 14 }, (_, i) => 0.005 * 2.5 ** i)

/**
 * The kubelet's own metrics, under upstream's names. Source: pkg/kubelet/metrics/metrics.go,
 * pkg/kubelet/prober/prober_manager.go.
 */
export class KubeletMetrics {
  /** The registries of /metrics and /metrics/probes. */
  readonly kubelet = new Registry()
  readonly probes = new Registry()
  readonly containers: ContainerMetrics
  readonly devices: DeviceMetrics
  /** Called before the metrics of probes are read, to count checks that have not been counted yet. */
  readonly countsProbes = new Set<() => void>()
  readonly #families: WhenUsed<ReturnType<typeof kubeletFamilies>>
  readonly #runtime: WhenUsed<ReturnType<typeof runtimeFamilies>>
  /** The series of calls that end often, by operation. */
  readonly #calls = new Map<string, readonly (readonly [total: Value, duration: Distribution])[]>()
  readonly #probes: WhenUsed<ReturnType<typeof probeFamilies>>
  /** Labels of the series of each pod, by its uid, which are removed with the pod. */
  readonly #series = new Map<string, Map<string, () => void>>()

  constructor({ nodeName, startedAt, figures, shared }: KubeletMetricsOptions) {
    const registries = [this.kubelet, ...(shared === undefined ? [] : [shared])]
    this.#runtime = new WhenUsed(registries, runtimeFamilies)
    this.containers = new ContainerMetrics(registries)
    this.devices = new DeviceMetrics(registries)
    this.#families = new WhenUsed(registries, kubeletFamilies)
    this.#probes = new WhenUsed([this.probes], probeFamilies)
    for (const registry of registries) registry.whenAsked(() => readFigures(registry, nodeName, figures))
    this.kubelet.whenAsked(() => registerProcessMetrics(this.kubelet, startedAt))
    this.probes.whenAsked(() =>
      this.probes.read(
        "gauge",
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        () => startedAt / 1000,
      ),
    )
  }

  /** Called when a call of the container runtime has ended; `operation` is one of few names. */
  calledRuntime(operation: string, failed: boolean, milliseconds: number): void {
    let series = this.#calls.get(operation)
    if (series === undefined)
      this.#calls.set(
        operation,
        (series = this.#runtime.all.map(({ total, duration }) => [total.with(operation), duration.with(operation)])),
      )
    for (const [total, duration] of series) {
      total.inc()
      duration.observe(milliseconds / 1000)
    }
    if (failed) for (const { errors } of this.#runtime.all) errors.with(operation).inc()
  }

  /** Called when a worker has synchronized its pod. Source: pkg/kubelet/types/pod_update.go SyncPodType. */
  synced(type: "create" | "update" | "kill", milliseconds: number): void {
    for (const { worked } of this.#families.all) worked.with(type).observe(milliseconds / 1000)
  }

  /** Called when the kubelet evicts a pod, with what the node was short of, such as `memory.available`. */
  evicted(signal: string): void {
    for (const { evicted } of this.#families.all) evicted.with(signal).inc()
  }

  /** Called when a pod runs, with the time since the kubelet first saw it. */
  podStarted(milliseconds: number): void {
    for (const { started } of this.#families.all) started.with().observe(milliseconds / 1000)
  }

  probed(
    { uid, namespace, name }: PodIdentity,
    container: string,
    kind: ProbeKind,
    ok: boolean,
    milliseconds: number,
    times = 1,
  ): void {
    const type = TYPES[kind]
    const labels = [container, namespace, name, uid, type, ok ? "successful" : "failed"]
    const timed = [container, namespace, name, type]
    const series = this.#series.get(uid) ?? new Map<string, () => void>()
    this.#series.set(uid, series)
    for (const { probed, seconds } of this.#probes.all) {
      probed.with(...labels).inc(times)
      seconds.with(...timed).observe(milliseconds / 1000, times)
      series.set(labels.join("/"), () => {
        probed.remove(...labels)
        seconds.remove(...timed)
      })
    }
  }

  /** Returns the metrics of probes as text. */
  probesText(): string {
    for (const count of this.countsProbes) count()
    return this.probes.text()
  }

  /** Called when a pod is gone. */
  forget(uid: string): void {
    for (const remove of this.#series.get(uid)?.values() ?? []) remove()
    this.#series.delete(uid)
  }
}

const kubeletFamilies = (registry: Registry) => ({
  worked: registry.histogram(
    "kubelet_pod_worker_duration_seconds",
    "Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync",
    DEFAULT_BUCKETS,
    "operation_type",
  ),
  evicted: registry.counter(
    "kubelet_evictions",
    "Cumulative number of pod evictions by eviction signal",
    "eviction_signal",
  ),
  started: registry.histogram(
    "kubelet_pod_start_duration_seconds",
    "Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run",
    POD_START_BUCKETS,
  ),
})

function readFigures(registry: Registry, nodeName: string, figures: () => KubeletFigures): void {
  registry.gauge("kubelet_node_name", "The node's name. The count is always 1.", "node").with(nodeName).set(1)
  registry.read("gauge", "kubelet_running_pods", "Number of pods that have a running pod sandbox", () => figures().pods)
  registry.readEach(
    "gauge",
    "kubelet_running_containers",
    "Number of containers currently running",
    "container_state",
    () => figures().containers,
  )
}

const probeFamilies = (registry: Registry) => ({
  probed: registry.counter(
    "prober_probe_total",
    "Cumulative number of a liveness, readiness or startup probe for a container by result.",
    "container",
    "namespace",
    "pod",
    "pod_uid",
    "probe_type",
    "result",
  ),
  seconds: registry.histogram(
    "prober_probe_duration_seconds",
    "Duration in seconds for a probe response.",
    DEFAULT_BUCKETS,
    "container",
    "namespace",
    "pod",
    "probe_type",
  ),
})

const runtimeFamilies = (registry: Registry) => ({
  total: registry.counter(
    "kubelet_runtime_operations_total",
    "Cumulative number of runtime operations by operation type.",
    "operation_type",
  ),
  errors: registry.counter(
    "kubelet_runtime_operations_errors_total",
    "Cumulative number of runtime operation errors by operation type.",
    "operation_type",
  ),
  duration: registry.histogram(
    "kubelet_runtime_operations_duration_seconds",
    "Duration in seconds of runtime operations. Broken down by operation type.",
    RUNTIME_BUCKETS,
    "operation_type",
  ),
})

const TYPES: Readonly<Record<ProbeKind, string>> = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" }
