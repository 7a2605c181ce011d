import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
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
} from "../../core/v1/podtemplate/template-validation.ts"
import type { DaemonSetSpec } from "./daemonsetspec.ts"
import type { DeploymentSpec } from "./deploymentspec.ts"
import type { ReplicaSetSpec } from "./replicasetspec.ts"
import { DaemonSetUpdateStrategy, DeploymentStrategy } from "./strategies.ts"
import { goForm, plainForm } from "../../../apimachinery/go/go-form.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"

/** Validates the workload kinds. Source: pkg/apis/apps/validation/validation.go. */

export function validateDeploymentSpec(spec: DeploymentSpec): readonly Cause[] {
  const { progressDeadlineSeconds, minReadySeconds = 0 } = spec
  const causes: Cause[] = [...replicaSetFaults(spec)]
  within(causes, deploymentStrategyFaults(spec.strategy), "spec.strategy")
  if (progressDeadlineSeconds <= minReadySeconds)
    causes.push(
      invalidValue("spec.progressDeadlineSeconds", progressDeadlineSeconds, "must be greater than minReadySeconds"),
    )
  return causes
}

/** The annotation by which clients of older versions request a rollback. */
const ROLLBACK = "deprecated.deployment.rollback.to"

export function rollbackFaults(annotations: Readonly<Record<string, string>> | undefined): readonly Cause[] {
  const revision = annotations?.[ROLLBACK]
  return revision !== undefined && /^-[0-9]+$/.test(revision) && Number(revision) < 0
    ? [invalidValue("spec.rollback.version", Number(revision), "must be greater than or equal to 0")]
    : []
}

export const validateReplicaSetSpec = (spec: ReplicaSetSpec): readonly Cause[] => replicaSetFaults(spec)

/** Rules of both ReplicaSets and Deployments. Upstream's message says deployment for both. */
function replicaSetFaults({ selector, template }: ReplicaSetSpec): readonly Cause[] {
  const causes = validateSelector(selector, "deployment", "spec.selector")
  const matcher = matcherFor(selector)
  return matcher === undefined
    ? [...causes, invalidValue("spec.selector", plainForm(LabelSelector, selector), "invalid label selector")]
    : [
        ...causes,
        ...validateMatches(matcher, template, "spec.template"),
        ...validateTemplate(template, "spec.template"),
        ...validateEndless(template, "ReplicaSet", "spec.template"),
      ]
}

function deploymentStrategyFaults(strategy: DeploymentStrategy): readonly Cause[] {
  const { type, rollingUpdate } = strategy
  if (type === "Recreate")
    return rollingUpdate === undefined
      ? []
      : [forbiddenField("rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
  if (type !== "RollingUpdate")
    return [notSupported("", goForm(DeploymentStrategy, strategy), ["Recreate", "RollingUpdate"])]
  const { maxUnavailable, maxSurge } = rollingUpdate ?? {}
  const path = "rollingUpdate.maxUnavailable"
  return [
    ...validateCount(maxUnavailable, path),
    ...validateCount(maxSurge, "rollingUpdate.maxSurge"),
    // Both are zero, or invalid.
    ...(isZero(maxUnavailable) && isZero(maxSurge)
      ? [invalidValue(path, maxUnavailable, "may not be 0 when `maxSurge` is 0")]
      : []),
    ...validatePart(maxUnavailable, path),
  ]
}

export function validateDaemonSetSpec({ selector, template, updateStrategy }: DaemonSetSpec): readonly Cause[] {
  const path = "spec.selector"
  const { type, rollingUpdate } = updateStrategy
  const causes: Cause[] = [
    // Upstream treats a missing selector as one that matches nothing.
    ...(selector === undefined ? [] : labelSelectorFaults(path, selector)),
    ...validateMatches(matcherFor(selector), template, "spec.template"),
    ...(selector === undefined ? [] : validateNonEmpty(selector, "daemonset", path)),
    ...validateTemplate(template, "spec.template"),
    ...validateEndless(template, "DaemonSet", "spec.template"),
  ]
  if (type === "OnDelete") return causes
  if (type !== "RollingUpdate")
    return [
      ...causes,
      notSupported("spec.updateStrategy", goForm(DaemonSetUpdateStrategy, updateStrategy), [
        "RollingUpdate",
        "OnDelete",
      ]),
    ]
  return rollingUpdate === undefined
    ? [...causes, required("spec.updateStrategy.rollingUpdate")]
    : [...causes, ...daemonSetRolloutFaults(rollingUpdate, "spec.updateStrategy.rollingUpdate")]
}

function daemonSetRolloutFaults(
  { maxUnavailable, maxSurge }: NonNullable<DaemonSetSpec["updateStrategy"]["rollingUpdate"]>,
  path: string,
): readonly Cause[] {
  const causes: Cause[] = [
    ...validateCount(maxUnavailable, at(path, "maxUnavailable")),
    ...validateCount(maxSurge, at(path, "maxSurge")),
    ...validatePart(maxUnavailable, at(path, "maxUnavailable")),
    ...validatePart(maxSurge, at(path, "maxSurge")),
  ]
  if (!isZero(maxUnavailable) && !isZero(maxSurge))
    causes.push(invalidValue(at(path, "maxSurge"), maxSurge, "may not be set when maxUnavailable is non-zero"))
  if (isZero(maxUnavailable) && isZero(maxSurge))
    causes.push(required(at(path, "maxUnavailable"), "cannot be 0 when maxSurge is 0"))
  return causes
}

export function selectorIsFixed(
  { selector }: { readonly selector: object | undefined },
  old: { readonly selector: object },
): readonly Cause[] {
  return deepEqual(selector, old.selector)
    ? []
    : [invalidValue("spec.selector", selector && plainForm(LabelSelector, selector), "field is immutable")]
}
