import type { Container } from "../../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { ResourceRequirements } from "../../../../pkg/api/core/v1/resources/resources.ts"
import { milliOf, unitsOf } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { RESIZE_CONDITIONS } from "../../../../pkg/api/core/v1/pod/resources/in-force.ts"
import type { Allocation } from "../../model/allocation.ts"

/**
 * What an earlier kubelet process has allocated to a pod. Upstream keeps it in files (pkg/kubelet/allocation/state);
 * here the status tells it, which a kubelet writes before others can see that a resize has ended.
 */

/**
 * Returns the resources that are allocated to the pod: those of its spec, but CPU and memory as the status of running
 * containers, and of the pod as a whole, tells them.
 */
export function allocationOf({ spec, status }: Pod): Allocation {
  const reported = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  const of = (container: Container): Container => {
    const found = reported.find(({ name }) => name === container.name)?.resources
    const resources = found === undefined ? container.resources : earlier(container.resources, found)
    return resources === container.resources ? container : { ...container, resources }
  }
  const containers = same(spec.containers, spec.containers.map(of))
  const initContainers = spec.initContainers && same(spec.initContainers, spec.initContainers.map(of))
  const whole = spec.resources
  const resources = whole === undefined || status.resources === undefined ? whole : earlier(whole, status.resources)
  if (containers === spec.containers && initContainers === spec.initContainers && resources === whole) return spec
  return {
    ...spec,
    containers,
    ...(initContainers === undefined ? {} : { initContainers }),
    ...(resources === undefined ? {} : { resources }),
  }
}

/** Whether an earlier kubelet was stopped while a resize was not in force everywhere. */
export const wasInterrupted = ({ status: { conditions = [] } }: Pod): boolean =>
  conditions.some(({ type, status }) => type === RESIZE_CONDITIONS.inProgress && status === "True")

/** Returns `wanted` with the CPU and memory of `reported`; `wanted` itself when they are the same. */
function earlier<R extends ResourceRequirements>(wanted: R, reported: ResourceRequirements): R {
  let result = wanted
  for (const kind of ["requests", "limits"] as const)
    for (const [name, count] of [
      ["cpu", milliOf],
      ["memory", unitsOf],
    ] as const) {
      const [now, before] = [wanted[kind]?.[name], reported[kind]?.[name]]
      if (now === undefined || before === undefined || count(now) === count(before)) continue
      result = { ...result, [kind]: { ...result[kind], [name]: before } }
    }
  return result
}

const same = <T>(before: readonly T[], now: readonly T[]): readonly T[] =>
  now.every((item, i) => item === before[i]) ? before : now
