import type { ContainerStatus, PodStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { byName } from "../../../pkg/cache/by-name.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { ContainerType } from "../model/containers.ts"
import { WhenUsed } from "./when-used.ts"

/** Source: pkg/kubelet/metrics/metrics.go Container, InitContainer, EphemeralContainer. */
const TYPES: Readonly<Record<ContainerType, string>> = {
  init: "init_container",
  sidecar: "init_container",
  regular: "container",
  ephemeral: "ephemeral_container",
}

/** The lists of statuses in a pod's status, and the type of their containers. */
const LISTS = [
  ["initContainerStatuses", TYPES.init],
  ["containerStatuses", TYPES.regular],
  ["ephemeralContainerStatuses", TYPES.ephemeral],
] as const

/**
 * Counts starts and ends of pods and containers, under upstream's names. Source: pkg/kubelet/metrics/metrics.go,
 * pkg/kubelet/status/status_manager.go checkAndRecordTerminations.
 */
export class ContainerMetrics {
  readonly #families: WhenUsed<ReturnType<typeof familiesOf>>

  constructor(registries: readonly Registry[]) {
    this.#families = new WhenUsed(registries, familiesOf)
  }

  /** Called before a pod's sandbox is made. */
  startsPod(): void {
    for (const { pods } of this.#families.all) pods.with().inc()
  }

  /** Called before the sandbox of a pod with `hostUsers: false` is made. */
  startsUserNamespacedPod(): void {
    for (const { namespaced } of this.#families.all) namespaced.with().inc()
  }

  /** Called when such a sandbox, or a container that starts with it, could not be started. */
  failedUserNamespacedPod(): void {
    for (const { namespacedFailures } of this.#families.all) namespacedFailures.with().inc()
  }

  /** Called before a container is started. */
  starts(type: ContainerType): void {
    for (const { starts } of this.#families.all) starts.with(TYPES[type]).inc()
  }

  /** Called when a start has failed; `code` is the reason in the container's status, such as ErrImagePull. */
  failed(type: ContainerType, code: string): void {
    for (const { failures } of this.#families.all) failures.with(TYPES[type], code).inc()
  }

  /** Called when a container with image volumes is started, and when its start has ended. */
  imageVolumes(count: number, what: "requested" | "mounted" | "failed"): void {
    if (count > 0) for (const { imageVolumes } of this.#families.all) imageVolumes[what].with().inc(count)
  }

  /** Called when a pod's status changes: counts the containers that have ended since the status before. */
  reported(before: PodStatus, after: PodStatus): void {
    for (const [list, type] of LISTS)
      for (const { name, state } of after[list] ?? []) {
        const { terminated } = state
        if (terminated === undefined || hasEnded(before[list], name)) continue
        for (const { ends } of this.#families.all)
          ends.with(type, String(terminated.exitCode), terminated.reason ?? "").inc()
      }
  }
}

const hasEnded = (statuses: readonly ContainerStatus[] | undefined, name: string): boolean =>
  byName(statuses, name)?.state.terminated !== undefined

const familiesOf = (registry: Registry) => ({
  imageVolumes: {
    requested: registry.counter("kubelet_image_volume_requested_total", "Number of requested image volumes."),
    mounted: registry.counter(
      "kubelet_image_volume_mounted_succeed_total",
      "Number of successful image volume mounts.",
    ),
    failed: registry.counter("kubelet_image_volume_mounted_errors_total", "Number of failed image volume mounts."),
  },
  pods: registry.counter("kubelet_started_pods_total", "Cumulative number of pods started"),
  namespaced: registry.counter(
    "kubelet_started_user_namespaced_pods_total",
    "Cumulative number of pods with user namespaces started. This metric will only be collected on Linux.",
  ),
  namespacedFailures: registry.counter(
    "kubelet_started_user_namespaced_pods_errors_total",
    "Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux.",
  ),
  starts: registry.counter(
    "kubelet_started_containers_total",
    "Cumulative number of containers started",
    "container_type",
  ),
  failures: registry.counter(
    "kubelet_started_containers_errors_total",
    "Cumulative number of errors when starting containers",
    "container_type",
    "code",
  ),
  ends: registry.counter(
    "kubelet_terminated_containers_total",
    "Cumulative number of container terminations.",
    "container_type",
    "exit_code",
    "reason",
  ),
})
