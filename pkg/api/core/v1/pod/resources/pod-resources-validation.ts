import type { Cause } from "../../../../../apimachinery/errors.ts"
import {
  atKey,
  forbiddenField,
  invalidValue,
  NO_CAUSES,
  notSupported,
  within,
} from "../../../../../apimachinery/validation/field-errors.ts"
import { compareQuantities, formatQuantity, quantity } from "../../../../../apimachinery/scalars/quantity.ts"
import { isAskedFor, isOfPods, together } from "./pod-resources.ts"
import type { PodSpec } from "../podspec.ts"
import { isHugePages, resourceNameFaults } from "../../resources/resource-names.ts"
import { validateResources } from "../../resources/resources-validation.ts"

/**
 * Returns the faults of the pod-level requests and limits. Source: validatePodResources in
 * pkg/apis/core/validation/validation.go.
 */
export function validatePodResources(spec: PodSpec): readonly Cause[] {
  const { resources } = spec
  if (resources === undefined) return NO_CAUSES
  const causes: Cause[] = []
  if ((spec.os?.name as string | undefined) === "windows")
    return [forbiddenField("", "may not be set for a windows pod")]
  if (resources.claims !== undefined)
    causes.push(forbiddenField("claims", "claims may not be set for Resources at pod-level"))
  within(causes, validateResources(resources, claimNames(spec), nameFaults), "")
  return [...causes, ...consistencyFaults(spec, resources)]
}
const claimNames = ({ resourceClaims = [] }: PodSpec): ReadonlySet<string> =>
  new Set(resourceClaims.map(({ name }) => name))

function nameFaults(name: string): readonly Cause[] {
  const wrong = resourceNameFaults(name)
  if (wrong.length > 0) return wrong
  return isOfPods(name) ? NO_CAUSES : [notSupported("", name, ["cpu", "hugepages-", "memory"])]
}

/**
 * The sum of the containers may not request more than the pod, and no container may have a higher limit than the pod.
 */
function consistencyFaults(
  spec: PodSpec,
  { limits = {}, requests = {} }: NonNullable<PodSpec["resources"]>,
): readonly Cause[] {
  const causes: Cause[] = []
  for (const name in requests) {
    if (!isAskedFor(spec, "requests", name)) continue
    const asked = together(spec, "requests", name)
    if (compareQuantities(asked, quantity(requests[name]!)) > 0)
      causes.push(
        invalidValue(
          atKey("requests", name),
          requests[name],
          `must be greater than or equal to aggregate container requests of ${formatQuantity(asked)}`,
        ),
      )
  }
  for (const name in limits) {
    if (!isHugePages(name) || !isAskedFor(spec, "limits", name)) continue
    const most = together(spec, "limits", name)
    if (compareQuantities(most, quantity(limits[name]!)) > 0)
      causes.push(
        invalidValue(
          atKey("limits", name),
          limits[name],
          `must be greater than or equal to aggregate container limits of ${formatQuantity(most)}`,
        ),
      )
  }
  for (const [i, { resources }] of spec.containers.entries())
    for (const name in resources.limits) {
      const [own, ofPod] = [resources.limits[name]!, limits[name]]
      if (ofPod !== undefined && compareQuantities(quantity(own), quantity(ofPod)) > 0)
        causes.push(
          invalidValue(
            `${atKey(`containers[${i}]`, name)}.limits`,
            own,
            `must be less than or equal to pod limits of ${ofPod}`,
          ),
        )
    }
  return causes
}
