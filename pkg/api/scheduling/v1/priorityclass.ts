import type { Cause } from "../../../apimachinery/errors.ts"
import { forbiddenField } from "../../../apimachinery/validation/field-errors.ts"
import { f } from "../../../apimachinery/fields.ts"
import { preemptionPolicyFaults } from "../../core/v1/pod/scheduling/preemption-policy.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { ageOf } from "../../../apimachinery/scalars/time.ts"

/** Source: k8s.io/api scheduling/v1/types.go, pkg/apis/scheduling/{types,helpers}.go and validation. */

/** The highest value that a user may set. Higher values are for the system's classes. */
const HIGHEST_USER_PRIORITY = 1_000_000_000
const SYSTEM_PREFIX = "system-"
/** The two classes that the server creates. */
export const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  "system-node-critical": 2 * HIGHEST_USER_PRIORITY + 1000,
  "system-cluster-critical": 2 * HIGHEST_USER_PRIORITY,
}

const fields = {
  value: f.int32(2, "Priority of pods of this class; higher goes first.").default(0).printZero(),
  globalDefault: f.bool(3, "Whether pods without a class get this one."),
  description: f.string(4, "Description of when to use the class."),
  preemptionPolicy: f
    .string(5, "Whether pods of this class may push out others.")
    .default("PreemptLowerPriority")
    .enum("PreemptLowerPriority", "Never")
    .pointer()
    .ownRule(),
}
export interface PriorityClass extends ObjectFor<typeof fields> {}

export const PriorityClass = defineResource(
  {
    group: "scheduling.k8s.io",
    version: "v1",
    kind: "PriorityClass",
    plural: "priorityclasses",
    shortNames: ["pc"],
    scope: "Cluster",
    doc: "A name for a priority of pods.",
    // No change raises the generation.
    generation: { counts: () => false },
    ageColumn: false,
    columns: [
      { name: "Value", type: "integer", doc: "Priority of pods of this class.", value: ({ value }) => value },
      {
        name: "Global-Default",
        type: "boolean",
        doc: "Whether pods without a class get this one.",
        value: ({ globalDefault }) => globalDefault ?? false,
      },
      {
        name: "Age",
        type: "string",
        doc: "Time since the object was created.",
        value: ({ metadata }, now) => ageOf(metadata.creationTimestamp, now),
      },
      {
        name: "PreemptionPolicy",
        type: "string",
        doc: "Whether pods of this class may preempt other pods.",
        value: ({ preemptionPolicy }) => preemptionPolicy,
      },
    ],
    refusesDeletion: (name) =>
      SYSTEM_PRIORITIES[name] === undefined ? undefined : "this is a system priority class and cannot be deleted",
    validateCreate: (priorityClass) => [
      ...classFaults(priorityClass),
      ...preemptionPolicyFaults("preemptionPolicy", priorityClass.preemptionPolicy),
    ],
    validateUpdate: (priorityClass, old) => [
      ...(priorityClass.value === old.value ? [] : [forbiddenField("value", "may not be changed in an update.")]),
      ...(priorityClass.preemptionPolicy === old.preemptionPolicy
        ? []
        : [
            {
              reason: "FieldValueInvalid" as const,
              field: "preemptionPolicy",
              message: `Invalid value: "${priorityClass.preemptionPolicy}": field is immutable`,
            },
          ]),
    ],
  },
  fields,
)

function classFaults({ metadata: { name = "" }, value, globalDefault }: PriorityClass): readonly Cause[] {
  if (!name.startsWith(SYSTEM_PREFIX))
    return value > HIGHEST_USER_PRIORITY
      ? [forbiddenField("value", `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`)]
      : []
  const refuse = (why: string) => [
    forbiddenField(
      "metadata.name",
      `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${why}`,
    ),
  ]
  const own = SYSTEM_PRIORITIES[name]
  if (own === undefined) return refuse(`${name} is not a known system priority class`)
  if (own !== value) return refuse(`value of ${name} PriorityClass must be ${own}`)
  return globalDefault === true ? refuse(`globalDefault of ${name} PriorityClass must be false`) : []
}
