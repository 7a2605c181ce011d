import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import { compareQuantities, quantity } from "../../../apimachinery/scalars/quantity.ts"

/** Returns what of a pod needs an amount of a resource where its containers do not show it: an init container, the overhead. */
export function partWords({ spec }: Pod, resource: string): string {
  const containers = spec.containers.map(({ resources }) => resources?.requests?.[resource] ?? "0")
  const [largest] = (spec.initContainers ?? [])
    .filter(({ restartPolicy }) => restartPolicy !== "Always")
    .map(({ name, resources }) => ({ name, request: resources?.requests?.[resource] ?? "0" }))
    .toSorted((a, b) => compareQuantities(quantity(b.request), quantity(a.request)))
  const total = containers.reduce((sum, one) => sum + quantity(one).nano, 0n)
  const overhead = spec.overhead?.[resource]
  const parts = [
    ...(largest !== undefined && quantity(largest.request).nano > total
      ? [`init container ${largest.name} requests ${largest.request}`]
      : []),
    ...(overhead === undefined
      ? []
      : [`${overhead} of it is the overhead of RuntimeClass ${spec.runtimeClassName ?? ""}`]),
  ]
  return parts.length === 0 ? "" : ` (${parts.join("; ")})`
}
