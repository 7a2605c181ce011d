import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  invalidValues,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Label } from "../../../apimachinery/validation/names.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import { claimSpecWarnings } from "../../core/v1/persistentvolume/claim-warnings.ts"
import { claimSpecFaults } from "../../core/v1/persistentvolume/claimspec-validation.ts"
import type { PodSpec } from "../../core/v1/pod/podspec.ts"
import {
  isZero,
  matcherFor,
  templateMetadataFaults,
  validateCount,
  validateEndless,
  validateMatches,
  validatePart,
  validateSelector,
  validateTemplate,
} from "../../core/v1/podtemplate/template-validation.ts"
import type { StatefulSetSpec } from "./statefulsetspec.ts"
import { RollingUpdateStatefulSetStrategy, StatefulSetUpdateStrategy } from "./strategies.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Validates stateful sets. Source: ValidateStatefulSetSpec in pkg/apis/apps/validation/validation.go. */

const MANAGEMENT = ["OrderedReady", "Parallel"]

/**
 * Validates a spec. Faults that the old template has are tolerated, since the update does not change it; so are faults
 * of names and claims, which cannot be changed.
 */
export function validateStatefulSetSpec(spec: StatefulSetSpec, old?: StatefulSetSpec): readonly Cause[] {
  const { selector, template, podManagementPolicy, volumeClaimTemplates = [], serviceName = "" } = spec
  const causes: Cause[] = []
  if (!MANAGEMENT.includes(podManagementPolicy))
    causes.push(invalidValue("spec.podManagementPolicy", podManagementPolicy, "must be 'OrderedReady' or 'Parallel'"))
  within(causes, strategyFaults(spec.updateStrategy), "spec.updateStrategy")
  if (old === undefined) {
    for (const [i, claim] of volumeClaimTemplates.entries())
      within(causes, claimSpecFaults(claim.spec), at("spec.volumeClaimTemplates", i, "spec"))
    if (serviceName !== "") pushAll(causes, invalidValues("spec.serviceName", serviceName, isDNS1123Label(serviceName)))
  }
  pushAll(causes, validateSelector(selector, "statefulset", "spec.selector"))
  const matcher = matcherFor(selector)
  if (matcher === undefined) causes.push(invalidValue("spec.selector", selector, ""))
  else {
    pushAll(causes, validateMatches(matcher, template, "spec.template"))
    if (old === undefined || oldFaults(old).length === 0) pushAll(causes, statefulSetTemplateFaults(spec))
    pushAll(causes, templateMetadataFaults(template, "spec.template"))
  }
  return [...causes, ...validateEndless(template, "StatefulSet", "spec.template")]
}

const oldFaults = (spec: StatefulSetSpec): readonly Cause[] => [
  ...statefulSetTemplateFaults(spec),
  ...validateEndless(spec.template, "StatefulSet", "spec.template"),
]

function strategyFaults(strategy: StatefulSetUpdateStrategy): readonly Cause[] {
  const { type, rollingUpdate } = strategy
  if (type === "OnDelete")
    return rollingUpdate === undefined
      ? []
      : [
          invalidValue(
            "rollingUpdate",
            goForm(RollingUpdateStatefulSetStrategy, rollingUpdate),
            "only allowed for updateStrategy 'RollingUpdate'",
          ),
        ]
  if (type !== "RollingUpdate")
    return [invalidValue("", goForm(StatefulSetUpdateStrategy, strategy), "must be 'RollingUpdate' or 'OnDelete'")]
  const count = rollingUpdate?.maxUnavailable
  if (count === undefined) return []
  const path = "rollingUpdate.maxUnavailable"
  return [
    ...validateCount(count, path),
    ...(isZero(count) ? [invalidValue(path, count, "cannot be 0")] : []),
    ...validatePart(count, path),
  ]
}

/**
 * Returns the faults of the template as the pods will have it: with a volume for each claim, under names that the
 * controller gives.
 */
function statefulSetTemplateFaults({ template, volumeClaimTemplates = [] }: StatefulSetSpec): readonly Cause[] {
  const { subdomain: _domain, hostname: _host, ...spec } = template.spec
  const claims = [...new Set(volumeClaimTemplates.map(({ metadata: { name = "" } }) => name))].map((name) => ({
    name,
    persistentVolumeClaim: { claimName: name, readOnly: false },
  }))
  const volumes = [
    ...claims,
    ...(spec.volumes ?? []).filter(({ name }) => !claims.some((claim) => claim.name === name)),
  ]
  return validateTemplate(
    { ...template, spec: { ...spec, ...(volumes.length === 0 ? {} : { volumes }) } as PodSpec },
    "spec.template",
  )
}

const MUTABLE = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const

export function validateStatefulSetChange(spec: StatefulSetSpec, old: StatefulSetSpec): readonly Cause[] {
  const rest = { ...spec, ...Object.fromEntries(MUTABLE.map((field) => [field, old[field]])) }
  return deepEqual(rest, old)
    ? []
    : [
        forbiddenField(
          "spec",
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', " +
            "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and " +
            "'minReadySeconds' are forbidden",
        ),
      ]
}

/**
 * Returns warnings. `step` is the name of the claim's spec in messages, which differs in an update. Source: the
 * strategy's WarningsOnUpdate.
 */
export const statefulSetWarnings = (
  { volumeClaimTemplates = [], revisionHistoryLimit }: StatefulSetSpec,
  step: "spec" | "Spec",
): readonly string[] => [
  ...volumeClaimTemplates.flatMap(({ spec }, i) =>
    claimSpecWarnings(`spec.volumeClaimTemplates[${i}]${step === "Spec" ? ".Spec" : ""}`, spec),
  ),
  ...(revisionHistoryLimit < 0
    ? ["spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"]
    : []),
]
