import type { CustomResourceSubresourceScale } from "../../../pkg/api/apiextensions/v1/customresourcedefinitionspec.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../pkg/apimachinery/validation/field-errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"

type Scale = CustomResourceSubresourceScale | undefined

/** Returns the value at a path such as `.spec.replicas`; undefined when there is none. */
export function valueAt(object: object, path: string): unknown {
  let value: unknown = object
  for (const step of stepsOf(path)) {
    if (typeof value !== "object" || value === null) return undefined
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return value
}
const stepsOf = (path: string): readonly string[] => path.replace(/^\./, "").split(".")

const MOST = 2 ** 31 - 1

/**
 * Checks that the paths of /scale lead to numbers that a Scale can have. Source: registry/customresource/validator.go.
 */
export const scaleSpecFaults = (scale: Scale, object: KubeObject): readonly Cause[] =>
  scale === undefined ? [] : replicaFaults(scale.specReplicasPath, object)

export function scaleStatusFaults(scale: Scale, object: KubeObject): readonly Cause[] {
  if (scale === undefined) return []
  const { statusReplicasPath, labelSelectorPath = "" } = scale
  const causes = replicaFaults(statusReplicasPath, object)
  const obstacle = labelSelectorPath === "" ? undefined : obstacleAt(object, labelSelectorPath)
  if (obstacle !== undefined)
    return [
      ...causes,
      invalidValue(labelSelectorPath, "", wrongType(labelSelectorPath, obstacle, "map[string]interface{}")),
    ]
  const selector = labelSelectorPath === "" ? undefined : valueAt(object, labelSelectorPath)
  return selector === undefined || typeof selector === "string"
    ? causes
    : [...causes, invalidValue(labelSelectorPath, "", wrongType(labelSelectorPath, selector, "string"))]
}

/** Returns a value on the path that should be an object and is not. */
function obstacleAt(object: object, path: string): unknown {
  let value: unknown = object
  for (const step of stepsOf(path)) {
    if (value === undefined) return undefined
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return undefined
}

function replicaFaults(path: string, object: KubeObject): readonly Cause[] {
  const obstacle = obstacleAt(object, path)
  if (obstacle !== undefined) return [invalidValue(path, 0, wrongType(path, obstacle, "map[string]interface{}"))]
  const value = valueAt(object, path)
  if (value === undefined) return []
  if (typeof value !== "number" || !Number.isInteger(value))
    return [invalidValue(path, 0, wrongType(path, value, "int64"))]
  if (value < 0) return [invalidValue(path, value, "should be a non-negative integer")]
  return value > MOST ? [invalidValue(path, value, `should be less than or equal to ${MOST}`)] : []
}

/** Returns the message for a value of a wrong type. Source: apimachinery unstructured/helpers.go. */
const wrongType = (path: string, value: unknown, wanted: string): string =>
  `.${stepsOf(path).join(".")} accessor error: ${typeof value === "string" ? value : JSON.stringify(value)} is of the type ${goTypeOf(value)}, expected ${wanted}`

const goTypeOf = (value: unknown): string =>
  value === null
    ? "<nil>"
    : typeof value === "number"
      ? Number.isInteger(value)
        ? "int64"
        : "float64"
      : typeof value === "boolean"
        ? "bool"
        : typeof value === "string"
          ? "string"
          : Array.isArray(value)
            ? "[]interface {}"
            : "map[string]interface {}"
