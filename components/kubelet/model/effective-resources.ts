import type { Container } from "../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { milliOf, unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"

type Limited = Pick<Container, "resources">

/** Requests and limits as numbers: milli-cores and bytes, 0 for none. */
export interface EffectiveResources {
  readonly cpu: { readonly request: number; readonly limit: number }
  readonly memory: { readonly request: number; readonly limit: number }
}

/**
 * Returns what a container has: its own requests and limits, and the pod's limit where it has none. Source: GetLimits
 * in pkg/kubelet/util/util.go.
 */
export function effectiveResources(
  { resources: whole }: Pick<Pod["spec"], "resources">,
  { resources }: Limited,
): EffectiveResources {
  const of = (name: "cpu" | "memory", count: (text: string) => number) => {
    const amount = (text: string | undefined) => (text === undefined ? 0 : count(text))
    return {
      request: amount(resources.requests?.[name]),
      limit: amount(resources.limits?.[name]) || amount(whole?.limits?.[name]),
    }
  }
  return { cpu: of("cpu", milliOf), memory: of("memory", unitsOf) }
}
