/**
 * Rules of the subresources of a custom resource. Source: apiextensions-apiserver
 * pkg/apis/apiextensions/validation/validation.go.
 */
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, invalidValue, required } from "../../../../apimachinery/validation/field-errors.ts"
import type { CustomResourceDefinitionVersion } from "../customresourcedefinitionspec.ts"
import { pushAll } from "../../../../lists/push-all.ts"

export type Subresources = CustomResourceDefinitionVersion["subresources"]

export const hasStatus = (subresources: Subresources): boolean => subresources?.status !== undefined

/** Checks the paths of the scale subresource. */
export function subresourceFaults(subresources: Subresources, path: string): readonly Cause[] {
  const scale = subresources?.scale
  if (scale === undefined) return []
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = "" } = scale
  const causes: Cause[] = []
  const under = (name: string, value: string, roots: readonly string[], detail: string): void => {
    const field = at(path, "scale", name)
    const problems = simplePathFaults(value, field)
    pushAll(causes, problems)
    if (problems.length === 0 && !roots.some((root) => value.startsWith(root)))
      causes.push(invalidValue(field, value, detail))
  }
  if (specReplicasPath === "") causes.push(required(at(path, "scale", "specReplicasPath")))
  else under("specReplicasPath", specReplicasPath, [".spec."], "should be a json path under .spec")
  if (statusReplicasPath === "") causes.push(required(at(path, "scale", "statusReplicasPath")))
  else under("statusReplicasPath", statusReplicasPath, [".status."], "should be a json path under .status")
  if (labelSelectorPath !== "")
    under(
      "labelSelectorPath",
      labelSelectorPath,
      [".spec.", ".status."],
      "should be a json path under either .spec or .status",
    )
  return causes
}

/** Checks that a path begins with a dot. */
export const simplePathFaults = (path: string, field: string): readonly Cause[] =>
  path.startsWith(".") ? [] : [invalidValue(field, path, "must be a simple json path starting with .")]
