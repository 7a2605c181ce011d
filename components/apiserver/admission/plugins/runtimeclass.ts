import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { RuntimeClass } from "../../../../pkg/api/node/v1/runtimeclass.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { ApiError, forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { isPathSegmentName } from "../../../../pkg/apimachinery/validation/names.ts"
import { on, type AdmissionAttributes, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
const OVERHEAD_WITHOUT_CLASS = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"

/**
 * Sets the overhead and the scheduling constraints of a pod's RuntimeClass. Source: plugin/pkg/admission/runtimeclass.
 */
export const runtimeClass = ({ objects }: AdmissionContext): AdmissionPlugin =>
  on(Pod, {
    name: "RuntimeClass",
    operations: ["CREATE"],
    admit(attributes) {
      const { object: pod } = attributes
      const found = classOf(objects, attributes, pod)
      if (found === undefined) return undefined
      const refuse = (why: string) => forbidden(attributes.resource, attributes.name, why)
      const { overhead, scheduling } = found
      const cost = overhead?.podFixed
      if (overhead !== undefined && pod.spec.overhead !== undefined && !deepEqual(pod.spec.overhead, cost ?? {}))
        throw refuse(OTHER_OVERHEAD)
      const { nodeSelector = {}, tolerations = [] } = pod.spec
      const clash = Object.entries(scheduling?.nodeSelector ?? {}).find(
        ([key, value]) => nodeSelector[key] !== undefined && nodeSelector[key] !== value,
      )
      if (clash !== undefined)
        throw refuse(
          `conflict: runtimeClass.scheduling.nodeSelector[${clash[0]}] = ${clash[1]}; ` +
            `pod.spec.nodeSelector[${clash[0]}] = ${nodeSelector[clash[0]]}`,
        )
      const added = (scheduling?.tolerations ?? []).filter(
        (toleration) => !tolerations.some((known) => deepEqual(known, toleration)),
      )
      const selector = { ...nodeSelector, ...scheduling?.nodeSelector }
      return {
        ...pod,
        spec: {
          ...pod.spec,
          ...(cost === undefined ? {} : { overhead: cost }),
          ...(Object.keys(selector).length === 0 ? {} : { nodeSelector: selector }),
          ...(added.length === 0 ? {} : { tolerations: [...tolerations, ...added] }),
        },
      }
    },
    validate(attributes) {
      const { object: pod } = attributes
      const overhead = classOf(objects, attributes, pod)?.overhead
      const refuse = (why: string) => forbidden(attributes.resource, attributes.name, why)
      if (overhead === undefined && pod.spec.overhead !== undefined) throw refuse(OVERHEAD_WITHOUT_CLASS)
      if (overhead !== undefined && !deepEqual(overhead.podFixed ?? {}, pod.spec.overhead ?? {}))
        throw refuse(OTHER_OVERHEAD)
    },
  })

/** @throws ApiError for a class that there is not, and without a reason, as upstream's client, for what is no name */
function classOf(
  objects: AdmissionContext["objects"],
  { resource, name: podName }: AdmissionAttributes,
  { spec: { runtimeClassName: name } }: Pod,
): RuntimeClass | undefined {
  if (name === undefined) return undefined
  if (name === "") throw new ApiError("Unknown", "resource name may not be empty")
  const wrong = isPathSegmentName(name)
  if (wrong !== undefined)
    throw new ApiError("Unknown", `invalid resource name ${JSON.stringify(name)}: [${[wrong].flat().join(" ")}]`)
  const found = objects.get(RuntimeClass, { name })
  if (found === undefined)
    throw forbidden(resource, podName, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`)
  return found
}
