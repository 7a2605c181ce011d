import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidValues,
  notSupported,
  required,
  tooMany,
} from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
import type { KubeObject, ResourceDeclaration } from "../../../apimachinery/resource.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import {
  isDNS1035Label,
  isDNS1123Subdomain,
  isQualifiedName,
  oneProblem,
} from "../../../apimachinery/validation/names.ts"
import { BOOL } from "../../../cel/type.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { expressionFaults, type ExpressionScope } from "./expressions.ts"
import { repeated } from "../../../apimachinery/validation/repeated.ts"
import { clientConfigFaults, WebhookClientConfig } from "./clientconfig.ts"
import { RuleWithOperations, ruleFaults } from "./rules.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * The fields that validating and mutating webhooks have in common. Source: k8s.io/api
 * admissionregistration/v1/types.go, pkg/apis/admissionregistration/v1/defaults.go, validateValidatingWebhook and
 * validateMutatingWebhook in pkg/apis/admissionregistration/validation.
 */

export const MatchCondition = message(
  "admissionregistration.v1.MatchCondition",
  "A condition in CEL; the webhook is called only for requests of which it is true.",
  {
    name: f.string(1, "Name of the condition, unique in its list.").required().ownRule(),
    expression: f.string(2, "The condition, which gives a bool.").required().ownRule(),
  },
)
export interface MatchCondition extends ObjectOf<typeof MatchCondition> {}

/** The fields of both types of webhooks except match conditions, whose protobuf number differs. */
export const webhookFields = {
  name: f.string(1, "Name of the webhook, fully qualified: imagepolicy.example.com.").required().ownRule(),
  clientConfig: f.message(2, WebhookClientConfig, "Where the webhook is.").required().ownRule(),
  rules: f.list(3, RuleWithOperations, "Which requests it is asked about.").atomic(),
  failurePolicy: f
    .string(4, "What becomes of a request when the webhook cannot be asked: Fail or Ignore.")
    .default("Fail")
    .pointer(),
  namespaceSelector: f
    .message(5, LabelSelector, "Labels of the namespaces whose objects it is asked about.")
    .default({})
    .pointer(),
  sideEffects: f.string(6, "Whether asking it changes anything: None, or NoneOnDryRun.").required().ownRule().pointer(),
  timeoutSeconds: f.int32(7, "Seconds within which it must answer.").default(10).pointer(),
  admissionReviewVersions: f
    .list(8, e.string, "Versions of AdmissionReview that it understands, the preferred one first.")
    .required()
    .ownRule()
    .atomic(),
  matchPolicy: f
    .string(9, "Exact, or Equivalent: asked about the same objects in other versions as well.")
    .default("Equivalent")
    .pointer(),
}

export const objectSelector = (number: number) =>
  f
    .message(number, LabelSelector, "Labels of the objects it is asked about, before or after the request.")
    .default({})
    .pointer()

export const matchConditions = (number: number) =>
  f.list(number, MatchCondition, "Further conditions, in CEL.").listMap("name").merge("name")

const Common = message("admissionregistration.v1.Webhook", "What both kinds of webhook say.", {
  ...webhookFields,
  objectSelector: objectSelector(10),
  matchConditions: matchConditions(11),
})
export interface Webhook extends ObjectOf<typeof Common> {
  readonly reinvocationPolicy?: string
}

const SIDE_EFFECTS_NOW = ["None", "NoneOnDryRun"]
const SIDE_EFFECTS = ["None", "NoneOnDryRun", "Some", "Unknown"]
const REVIEW_VERSIONS: readonly string[] = ["v1", "v1beta1"]
const MOST_CONDITIONS = 64

/** Declares a kind of configuration: both have a list of webhooks. */
export const webhookConfiguration = <C extends KubeObject & { readonly webhooks?: readonly Webhook[] }>(
  kind: string,
  doc: string,
): ResourceDeclaration<C> => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind,
  plural: `${kind.toLowerCase()}s`,
  categories: ["api-extensions"],
  scope: "Cluster",
  doc,
  generation: { counts: (obj, old) => !deepEqual(obj.webhooks, old.webhooks) },
  allowUnconditionalUpdate: false,
  columns: [
    { name: "Webhooks", type: "integer", doc: "Number of webhooks.", value: ({ webhooks = [] }) => webhooks.length },
  ],
  warnings: ({ metadata }) => staticNameWarnings(metadata.name),
  validate: ({ webhooks }, old) => webhooksFaults(webhooks, old && (old.webhooks ?? [])),
})

/** Returns the faults of a configuration's webhooks. Faults that `old` has already are tolerated. */
function webhooksFaults(webhooks: readonly Webhook[] = [], old?: readonly Webhook[]): readonly Cause[] {
  const sideEffects = old?.every(({ sideEffects }) => SIDE_EFFECTS_NOW.includes(sideEffects)) !== false
  const knownVersion =
    old?.every(({ admissionReviewVersions }) => admissionReviewVersions.some(isKnownVersion)) !== false
  const uniqueNames = old === undefined || new Set(old.map(({ name }) => name)).size === old.length
  // Unchanged conditions are not compiled again, since the language may have changed.
  const sameConditions =
    old !== undefined &&
    old.length === webhooks.length &&
    webhooks.every(({ matchConditions: now }, i) => deepEqual(now, old[i]!.matchConditions))
  const twins = repeated(webhooks, ({ name }) => name)
  return webhooks.flatMap((webhook, i) => {
    const path = at("webhooks", i)
    const { name, admissionReviewVersions } = webhook
    const isTwin = uniqueNames && name !== "" && twins.has(i)
    return [
      ...webhookFaults(path, webhook, sideEffects ? SIDE_EFFECTS_NOW : SIDE_EFFECTS),
      ...(sameConditions ? [] : conditionsFaults(at(path, "matchConditions"), webhook.matchConditions ?? [])),
      ...versionFaults(at(path, "admissionReviewVersions"), admissionReviewVersions, knownVersion),
      ...(isTwin ? [duplicate(at(path, "name"), name)] : []),
    ]
  })
}

/** Source: pkg/apis/admissionregistration/validation/static_suffix.go. */
export const staticNameWarnings = (name = ""): readonly string[] =>
  name.endsWith(".static.k8s.io")
    ? [
        'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and ' +
          "cannot be managed via the API",
      ]
    : []

const isKnownVersion = (version: string): boolean => REVIEW_VERSIONS.includes(version)

function webhookFaults(path: string, webhook: Webhook, sideEffects: readonly string[]): readonly Cause[] {
  const { rules = [], failurePolicy, matchPolicy, reinvocationPolicy, timeoutSeconds } = webhook
  const { namespaceSelector, objectSelector: objects, clientConfig } = webhook
  const oneOf = (field: string, value: string, values: readonly string[]) =>
    values.includes(value) ? [] : [notSupported(at(path, field), value, values)]
  return [
    ...nameFaults(at(path, "name"), webhook.name),
    ...rules.flatMap((rule, i) => ruleFaults(at(path, "rules", i), rule)),
    ...oneOf("failurePolicy", failurePolicy, ["Fail", "Ignore"]),
    ...oneOf("matchPolicy", matchPolicy, ["Equivalent", "Exact"]),
    ...((webhook.sideEffects ?? "") === ""
      ? [required(at(path, "sideEffects"), `must specify one of ${sideEffects.join(", ")}`)]
      : oneOf("sideEffects", webhook.sideEffects, sideEffects)),
    ...(timeoutSeconds < 1 || timeoutSeconds > 30
      ? [invalidValue(at(path, "timeoutSeconds"), timeoutSeconds, "the timeout value must be between 1 and 30 seconds")]
      : []),
    ...labelSelectorFaults(at(path, "namespaceSelector"), namespaceSelector),
    ...labelSelectorFaults(at(path, "objectSelector"), objects),
    ...(reinvocationPolicy === undefined ? [] : oneOf("reinvocationPolicy", reinvocationPolicy, ["IfNeeded", "Never"])),
    ...clientConfigFaults(at(path, "clientConfig"), clientConfig ?? {}),
  ]
}

/** Source: apimachinery pkg/util/validation IsFullyQualifiedName. */
function nameFaults(path: string, name: string): readonly Cause[] {
  if (name === "") return [required(path)]
  const problem = isDNS1123Subdomain(name)
  if (problem !== undefined) return [invalidValue(path, name, oneProblem(problem, ","))]
  return name.split(".").length < 3
    ? [invalidValue(path, name, "should be a domain with at least three segments separated by dots")]
    : []
}

function versionFaults(path: string, versions: readonly string[] = [], mustKnowOne: boolean): readonly Cause[] {
  if (versions.length === 0) return [required(path, `must specify one of ${REVIEW_VERSIONS.join(", ")}`)]
  const twins = repeated(versions, (version) => version)
  const causes = versions.flatMap((version, i) =>
    twins.has(i)
      ? [invalidValue(at(path, i), version, "duplicate version")]
      : invalidValues(at(path, i), version, isDNS1035Label(version)),
  )
  return mustKnowOne && !versions.some(isKnownVersion)
    ? [...causes, invalidValue(path, versions, `must include at least one of ${REVIEW_VERSIONS.join(", ")}`)]
    : causes
}

/**
 * Returns the faults of the match conditions of a webhook or a policy. Source: validateMatchConditions.
 */
export function conditionsFaults(
  path: string,
  conditions: readonly MatchCondition[],
  scope: ExpressionScope = { hasParams: false, hasAuthorizer: true },
): readonly Cause[] {
  const causes: Cause[] = conditions.length > MOST_CONDITIONS ? [tooMany(path, conditions.length, MOST_CONDITIONS)] : []
  const twins = repeated(conditions, ({ name }) => name)
  for (const [i, { name, expression }] of conditions.entries()) {
    const trimmed = expression.trim()
    if (trimmed === "") causes.push(required(at(path, i, "expression")))
    else pushAll(causes, expressionFaults(at(path, i, "expression"), trimmed, scope, [BOOL]))
    if (name === "") causes.push(required(at(path, i, "name")))
    else {
      pushAll(causes, invalidValues(at(path, i, "name"), name, isQualifiedName(name)))
      if (twins.has(i)) causes.push(duplicate(at(path, i, "name"), name))
    }
  }
  return causes
}
