import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { RuntimeClass } from "../../../../pkg/api/node/v1/runtimeclass.ts"
import { deepEqual } from "../../../../pkg/apimachinery/equal.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { podOf } from "./pods.ts"

/**
 * A pod of a runtime class costs what the class costs and goes where the class runs. Source:
 * plugin/pkg/admission/runtimeclass.
 */
export const runtimeClass = ({ objects }: AdmissionContext): AdmissionPlugin => ({
  name: "RuntimeClass",
  operations: ["CREATE"],
  kinds: ["pods"],
  admit(attributes) {
    const pod = podOf(attributes)
    const name = pod?.spec.runtimeClassName
    if (pod === undefined) return undefined
    const refuse = (why: string) => forbidden(attributes.resource, attributes.name, `pod rejected: ${why}`)
    if (name === undefined || name === "") {
      if (pod.spec.overhead !== undefined && Object.keys(pod.spec.overhead).length > 0)
        throw refuse("Pod Overhead set without corresponding RuntimeClass defined Overhead")
      return undefined
    }
    const found = objects.get(RuntimeClass, { name })
    if (found === undefined) throw refuse(`RuntimeClass ${JSON.stringify(name)} not found`)
    const { overhead, scheduling } = found
    const cost = overhead?.podFixed
    if (pod.spec.overhead !== undefined && !deepEqual(pod.spec.overhead, cost ?? {}))
      throw refuse("Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    const { nodeSelector = {}, tolerations = [] } = pod.spec
    const clash = Object.entries(scheduling?.nodeSelector ?? {}).find(
      ([key, value]) => nodeSelector[key] !== undefined && nodeSelector[key] !== value,
    )
    if (clash !== undefined)
      throw refuse(
        `conflict: runtimeClass.scheduling.nodeSelector[${clash[0]}] = ${clash[1]}; pod.spec.nodeSelector[${clash[0]}] = ${nodeSelector[clash[0]]}`,
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
    } as Pod
  },
})
