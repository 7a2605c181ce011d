import { ApiError, type Cause } from "../../../apimachinery/errors.ts"
import { at, invalidValue, required } from "../../../apimachinery/validation/field-errors.ts"
import { formatFieldSelector, parseFieldSelector } from "../../../apimachinery/selectors/fieldselector.ts"
import { parseLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { operatorFaults, requirementFaults } from "../../../apimachinery/selectors/labelselector.ts"
import { LabelSelectorRequirement, ObjectMeta } from "../../../apimachinery/meta.ts"

/** The subject of an access review. Source: k8s.io/api authorization/v1/types.go, pkg/apis/authorization/validation. */

export const FieldSelectorRequirement = message(
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
  "One condition on a field.",
  {
    key: f.string(1, "Path of the field.").required(),
    operator: f.string(2, "In, NotIn, Exists or DoesNotExist.").required(),
    values: f.list(3, e.string, "Values for In and NotIn; empty for Exists and DoesNotExist.").atomic(),
  },
)
export interface FieldSelectorRequirement extends ObjectOf<typeof FieldSelectorRequirement> {}

export const FieldSelectorAttributes = message(
  "authorization.v1.FieldSelectorAttributes",
  "The field selector of a request.",
  {
    rawSelector: f.string(1, "Text of the selector in the query; only for webhooks."),
    requirements: f.list(2, FieldSelectorRequirement, "Its conditions.").atomic(),
  },
)
export interface FieldSelectorAttributes extends ObjectOf<typeof FieldSelectorAttributes> {}

export const LabelSelectorAttributes = message(
  "authorization.v1.LabelSelectorAttributes",
  "The label selector of a request.",
  {
    rawSelector: f.string(1, "Text of the selector in the query; only for webhooks."),
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
    evaluationError: f.string(3, "Error while the request was evaluated."),
  },
)
export interface SubjectAccessReviewStatus extends ObjectOf<typeof SubjectAccessReviewStatus> {}

interface Question {
  readonly resourceAttributes?: ResourceAttributes | undefined
  readonly nonResourceAttributes?: NonResourceAttributes | undefined
}

/** Checks that exactly one of the two attributes is set, with valid selectors. */
export function questionFaults({ resourceAttributes, nonResourceAttributes }: Question): readonly Cause[] {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined)
    return [
      invalidValue(
        "spec.nonResourceAttributes",
        shownPath(nonResourceAttributes),
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
    ...selectorFaults(at(path, "fieldSelector"), resourceAttributes?.fieldSelector, fieldFaults),
    ...selectorFaults(at(path, "labelSelector"), resourceAttributes?.labelSelector, labelFaults),
  ]
}

/** Metadata that the server itself sets in a review, and which is therefore allowed. */
const OF_THE_SERVER: readonly string[] = ["namespace", "managedFields"]
/** The fields of the metadata, in the order in which Kubernetes shows them. */
const METADATA = Object.keys(ObjectMeta.fields) as readonly (keyof ObjectMeta)[]

/** Checks that the metadata of a review has no name, labels or the like. */
export function metadataFaults(metadata: ObjectMeta, detail = "must be empty"): readonly Cause[] {
  const given = METADATA.map((key) => [key, metadata[key]] as const).filter(
    ([, value]) => value !== undefined && value !== "",
  )
  return given.every(([key]) => OF_THE_SERVER.includes(key))
    ? []
    : [invalidValue("metadata", Object.fromEntries(given), detail)]
}

/**
 * Returns the field selector of a review as a request would have it. Requirements that a field selector cannot express
 * are left out, which makes the review wider.
 */
export function fieldSelectorOf(selector: FieldSelectorAttributes | undefined): string | undefined {
  if (selector === undefined) return undefined
  const { rawSelector = "", requirements = [] } = selector
  if (rawSelector !== "") return rawSelector
  return formatFieldSelector(
    requirements.filter(isUnderstood).map(({ key: path = "", operator, values = [] }) => ({
      path,
      operator: operator === "In" ? ("=" as const) : ("!=" as const),
      value: values[0]!,
    })),
  )
}

/** Whether a field selector can express the requirement. */
const isUnderstood = ({ operator, values = [] }: FieldSelectorRequirement): boolean =>
  values.length === 1 && (operator === "In" || operator === "NotIn")

/**
 * Returns the label selector of a valid review as a request would have it. Requirements with an operator that is not
 * known are left out, which makes the review wider.
 */
export function labelSelectorOf(selector: LabelSelectorAttributes | undefined): string | undefined {
  if (selector === undefined) return undefined
  const { rawSelector = "", requirements = [] } = selector
  if (rawSelector !== "") return rawSelector
  const parts = requirements.flatMap(({ key = "", operator, values = [] }): string[] => {
    if (operator === "Exists") return [key]
    if (operator === "DoesNotExist") return [`!${key}`]
    const word = operator === "In" ? "in" : operator === "NotIn" ? "notin" : undefined
    return word === undefined ? [] : [`${key} ${word} (${values.join(",")})`]
  })
  return parts.join(",")
}

/**
 * Returns which selectors of a review were not applied completely; empty when all were. Source:
 * pkg/registry/authorization/util/helpers.go BuildEvaluationError.
 */
export function evaluationErrorOf({ fieldSelector, labelSelector }: ResourceAttributes = {}): string {
  const errors: string[] = []
  const check = (
    name: string,
    raw: string | undefined,
    parse: (text: string) => void,
    known: readonly boolean[] = [],
  ) => {
    const requirements = raw === undefined || raw === "" ? known : [canBeParsed(raw, parse)]
    if (requirements.every((isKnown) => isKnown)) return
    const partially = requirements.some((isKnown) => isKnown) ? "partially " : ""
    errors.push(`spec.resourceAttributes.${name} ${partially}ignored due to parse error`)
  }
  check("fieldSelector", fieldSelector?.rawSelector, parseFieldSelector, fieldSelector?.requirements?.map(isUnderstood))
  check(
    "labelSelector",
    labelSelector?.rawSelector,
    parseLabelSelector,
    labelSelector?.requirements?.map(({ operator }) => ["In", "NotIn", "Exists", "DoesNotExist"].includes(operator)),
  )
  return errors.join("; ")
}

function canBeParsed(text: string, parse: (text: string) => void): boolean {
  try {
    parse(text)
    return true
  } catch (err) {
    if (err instanceof ApiError) return false
    throw err
  }
}

/** Unknown operators are accepted, since they may be those of a newer client. */
function selectorFaults(
  here: string,
  selector: FieldSelectorAttributes | LabelSelectorAttributes | undefined,
  faultsOf: (here: string, requirement: Requirement) => readonly Cause[],
): readonly Cause[] {
  if (selector === undefined) return []
  const { rawSelector = "", requirements = [] } = selector
  const causes: Cause[] = []
  if (rawSelector !== "" && requirements.length > 0)
    causes.push(
      invalidValue(at(here, "rawSelector"), rawSelector, "may not specified at the same time as requirements"),
    )
  if (rawSelector === "" && requirements.length === 0)
    causes.push(
      required(at(here, "requirements"), `when ${here} is specified, requirements or rawSelector is required`),
    )
  return [...causes, ...requirements.flatMap((requirement, i) => faultsOf(at(here, "requirements", i), requirement))]
}

type Requirement = FieldSelectorRequirement | LabelSelectorRequirement

const fieldFaults = (here: string, { key, operator, values = [] }: Requirement): readonly Cause[] => [
  ...((key ?? "") === "" ? [required(at(here, "key"), "must be specified")] : []),
  ...operatorFaults(here, operator, values, true),
]
const labelFaults = (here: string, requirement: Requirement): readonly Cause[] =>
  requirementFaults(here, requirement, true)

/** Returns the value in Go's own form, as upstream shows it. */
export const shownPath = ({ path = "", verb = "" }: NonResourceAttributes): object => ({ Path: path, Verb: verb })
