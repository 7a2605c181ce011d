import type { Container } from "../container/container.ts"
import { completedPodResources } from "./pod-resources.ts"
import type { PodSpec } from "./podspec.ts"

/**
 * Defaults of pods alone, which templates do not get: requests follow limits, host ports follow container ports on the
 * host network, service links are on, what is asked for the pod as a whole is completed. Gives back the very spec when
 * nothing is to be added. Source: SetDefaults_Pod in pkg/apis/core/v1/defaults.go.
 */
export function defaultPodSpec(given: PodSpec): PodSpec {
  // Of pods only, as a template may say what it likes. Source: Convert_v1_Pod_To_core_Pod.
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

/** After the containers, whose own defaults count. */
function withPodResources(spec: PodSpec): PodSpec {
  // Defaults come before validation, so `containers` may still be missing.
  const resources = spec.containers === undefined ? spec.resources : completedPodResources(spec)
  return resources === undefined || resources === spec.resources ? spec : { ...spec, resources }
}

/** The list with each item changed, or the very list when none is. */
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
