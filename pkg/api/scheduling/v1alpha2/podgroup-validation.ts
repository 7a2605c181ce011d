import type { Cause } from "../../../apimachinery/errors.ts"
import { pushAll } from "../../../lists/push-all.ts"
import {
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
  tooMany,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { isLongName, isQualifiedName, type Check } from "../../../apimachinery/validation/names.ts"
import {
  DISRUPTION_MODES,
  type PodGroupSchedulingConstraints,
  type PodGroupSchedulingPolicy,
} from "./podgrouptemplate.ts"

/**
 * The rules of a PodGroup's fields, which are those of a template too. Source: the tags `+k8s:…` of
 * k8s.io/api scheduling/v1alpha2/types.go, and apimachinery pkg/api/validate for the words.
 */

const MOST_TOPOLOGIES = 1
/** The highest priority that is no system component's. */
const HIGHEST_PRIORITY = 1_000_000_000

/** What a PodGroup and its template have in common. */
export interface Grouped {
  readonly schedulingPolicy: PodGroupSchedulingPolicy
  readonly schedulingConstraints?: PodGroupSchedulingConstraints | null | undefined
  readonly disruptionMode?: string | undefined
  readonly priorityClassName?: string | undefined
  readonly priority?: number | undefined
}

/** Returns the faults of the fields that groups and templates share, with paths from the group or the template on. */
export function groupedFaults(grouped: Grouped): readonly Cause[] {
  const { schedulingPolicy, schedulingConstraints, disruptionMode, priorityClassName = "", priority } = grouped
  const causes: Cause[] = []
  within(causes, policyFaults(schedulingPolicy), "schedulingPolicy")
  if (schedulingConstraints) within(causes, constraintFaults(schedulingConstraints), "schedulingConstraints")
  if (disruptionMode !== undefined && !(DISRUPTION_MODES as readonly string[]).includes(disruptionMode))
    causes.push(notSupported("disruptionMode", disruptionMode, DISRUPTION_MODES))
  if (priorityClassName !== "")
    pushAll(causes, invalidValues("priorityClassName", priorityClassName, isLongName(priorityClassName)))
  if (priority !== undefined && priority > HIGHEST_PRIORITY)
    causes.push(invalidValue("priority", priority, `must be less than or equal to ${HIGHEST_PRIORITY}`))
  return causes
}

/** Returns the fault of a union of which not exactly one member is set. */
export function unionFaults(value: object, members: readonly string[]): readonly Cause[] {
  const set = members.filter((name) => ((value as Readonly<Record<string, unknown>>)[name] ?? undefined) !== undefined)
  if (set.length === 1) return NO_CAUSES
  const all = members.map((name) => `\`${name}\``).join(", ")
  return set.length === 0
    ? [invalidValue("", "", `must specify one of: ${all}`)]
    : [invalidValue("", `{${set.join(", ")}}`, `must specify exactly one of: ${all}`)]
}

/** Returns the faults of a text that must be there, and have a form. */
export const textFaults = (field: string, text: string, form: Check): readonly Cause[] =>
  text === "" ? [required(field)] : invalidValues(field, text, form(text))

function policyFaults(policy: PodGroupSchedulingPolicy): readonly Cause[] {
  const causes = [...unionFaults(policy, ["basic", "gang"])]
  const { minCount } = policy.gang ?? { minCount: 1 }
  if (minCount === 0) causes.push(required("gang.minCount"))
  else if (minCount < 1) causes.push(invalidValue("gang.minCount", minCount, "must be greater than or equal to 1"))
  return causes
}

function constraintFaults({ topology = [] }: PodGroupSchedulingConstraints): readonly Cause[] {
  if (topology.length > MOST_TOPOLOGIES) return [tooMany("topology", topology.length, MOST_TOPOLOGIES)]
  const causes: Cause[] = []
  for (const [i, { key }] of topology.entries()) within(causes, textFaults("key", key, isQualifiedName), "topology", i)
  return causes
}
