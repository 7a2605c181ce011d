import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { Toleration } from "../../../../pkg/api/core/v1/pod/scheduling/tolerations.ts"
import { isExtendedResource } from "../../../../pkg/api/core/v1/resources/resource-names.ts"
import { on, type AdmissionPlugin } from "../admission.ts"

/**
 * Lets pods that request an extended resource, such as a GPU, onto nodes with a taint of its name, which keeps all
 * other pods off. Source: plugin/pkg/admission/extendedresourcetoleration.
 */
export const extendedResourceToleration: AdmissionPlugin = on(Pod, {
  name: "ExtendedResourceToleration",
  operations: ["CREATE", "UPDATE"],
  admit({ object: pod }) {
    const { containers, initContainers = [], tolerations = [] } = pod.spec
    const requested = [...containers, ...initContainers].flatMap(({ resources }) =>
      Object.keys(resources?.requests ?? {}).filter(isExtendedResource),
    )
    if (requested.length === 0) return undefined
    const wanted = [...new Set(requested)]
      .sort()
      .map((key) => ({ key, operator: "Exists", effect: "NoSchedule" }) as const)
    return { ...pod, spec: { ...pod.spec, tolerations: wanted.reduce(withToleration, tolerations) } }
  },
})

/** Adds a toleration; it replaces those of the same taint and operator. Source: AddOrUpdateTolerationInPod. */
function withToleration(tolerations: readonly Toleration[], wanted: Toleration): readonly Toleration[] {
  const isSame = ({ key, operator, effect, value = "" }: Toleration) =>
    key === wanted.key && operator === wanted.operator && effect === wanted.effect && value === ""
  return tolerations.some(isSame)
    ? tolerations.map((toleration) => (isSame(toleration) ? wanted : toleration))
    : [...tolerations, wanted]
}
