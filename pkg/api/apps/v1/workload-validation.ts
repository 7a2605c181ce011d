import { deepEqual } from "../../../apimachinery/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { at, forbiddenField, invalidValue, notSupported, required } from "../../../apimachinery/field-errors.ts"
import { validateLabels } from "../../../apimachinery/objectmeta.ts"
import { isZero, matcherFor, validateCount, validateEndless, validateMatches, validatePart, validateSelector, validateTemplate } from "../../core/v1/template-validation.ts"
import type { DaemonSetSpec } from "./daemonset.ts"
import type { DeploymentSpec } from "./deployment.ts"
import type { ReplicaSetSpec } from "./replicaset.ts"
import type { StatefulSetSpec } from "./statefulset.ts"

/** Rules of the kinds that keep pods running. Source: pkg/apis/apps/validation/validation.go. */

export function validateDeploymentSpec(spec: DeploymentSpec): readonly Cause[] {
  const { selector, template, strategy, progressDeadlineSeconds, minReadySeconds = 0 } = spec
  const causes: Cause[] = [
    ...validateSelector(selector, "deployment", "spec.selector"), ...validateMatches(matcherFor(selector), template, "spec.template"),
    ...validateTemplate(template, "spec.template"), ...validateEndless(template, "ReplicaSet", "spec.template"),
  ]
  const { type, rollingUpdate } = strategy
  if (type === "Recreate" && rollingUpdate !== undefined) causes.push(forbiddenField("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"))
  if (type === "RollingUpdate" && rollingUpdate !== undefined) {
    const { maxUnavailable, maxSurge } = rollingUpdate
    const path = "spec.strategy.rollingUpdate.maxUnavailable"
    causes.push(...validateCount(maxUnavailable, path), ...validateCount(maxSurge, "spec.strategy.rollingUpdate.maxSurge"))
    if (isZero(maxUnavailable) && isZero(maxSurge)) causes.push(invalidValue(path, maxUnavailable, "may not be 0 when `maxSurge` is 0"))
    if (validateCount(maxUnavailable, path).length === 0) causes.push(...validatePart(maxUnavailable, path))
  }
  if (progressDeadlineSeconds <= minReadySeconds) causes.push(invalidValue("spec.progressDeadlineSeconds", progressDeadlineSeconds, "must be greater than minReadySeconds"))
  return causes
}

export function validateReplicaSetSpec({ selector, template }: ReplicaSetSpec): readonly Cause[] {
  return [
    ...validateSelector(selector, "deployment", "spec.selector"), ...validateMatches(matcherFor(selector), template, "spec.template"),
    ...validateTemplate(template, "spec.template"), ...validateEndless(template, "ReplicaSet", "spec.template"),
  ]
}

export function validateDaemonSetSpec({ selector, template, updateStrategy: { type, rollingUpdate } }: DaemonSetSpec): readonly Cause[] {
  const causes: Cause[] = [
    ...validateSelector(selector, "daemonset", "spec.selector"), ...validateMatches(matcherFor(selector), template, "spec.template"), ...validateTemplate(template, "spec.template"),
  ]
  const { restartPolicy, activeDeadlineSeconds } = template.spec
  if (restartPolicy !== "Always") causes.push(notSupported("spec.template.spec.restartPolicy", restartPolicy, ["Always"]))
  if (activeDeadlineSeconds !== undefined) causes.push(invalidValue("spec.template.spec.activeDeadlineSeconds", activeDeadlineSeconds, "must not be specified"))
  if (type === "RollingUpdate" && rollingUpdate !== undefined) {
    const path = "spec.updateStrategy.rollingUpdate"
    const { maxUnavailable, maxSurge } = rollingUpdate
    causes.push(...validatePart(maxUnavailable, at(path, "maxUnavailable")), ...validatePart(maxSurge, at(path, "maxSurge")))
    if (!isZero(maxUnavailable) && !isZero(maxSurge)) causes.push(invalidValue(at(path, "maxSurge"), maxSurge, "may not be set when maxUnavailable is non-zero"))
    if (isZero(maxUnavailable) && isZero(maxSurge)) causes.push(required(at(path, "maxUnavailable"), "cannot be 0 when maxSurge is 0"))
  }
  return causes
}

/** The template's volumes are not checked: claims of volumeClaimTemplates come beside them. */
export function validateStatefulSetSpec({ selector, template, updateStrategy: { type, rollingUpdate } }: StatefulSetSpec): readonly Cause[] {
  const causes: Cause[] = []
  if (type === "OnDelete" && rollingUpdate !== undefined) causes.push(invalidValue("spec.updateStrategy.rollingUpdate", rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'"))
  if (rollingUpdate !== undefined) causes.push(...validatePart(rollingUpdate.maxUnavailable, "spec.updateStrategy.rollingUpdate.maxUnavailable"))
  return [
    ...causes, ...validateSelector(selector, "statefulset", "spec.selector"), ...validateMatches(matcherFor(selector), template, "spec.template"),
    ...validateLabels(template.metadata.labels, "spec.template.labels"), ...validateEndless(template, "StatefulSet", "spec.template"),
  ]
}

export function selectorIsFixed({ selector }: { readonly selector: object }, old: { readonly selector: object }): readonly Cause[] {
  return deepEqual(selector, old.selector) ? [] : [invalidValue("spec.selector", selector, "field is immutable")]
}

const STATEFULSET_MUTABLE = ["replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"] as const

export function validateStatefulSetChange(spec: StatefulSetSpec, old: StatefulSetSpec): readonly Cause[] {
  const rest = { ...spec, ...Object.fromEntries(STATEFULSET_MUTABLE.map((field) => [field, old[field]])) }
  return deepEqual(rest, old) ? [] : [forbiddenField("spec", "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")]
}
