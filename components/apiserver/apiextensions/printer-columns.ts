import type { CustomResourceColumnDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinitionspec.ts"
import { ExactNumber } from "../../../pkg/apimachinery/json/exact-number.ts"
import { parseJsonPath, type JsonPath } from "../../../pkg/apimachinery/table/jsonpath.ts"
import type { Column, KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { ageOf, parseTime } from "../../../pkg/apimachinery/scalars/time.ts"

const AGE: CustomResourceColumnDefinition = {
  name: "Age",
  type: "date",
  description: "Time since the object was created.",
  jsonPath: ".metadata.creationTimestamp",
}

/**
 * Returns the columns of a custom resource after its name; the age when the definition has none. Source:
 * apiextensions-apiserver pkg/registry/customresource/tableconvertor.
 */
export const columnsOf = (columns: readonly CustomResourceColumnDefinition[] = []): readonly Column<KubeObject>[] => {
  try {
    return (columns.length === 0 ? [AGE] : columns).map(columnOf)
  } catch {
    // If a path cannot be parsed, only the name is shown.
    return []
  }
}

function columnOf({
  name,
  type,
  format,
  description,
  priority,
  jsonPath,
}: CustomResourceColumnDefinition): Column<KubeObject> {
  const find = parseJsonPath(jsonPath)
  return {
    name,
    type: type as Column<KubeObject>["type"],
    ...(format === undefined ? {} : { format }),
    doc: description ?? `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    ...(priority === undefined ? {} : { priority }),
    value: (object, now) => cellOf(type, find, object, now),
  }
}

function cellOf(type: string, find: JsonPath, object: KubeObject, now: number): string | number | boolean | null {
  const [found] = find(object)
  const value = found instanceof ExactNumber ? Number(found.text) : found
  if (value === undefined || value === null) return null
  switch (type) {
    case "string":
      return typeof value === "object" ? JSON.stringify(value) : String(value)
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null
    case "number":
      return typeof value === "number" ? value : null
    case "boolean":
      return typeof value === "boolean" ? value : null
    case "date":
      if (typeof value !== "string") return null
      return parseTime(value) === undefined ? "<invalid>" : ageOf(value, now)
    default:
      return null
  }
}
