import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { labelSelectorFaults } from "../../../../apimachinery/selectors/labelselector.ts"
import { fromLabelSelector, type LabelMatcher } from "../../../../apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../../../apimachinery/meta.ts"
import { isPercent } from "../../../../apimachinery/validation/names.ts"
import { percentOf } from "../../../../apimachinery/scalars/intstr.ts"
import { validateAnnotations, validateLabels } from "../../../../apimachinery/validation/objectmeta.ts"
import { partFaults } from "../../../../apimachinery/validation/validate.ts"
import { annotationFaults } from "../pod/pod-annotations-validation.ts"
import { PodSpec } from "../pod/podspec.ts"
import type { PodTemplateSpec } from "./podtemplatespec.ts"
import { validatePodSpec } from "../pod/podspec-validation.ts"
import { profileFaults } from "../pod/profile-annotations.ts"

/**
 * Validates the parts that all kinds with a pod template share. Source: pkg/apis/core/validation and
 * pkg/apis/apps/validation.
 */

/**
 * Returns the faults of a template: its labels and its pod spec. Fields of this type are declared with `ownRule`, so
 * they are checked only here.
 */
export function validateTemplate({ metadata, spec }: PodTemplateSpec, path: string): readonly Cause[] {
  const causes: Cause[] = [...templateMetadataFaults({ metadata, spec }, path)]
  within(
    causes,
    partFaults(PodSpec, spec, (whole) => validatePodSpec(whole, undefined)),
    at(path, "spec"),
  )
  within(causes, profileFaults(metadata.annotations, spec), at(path, "spec"))
  if ((spec.ephemeralContainers ?? []).length > 0)
    causes.push(
      forbiddenField(at(path, "spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"),
    )
  return causes
}

export function templateMetadataFaults({ metadata, spec }: PodTemplateSpec, path: string): readonly Cause[] {
  const { labels, annotations } = metadata
  const causes: Cause[] = [
    ...validateLabels(labels, at(path, "labels")),
    ...validateAnnotations(annotations, at(path, "annotations")),
  ]
  if (annotations !== undefined) within(causes, annotationFaults(annotations, spec), at(path, "annotations"))
  return causes
}

/**
 * Returns the faults of a selector that is required and must not be empty. `kind` is the name in upstream's message.
 */
export const validateSelector = (selector: LabelSelector | undefined, kind: string, path: string): readonly Cause[] =>
  selector === undefined
    ? [required(path)]
    : [...labelSelectorFaults(path, selector), ...validateNonEmpty(selector, kind, path)]

export const validateNonEmpty = (selector: LabelSelector, kind: string, path: string): readonly Cause[] =>
  Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length > 0
    ? []
    : [invalidValue(path, selector, `empty selector is invalid for ${kind}`)]

/** Returns the matcher of a selector; undefined when the selector is invalid, which was reported already. */
export function matcherFor(selector: LabelSelector | undefined): LabelMatcher | undefined {
  return selector === undefined || labelSelectorFaults("", selector).length === 0
    ? fromLabelSelector(selector)
    : undefined
}

/** The selector must match the template's labels, so that new pods belong to the object that creates them. */
export function validateMatches(
  matcher: LabelMatcher | undefined,
  { metadata: { labels } }: PodTemplateSpec,
  path: string,
): readonly Cause[] {
  return matcher === undefined || matcher.everything || matcher.matches(labels)
    ? []
    : [invalidValue(at(path, "metadata", "labels"), labels ?? null, "`selector` does not match template `labels`")]
}

/**
 * Refuses templates whose pods would end: restartPolicy must be Always, and no deadline is allowed. `kind` is the name
 * in upstream's message.
 */
export function validateEndless({ spec }: PodTemplateSpec, kind: string, path: string): readonly Cause[] {
  const causes: Cause[] = []
  if (spec.restartPolicy !== "Always")
    causes.push(notSupported(at(path, "spec", "restartPolicy"), spec.restartPolicy, ["Always"]))
  if (spec.activeDeadlineSeconds !== undefined)
    causes.push(
      forbiddenField(at(path, "spec", "activeDeadlineSeconds"), `activeDeadlineSeconds in ${kind} is not Supported`),
    )
  return causes
}

/** Returns the faults of a count or a percentage, which must not be negative. */
export function validateCount(value: number | string | undefined, path: string): readonly Cause[] {
  if (value === undefined) return []
  const problem =
    typeof value === "string" ? isPercent(value) : value < 0 ? "must be greater than or equal to 0" : undefined
  return invalidValues(path, value, problem)
}

/** Returns the fault of a percentage above 100%. */
export function validatePart(value: number | string | undefined, path: string): readonly Cause[] {
  const percent = value === undefined ? undefined : percentOf(value)
  return percent !== undefined && percent > 100 ? [invalidValue(path, value, "must not be greater than 100%")] : []
}

/** Whether a count or percentage is 0; text that cannot be parsed counts as 0. */
export function isZero(value: number | string | undefined): boolean {
  if (typeof value !== "string") return (value ?? 0) === 0
  return (percentOf(value) ?? (/^[+-]?[0-9]+$/.test(value) ? Number(value) : 0)) === 0
}

/** Returns the faults of the selector of a ReplicationController, which is a map of labels. */
export const requiredSelector = (
  labels: Readonly<Record<string, string>> | undefined,
  path: string,
): readonly Cause[] => (labels === undefined || Object.keys(labels).length === 0 ? [required(path)] : [])
