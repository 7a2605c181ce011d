import { deepEqual } from "../../../apimachinery/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
  within,
} from "../../../apimachinery/field-errors.ts"
import { labelSelectorFaults } from "../../../apimachinery/labelselector.ts"
import { isDNS1123Label } from "../../../apimachinery/names.ts"
import { claimSpecFaults } from "../../core/v1/claimspec-validation.ts"
import type { PodSpec } from "../../core/v1/podspec.ts"
import {
  isZero,
  matcherFor,
  validateCount,
  validateEndless,
  validateMatches,
  validateNonEmpty,
  validatePart,
  validateSelector,
  validateTemplate,
} from "../../core/v1/template-validation.ts"
import type { DaemonSetSpec } from "./daemonset.ts"
import type { DeploymentSpec } from "./deployment.ts"
import type { ReplicaSetSpec } from "./replicaset.ts"
import type { StatefulSetSpec } from "./statefulset.ts"

/** Rules of the kinds that keep pods running. Source: pkg/apis/apps/validation/validation.go. */

export function validateDeploymentSpec(spec: DeploymentSpec): readonly Cause[] {
  const { selector, template, strategy, progressDeadlineSeconds, minReadySeconds = 0 } = spec
  const causes: Cause[] = [
    ...validateSelector(selector, "deployment", "spec.selector"),
    ...validateMatches(matcherFor(selector), template, "spec.template"),
    ...validateTemplate(template, "spec.template"),
    ...validateEndless(template, "ReplicaSet", "spec.template"),
  ]
  const { type, rollingUpdate } = strategy
  if (type === "Recreate" && rollingUpdate !== undefined)
    causes.push(
      forbiddenField("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"),
    )
  if (type === "RollingUpdate" && rollingUpdate !== undefined) {
    const { maxUnavailable, maxSurge } = rollingUpdate
    const path = "spec.strategy.rollingUpdate.maxUnavailable"
    causes.push(
      ...validateCount(maxUnavailable, path),
      ...validateCount(maxSurge, "spec.strategy.rollingUpdate.maxSurge"),
    )
    if (isZero(maxUnavailable) && isZero(maxSurge))
      causes.push(invalidValue(path, maxUnavailable, "may not be 0 when `maxSurge` is 0"))
    if (validateCount(maxUnavailable, path).length === 0) causes.push(...validatePart(maxUnavailable, path))
  }
  if (progressDeadlineSeconds <= minReadySeconds)
    causes.push(
      invalidValue("spec.progressDeadlineSeconds", progressDeadlineSeconds, "must be greater than minReadySeconds"),
    )
  return causes
}

export function validateReplicaSetSpec({ selector, template }: ReplicaSetSpec): readonly Cause[] {
  return [
    ...validateSelector(selector, "deployment", "spec.selector"),
    ...validateMatches(matcherFor(selector), template, "spec.template"),
    ...validateTemplate(template, "spec.template"),
    ...validateEndless(template, "ReplicaSet", "spec.template"),
  ]
}

export function validateDaemonSetSpec({
  selector,
  template,
  updateStrategy: { type, rollingUpdate },
}: DaemonSetSpec): readonly Cause[] {
  const path = "spec.selector"
  const causes: Cause[] = [
    ...labelSelectorFaults(path, selector),
    ...validateMatches(matcherFor(selector), template, "spec.template"),
    ...validateNonEmpty(selector, "daemonset", path),
    ...validateTemplate(template, "spec.template"),
    ...validateEndless(template, "DaemonSet", "spec.template"),
  ]
  if (type !== "RollingUpdate") return causes
  return rollingUpdate === undefined
    ? [...causes, required("spec.updateStrategy.rollingUpdate")]
    : [...causes, ...daemonSetRolloutFaults(rollingUpdate, "spec.updateStrategy.rollingUpdate")]
}

function daemonSetRolloutFaults(
  { maxUnavailable, maxSurge }: NonNullable<DaemonSetSpec["updateStrategy"]["rollingUpdate"]>,
  path: string,
): readonly Cause[] {
  const causes: Cause[] = [
    ...validatePart(maxUnavailable, at(path, "maxUnavailable")),
    ...validatePart(maxSurge, at(path, "maxSurge")),
  ]
  if (!isZero(maxUnavailable) && !isZero(maxSurge))
    causes.push(invalidValue(at(path, "maxSurge"), maxSurge, "may not be set when maxUnavailable is non-zero"))
  if (isZero(maxUnavailable) && isZero(maxSurge))
    causes.push(required(at(path, "maxUnavailable"), "cannot be 0 when maxSurge is 0"))
  return causes
}

/** A template that was faulty before may stay so: it is not what is changed. */
export function validateStatefulSetSpec(spec: StatefulSetSpec, old?: StatefulSetSpec): readonly Cause[] {
  const {
    selector,
    template,
    updateStrategy: { type, rollingUpdate },
    volumeClaimTemplates = [],
    serviceName = "",
  } = spec
  const causes: Cause[] = []
  if (type === "OnDelete" && rollingUpdate !== undefined)
    causes.push(
      invalidValue(
        "spec.updateStrategy.rollingUpdate",
        rollingUpdate,
        "only allowed for updateStrategy 'RollingUpdate'",
      ),
    )
  if (type === "RollingUpdate" && rollingUpdate?.maxUnavailable !== undefined) {
    const [path, count] = ["spec.updateStrategy.rollingUpdate.maxUnavailable", rollingUpdate.maxUnavailable]
    causes.push(
      ...validateCount(count, path),
      ...(isZero(count) ? [invalidValue(path, count, "cannot be 0")] : []),
      ...(validateCount(count, path).length > 0 ? [] : validatePart(count, path)),
    )
  }
  if (old === undefined) {
    for (const [i, claim] of volumeClaimTemplates.entries())
      within(causes, claimSpecFaults(claim.spec), at("spec.volumeClaimTemplates", i, "spec"))
    if (serviceName !== "") causes.push(...invalidValues("spec.serviceName", serviceName, isDNS1123Label(serviceName)))
  }
  causes.push(
    ...validateSelector(selector, "statefulset", "spec.selector"),
    ...validateMatches(matcherFor(selector), template, "spec.template"),
  )
  if (old === undefined || statefulSetTemplateFaults(old).length === 0) causes.push(...statefulSetTemplateFaults(spec))
  return [...causes, ...validateEndless(template, "StatefulSet", "spec.template")]
}

/** The template as its pods will be: with a volume for each claim, under names that the controller gives. */
function statefulSetTemplateFaults({ template, volumeClaimTemplates = [] }: StatefulSetSpec): readonly Cause[] {
  const { subdomain: _domain, hostname: _host, ...spec } = template.spec
  const claims = volumeClaimTemplates.map(({ metadata: { name = "" } }) => ({
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

export function selectorIsFixed(
  { selector }: { readonly selector: object },
  old: { readonly selector: object },
): readonly Cause[] {
  return deepEqual(selector, old.selector) ? [] : [invalidValue("spec.selector", selector, "field is immutable")]
}

const STATEFULSET_MUTABLE = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const

export function validateStatefulSetChange(spec: StatefulSetSpec, old: StatefulSetSpec): readonly Cause[] {
  const rest = { ...spec, ...Object.fromEntries(STATEFULSET_MUTABLE.map((field) => [field, old[field]])) }
  return deepEqual(rest, old)
    ? []
    : [
        forbiddenField(
          "spec",
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
      ]
}
