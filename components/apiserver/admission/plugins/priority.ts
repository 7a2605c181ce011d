import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { PodGroup } from "../../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { PriorityClass } from "../../../../pkg/api/scheduling/v1/priorityclass.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { DEFAULT_FEATURES, type Features } from "../../../../pkg/component/features.ts"
import { on, type AdmissionAttributes, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const NAME = "Priority"

/**
 * Sets the priority of a pod, and of a PodGroup, from its PriorityClass, or from the default class. Source:
 * plugin/pkg/admission/priority.
 */
export function priority(
  { objects }: AdmissionContext,
  { WorkloadAwarePreemption }: Pick<Features, "WorkloadAwarePreemption"> = DEFAULT_FEATURES,
): readonly AdmissionPlugin[] {
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
  const ofGroups: AdmissionPlugin = {
    name: NAME,
    operations: ["CREATE"],
    kinds: ["podgroups.scheduling.k8s.io"],
    admit(attributes) {
      if (attributes.subresource !== undefined) return undefined
      const group = attributes.object as PodGroup
      const { priorityClassName: name } = group.spec
      return withGroupPriority(attributes, group, name ? classNamed(attributes, name) : defaultClass())
    },
  }
  return [ofPods, ofClasses, ...(WorkloadAwarePreemption ? [ofGroups] : [])]

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

function withGroupPriority(
  { resource, name }: AdmissionAttributes,
  group: PodGroup,
  found: PriorityClass | undefined,
): PodGroup {
  const { spec } = group
  const value = found?.value ?? 0
  if (spec.priority !== undefined && spec.priority !== value)
    throw forbidden(
      resource,
      name,
      `priority set in the pod group (${spec.priority}) must match the priority computed (${value}) based on the ` +
        "priority class set in the spec",
    )
  const ofClass = found === undefined ? {} : { priorityClassName: found.metadata.name }
  return { ...group, spec: { ...spec, ...ofClass, priority: value } }
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
