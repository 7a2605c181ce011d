import type { Registry } from "../../../pkg/metrics/registry.ts"
import { DEFAULT_BUCKETS } from "./default-buckets.ts"
import { WhenUsed } from "./when-used.ts"

type Endpoint = "list" | "get" | "get_allocatable"

/**
 * Metrics of device plugins, and of the API that lists the resources of pods, under upstream's names. Source:
 * pkg/kubelet/metrics/metrics.go.
 */
export class DeviceMetrics {
  readonly #families: WhenUsed<ReturnType<typeof familiesOf>>

  /** @param registries each has all metrics */
  constructor(registries: readonly Registry[]) {
    this.#families = new WhenUsed(registries, familiesOf)
  }

  /** Called when a plugin asks to be registered for a resource. */
  registered(resource: string): void {
    for (const { registrations } of this.#families.all) registrations.with(resource).inc()
  }

  /** Called when a plugin has allocated devices, or has failed to. */
  allocated(resource: string, milliseconds: number): void {
    for (const { allocations } of this.#families.all) allocations.with(resource).observe(milliseconds / 1000)
  }

  /** Called for each request for the resources of pods; v1alpha1 has no counter of its own endpoint. */
  asked(version: string, endpoint?: Endpoint): void {
    for (const { requests, of } of this.#families.all) {
      requests.with(version).inc()
      if (endpoint !== undefined) of[endpoint].requests.with(version).inc()
    }
  }

  /** Called when such a request fails. */
  failed(version: string, endpoint: Endpoint): void {
    for (const { of } of this.#families.all) of[endpoint].errors.with(version).inc()
  }
}

function familiesOf(registry: Registry) {
  const ofEndpoint = (endpoint: Endpoint, method: string) => ({
    requests: registry.counter(
      `kubelet_pod_resources_endpoint_requests_${endpoint}`,
      `Requests to the method ${method} of the API for the resources of pods`,
      "server_api_version",
    ),
    errors: registry.counter(
      `kubelet_pod_resources_endpoint_errors_${endpoint}`,
      `Failed requests to the method ${method} of the API for the resources of pods`,
      "server_api_version",
    ),
  })
  return {
    registrations: registry.counter(
      "kubelet_device_plugin_registration_total",
      "Registrations of device plugins by resource",
      "resource_name",
    ),
    allocations: registry.histogram(
      "kubelet_device_plugin_alloc_duration_seconds",
      "Seconds that device plugins took to allocate devices, by resource",
      DEFAULT_BUCKETS,
      "resource_name",
    ),
    requests: registry.counter(
      "kubelet_pod_resources_endpoint_requests_total",
      "Requests to the API for the resources of pods",
      "server_api_version",
    ),
    of: {
      list: ofEndpoint("list", "List"),
      get: ofEndpoint("get", "Get"),
      get_allocatable: ofEndpoint("get_allocatable", "GetAllocatableResources"),
    },
  }
}
