import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue } from "../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import type { Container } from "../../core/v1/container/container.ts"
import { PodSpec } from "../../core/v1/pod/podspec.ts"
import { PodTemplateSpec } from "../../core/v1/podtemplate/podtemplatespec.ts"
import { PodFailurePolicy, SuccessPolicy, type JobSpec, type JobStatus } from "./jobspec.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Checks which fields of a Job an update may change. Source: ValidateJobSpecUpdate in pkg/apis/batch/validation/validation.go. */
interface JobView {
  readonly spec: JobSpec
  readonly status: JobStatus
}

export function validateJobChange({ spec }: JobView, { spec: old, status }: JobView): readonly Cause[] {
  const causes: Cause[] = [...completionsFaults(spec, old)]
  const fixed = (field: keyof JobSpec, shown: unknown) => {
    if (!deepEqual(spec[field], old[field])) causes.push(invalidValue(`spec.${field}`, shown, "field is immutable"))
  }
  fixed("selector", spec.selector)
  pushAll(causes, templateFaults(spec.template, old, status))
  fixed("completionMode", spec.completionMode)
  fixed("podFailurePolicy", spec.podFailurePolicy && goForm(PodFailurePolicy, spec.podFailurePolicy))
  fixed("backoffLimitPerIndex", spec.backoffLimitPerIndex)
  fixed("managedBy", spec.managedBy)
  fixed("successPolicy", spec.successPolicy && goForm(SuccessPolicy, spec.successPolicy))
  return causes
}

function completionsFaults({ completions, completionMode, parallelism }: JobSpec, old: JobSpec): readonly Cause[] {
  if (completions === old.completions) return []
  if (completionMode !== "Indexed") return [invalidValue("spec.completions", completions, "field is immutable")]
  return completions === undefined || completions === parallelism
    ? []
    : [invalidValue("spec.completions", completions, "can only be modified in tandem with spec.parallelism")]
}

/** A suspended Job without pods may get other resources and scheduling constraints. */
function templateFaults(
  template: PodTemplateSpec,
  { suspend, template: old }: JobSpec,
  status: JobStatus,
): readonly Cause[] {
  const held = status.conditions?.some(({ type, status }) => type === "Suspended" && status === "True") === true
  const free = suspend === true && (status.startTime === undefined || held) && (status.active ?? 0) === 0
  if (!free)
    return deepEqual(template, old)
      ? []
      : [invalidValue("spec.template", goForm(PodTemplateSpec, template), "field is immutable")]
  return deepEqual(template.spec, movableAs(old.spec, template.spec))
    ? []
    : [invalidValue("spec.template.spec", goForm(PodSpec, template.spec), "field is immutable")]
}

/** Returns a pod spec with the resources and scheduling constraints of another one. */
function movableAs(old: PodSpec, spec: PodSpec): PodSpec {
  const { nodeSelector, tolerations, schedulingGates } = spec
  return {
    ...old,
    nodeSelector,
    tolerations,
    schedulingGates,
    affinity: affinityAs(old.affinity, spec.affinity),
    containers: withResources(old.containers, spec.containers),
    ...(old.initContainers && { initContainers: withResources(old.initContainers, spec.initContainers) }),
  }
}

function affinityAs(old: PodSpec["affinity"], affinity: PodSpec["affinity"]): PodSpec["affinity"] {
  if (affinity === undefined && old === undefined) return undefined
  const moved = { ...old, nodeAffinity: affinity?.nodeAffinity }
  return affinity === undefined && Object.values(moved).every((part) => part === undefined) ? undefined : moved
}

function withResources(old: readonly Container[], containers: readonly Container[] = []): readonly Container[] {
  if (old.length !== containers.length) return old
  return old.map((container, i) => {
    const other = containers[i]!
    return container.name === other.name ? { ...container, resources: other.resources } : container
  })
}
