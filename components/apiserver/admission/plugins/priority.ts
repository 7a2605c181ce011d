import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { PriorityClass } from "../../../../pkg/api/scheduling/v1/priorityclass.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { on, type AdmissionAttributes, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const NAME = "Priority"

/** Sets a pod's priority from its PriorityClass, or from the default class. Source: plugin/pkg/admission/priority. */
export function priority({ objects }: AdmissionContext): readonly AdmissionPlugin[] {
  const ofPods = on(Pod, {
    name: NAME,
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      const { object: pod, old } = attributes
      if (old !== undefined) return withOldPriority(pod, old)
      return withPriority(
        attributes,
        pod,
        pod.spec.priorityClassName ? classNamed(attributes, pod.spec.priorityClassName) : defaultClass(),
      )
    },
  })
  const ofClasses = on(PriorityClass, {
    name: NAME,
    operations: ["CREATE", "UPDATE"],
    validate({ resource, name, object }) {
      if (object.globalDefault !== true) return
      const other = objects
        .list(PriorityClass)
        .find((known) => known.globalDefault === true && known.metadata.name !== name)
      if (other !== undefined)
        throw forbidden(
          resource,
          name,
          `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`,
        )
    },
  })
  return [ofPods, ofClasses]

  function classNamed({ resource, name }: AdmissionAttributes, className: string): PriorityClass {
    const found = objects.get(PriorityClass, { name: className })
    if (found === undefined) throw forbidden(resource, name, `no PriorityClass with name ${className} was found`)
    return found
  }

  /** Returns the default class. Concurrent writes may leave several, of which the one with the lowest value counts. */
  function defaultClass(): PriorityClass | undefined {
    let found: PriorityClass | undefined
    for (const known of objects.list(PriorityClass))
      if (known.globalDefault === true && (found === undefined || known.value < found.value)) found = known
    return found
  }
}

function withPriority({ resource, name }: AdmissionAttributes, pod: Pod, found: PriorityClass | undefined): Pod {
  const { spec } = pod
  const value = found?.value ?? 0
  const preemption = found?.preemptionPolicy ?? "PreemptLowerPriority"
  if (spec.priority !== undefined && spec.priority !== value)
    throw forbidden(
      resource,
      name,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission ` +
        `controller computed ${value} from the given PriorityClass name`,
    )
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemption)
    throw forbidden(
      resource,
      name,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; ` +
        `priority admission controller computed ${preemption} from the given PriorityClass name`,
    )
  return {
    ...pod,
    spec: {
      ...spec,
      ...(found === undefined ? {} : { priorityClassName: found.metadata.name }),
      priority: value,
      preemptionPolicy: preemption,
    },
  }
}

/**
 * Keeps the priority that was computed at creation when a client that does not know these fields sends the pod without
 * them.
 */
function withOldPriority(pod: Pod, old: Pod): Pod | undefined {
  const { priority, preemptionPolicy } = pod.spec
  if (priority !== undefined && preemptionPolicy !== undefined) return undefined
  return {
    ...pod,
    spec: {
      ...pod.spec,
      priority: priority ?? old.spec.priority,
      preemptionPolicy: preemptionPolicy ?? old.spec.preemptionPolicy,
    },
  }
}
