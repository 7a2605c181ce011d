import type { Container } from "../../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"

/**
 * Returns the message of an event about a resize: what it is about, and the requested resources of each container as
 * JSON. Source: pkg/kubelet/events/resize.go.
 */
export function resizeMessage({ spec, metadata }: Pod, what: string, error?: string): string {
  const amounts = (containers: readonly Container[]) =>
    containers.map(({ name, resources: { limits, requests, claims } }) => ({
      name,
      resources: { limits, requests, claims },
    }))
  const { initContainers = [], containers } = spec
  const summary = {
    ...(initContainers.length === 0 ? {} : { initContainers: amounts(initContainers) }),
    containers: amounts(containers),
    generation: metadata.generation,
    error,
  }
  return `Pod resize ${what}: ${JSON.stringify(summary)}`
}
