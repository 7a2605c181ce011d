import type { Cause } from "../../../apimachinery/errors.ts"
import { at, forbiddenField, invalidValue, required } from "../../../apimachinery/field-errors.ts"
import { formatFieldSelector } from "../../../apimachinery/fieldselector.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { LabelSelectorRequirement } from "../../../apimachinery/meta.ts"

/**
 * What an access review asks about. Source: k8s.io/api authorization/v1/types.go, pkg/apis/authorization/validation.
 */

export const FieldSelectorRequirement = message(
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
  "One condition on a field.",
  {
    key: f.string(1, "Path of the field.").required(),
    operator: f.string(2, "In, NotIn, Exists or DoesNotExist.").required(),
    values: f.list(3, e.string, "Values for In and NotIn; empty for the others.").atomic(),
  },
)
export interface FieldSelectorRequirement extends ObjectOf<typeof FieldSelectorRequirement> {}

export const FieldSelectorAttributes = message(
  "authorization.v1.FieldSelectorAttributes",
  "The field selector of a request.",
  {
    rawSelector: f.string(1, "As it stands in the query; for webhooks only."),
    requirements: f.list(2, FieldSelectorRequirement, "Its conditions.").atomic(),
  },
)
export interface FieldSelectorAttributes extends ObjectOf<typeof FieldSelectorAttributes> {}

export const LabelSelectorAttributes = message(
  "authorization.v1.LabelSelectorAttributes",
  "The label selector of a request.",
  {
    rawSelector: f.string(1, "As it stands in the query; for webhooks only."),
    requirements: f.list(2, LabelSelectorRequirement, "Its conditions.").atomic(),
  },
)
export interface LabelSelectorAttributes extends ObjectOf<typeof LabelSelectorAttributes> {}

export const ResourceAttributes = message("authorization.v1.ResourceAttributes", "A request for a resource.", {
  namespace: f.string(1, "Namespace; empty means all, or none for cluster-wide kinds."),
  verb: f.string(2, "Verb, such as get or list; `*` means all."),
  group: f.string(3, "Group of the resource; `*` means all."),
  version: f.string(4, "Version of the resource; `*` means all."),
  resource: f.string(5, "The resource; `*` means all."),
  subresource: f.string(6, "A part of the resource."),
  name: f.string(7, "Name of one object; empty means all."),
  fieldSelector: f.message(8, FieldSelectorAttributes, "Which objects are asked for, by fields."),
  labelSelector: f.message(9, LabelSelectorAttributes, "Which objects are asked for, by labels."),
})
export interface ResourceAttributes extends ObjectOf<typeof ResourceAttributes> {}

export const NonResourceAttributes = message(
  "authorization.v1.NonResourceAttributes",
  "A request for a path that is no resource.",
  {
    path: f.string(1, "The path."),
    verb: f.string(2, "HTTP method in small letters."),
  },
)
export interface NonResourceAttributes extends ObjectOf<typeof NonResourceAttributes> {}

export const SubjectAccessReviewStatus = message(
  "authorization.v1.SubjectAccessReviewStatus",
  "Whether the request is allowed.",
  {
    allowed: f.bool(1, "Whether it is allowed.").default(false).printZero(),
    denied: f.bool(4, "Whether it is refused whatever other authorizers say."),
    reason: f.string(2, "Why."),
    evaluationError: f.string(3, "What went wrong while it was judged."),
  },
)
export interface SubjectAccessReviewStatus extends ObjectOf<typeof SubjectAccessReviewStatus> {}

interface Question {
  readonly resourceAttributes?: ResourceAttributes | undefined
  readonly nonResourceAttributes?: NonResourceAttributes | undefined
}

/** Exactly one of the two questions must be asked, with sound selectors. */
export function questionFaults({ resourceAttributes, nonResourceAttributes }: Question): readonly Cause[] {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined)
    return [
      invalidValue(
        "spec.nonResourceAttributes",
        nonResourceAttributes,
        "cannot be specified in combination with resourceAttributes",
      ),
    ]
  if (resourceAttributes === undefined && nonResourceAttributes === undefined)
    return [
      invalidValue(
        "spec.resourceAttributes",
        null,
        "exactly one of nonResourceAttributes or resourceAttributes must be specified",
      ),
    ]
  const path = "spec.resourceAttributes"
  return [
    ...selectorFaults(at(path, "fieldSelector"), resourceAttributes?.fieldSelector),
    ...selectorFaults(at(path, "labelSelector"), resourceAttributes?.labelSelector),
  ]
}

/** What the server itself clears or sets in the metadata of whatever is created. */
const OF_THE_SERVER: readonly string[] = [
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
  "managedFields",
]

/** A question is no object: it has no name, labels or the like. */
export function metadataFaults(metadata: object, detail = "must be empty"): readonly Cause[] {
  const given = Object.entries(metadata).filter(
    ([key, value]) => value !== undefined && value !== "" && !OF_THE_SERVER.includes(key),
  )
  return given.length === 0 ? [] : [invalidValue("metadata", Object.fromEntries(given), detail)]
}

/**
 * The field selector that a question is about, as a request would have it. Conditions that no field selector can hold
 * make the question a wider one.
 */
export function fieldSelectorOf(selector: FieldSelectorAttributes | undefined): string | undefined {
  if (selector === undefined) return undefined
  const { rawSelector = "", requirements = [] } = selector
  if (rawSelector !== "") return rawSelector
  return formatFieldSelector(
    requirements.flatMap(({ key: path = "", operator, values = [] }) =>
      values.length !== 1 || (operator !== "In" && operator !== "NotIn")
        ? []
        : [{ path, operator: operator === "In" ? "=" : "!=", value: values[0]! } as const],
    ),
  )
}

function selectorFaults(
  here: string,
  selector: FieldSelectorAttributes | LabelSelectorAttributes | undefined,
): readonly Cause[] {
  if (selector === undefined) return []
  const { rawSelector = "", requirements = [] } = selector
  if (rawSelector !== "" && requirements.length > 0)
    return [invalidValue(at(here, "rawSelector"), rawSelector, "may not specified at the same time as requirements")]
  if (rawSelector === "" && requirements.length === 0)
    return [
      required(at(here, "requirements"), "when the selector is specified, requirements or rawSelector is required"),
    ]
  return requirements.flatMap(({ operator, values = [] }, i) => {
    const field = at(here, "requirements", i, "values")
    if ((operator === "In" || operator === "NotIn") && values.length === 0)
      return [required(field, "must be specified when `operator` is 'In' or 'NotIn'")]
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0)
      return [forbiddenField(field, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    return ["In", "NotIn", "Exists", "DoesNotExist"].includes(operator)
      ? []
      : [invalidValue(at(here, "requirements", i, "operator"), operator, "not a valid selector operator")]
  })
}
