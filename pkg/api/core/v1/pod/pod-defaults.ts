import type { Container } from "../container/container.ts"
import { completedPodResources } from "./resources/pod-resources.ts"
import type { PodSpec } from "./podspec.ts"

/**
 * Sets the defaults that pods get and templates do not: missing requests become the limits, missing host ports on the
 * host network become the container ports, service links are on, and the pod-level resources are completed. Returns the
 * same spec when nothing is added. Source: SetDefaults_Pod in pkg/apis/core/v1/defaults.go.
 */
export function defaultPodSpec(given: PodSpec): PodSpec {
  // Only for pods: templates keep the value that was sent. Source: Convert_v1_Pod_To_core_Pod.
  const spec = given.terminationGracePeriodSeconds < 0 ? { ...given, terminationGracePeriodSeconds: 1 } : given
  const adjust = (container: Container) => hostPorts(requestsFromLimits(container), spec.hostNetwork === true)
  const containers = mapped(spec.containers, adjust)
  const initContainers = mapped(spec.initContainers, adjust)
  if (containers === spec.containers && initContainers === spec.initContainers && spec.enableServiceLinks !== undefined)
    return withPodResources(spec)
  return withPodResources({
    ...spec,
    ...(containers === undefined ? {} : { containers }),
    ...(initContainers === undefined ? {} : { initContainers }),
    enableServiceLinks: spec.enableServiceLinks ?? true,
  })
}

/** Sets the defaults of the pod-level resources. Runs after the containers' defaults, which it reads. */
function withPodResources(spec: PodSpec): PodSpec {
  // Defaulting runs before validation, so `containers` may still be missing.
  const resources = spec.containers === undefined ? spec.resources : completedPodResources(spec)
  return resources === undefined || resources === spec.resources ? spec : { ...spec, resources }
}

/** Returns the list with each item changed by `change`; the same list when no item changes. */
function mapped<T>(list: readonly T[] | undefined, change: (item: T) => T): typeof list {
  if (list === undefined) return undefined
  const changed = list.map(change)
  return changed.some((item, i) => item !== list[i]) ? changed : list
}

function requestsFromLimits(container: Container): Container {
  const { limits, requests = {} } = container.resources
  if (limits === undefined) return container
  const missing = Object.entries(limits).filter(([name]) => !Object.hasOwn(requests, name))
  return missing.length === 0
    ? container
    : { ...container, resources: { ...container.resources, requests: { ...requests, ...Object.fromEntries(missing) } } }
}

function hostPorts(container: Container, hostNetwork: boolean): Container {
  if (!hostNetwork) return container
  const ports = mapped(container.ports, (port) =>
    (port.hostPort ?? 0) === 0 ? { ...port, hostPort: port.containerPort } : port,
  )
  return ports === container.ports || ports === undefined ? container : { ...container, ports }
}
