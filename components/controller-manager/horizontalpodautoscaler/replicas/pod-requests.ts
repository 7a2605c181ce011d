import { addQuantities, milliOf, quantity, type Quantity } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { isAskedFor, isOfPods, together } from "../../../../pkg/api/core/v1/pod/resources/pod-resources.ts"

/**
 * Returns what a pod, or one of its containers, requests of a resource, in thousandths. Where the pod as a whole
 * requests something, that counts, and containers need no requests of their own. Source: calculateRequests in
 * pkg/controller/podautoscaler/replica_calculator.go, KEP-2837.
 * @throws Error that names what has no request
 */
export function requestOf({ metadata, spec }: Pod, resource: string, container: string | undefined): number {
  const { name } = metadata
  const ofPod = spec.resources?.requests ?? {}
  if (container === undefined && Object.keys(ofPod).some(isOfPods)) {
    const whole = isOfPods(resource) ? ofPod[resource] : undefined
    if (whole === undefined && !isAskedFor(spec, "requests", resource))
      throw new Error(`missing pod-level request for ${resource} in Pod ${name}`)
    const asked = whole === undefined ? together(spec, "requests", resource) : quantity(whole)
    return milliOfQuantity(addQuantities(asked, quantity(spec.overhead?.[resource] ?? "0")))
  }
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always")
  let total = 0
  for (const one of [...spec.containers, ...sidecars]) {
    if (container !== undefined && container !== one.name) continue
    const request = one.resources?.requests?.[resource]
    if (request === undefined)
      throw new Error(`missing request for ${resource} in container ${one.name} of Pod ${name}`)
    total += milliOf(request)
    if (container === one.name) return total
  }
  if (container !== undefined) throw new Error(`container ${container} not found in Pod ${name}`)
  return total
}

const milliOfQuantity = ({ nano }: Quantity): number => Number((nano + 999_999n) / 1_000_000n)
