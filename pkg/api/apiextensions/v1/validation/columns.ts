/**
 * Rules of printer columns and selectable fields, which name fields of the object by JSON paths. Source:
 * apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go.
 */
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  duplicate,
  invalidValue,
  required,
  tooMany,
} from "../../../../apimachinery/validation/field-errors.ts"
import { fieldAt } from "../../../../apimachinery/structural/field-path.ts"
import { type JsonSchema } from "../../../../apimachinery/structural/json-schema.ts"
import type { CustomResourceColumnDefinition } from "../customresourcedefinitionspec.ts"
import { simplePathFaults } from "./subresources.ts"
import { pushAll } from "../../../../lists/push-all.ts"

const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"]
const COLUMN_FORMATS = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"]

/** Checks the printer columns of a version. */
export function columnFaults(
  columns: readonly CustomResourceColumnDefinition[] | undefined,
  path: string,
): readonly Cause[] {
  return (columns ?? []).flatMap(({ name, type, format = "", jsonPath }, i) => {
    const causes: Cause[] = []
    const where = at(path, i)
    const oneOf = (values: readonly string[]): string => `must be one of ${values.join(",")}`
    if (name === "") causes.push(required(at(where, "name")))
    if (type === "") causes.push(required(at(where, "type"), oneOf(COLUMN_TYPES)))
    else if (!COLUMN_TYPES.includes(type)) causes.push(invalidValue(at(where, "type"), type, oneOf(COLUMN_TYPES)))
    if (format !== "" && !COLUMN_FORMATS.includes(format))
      causes.push(invalidValue(at(where, "format"), format, oneOf(COLUMN_FORMATS)))
    if (jsonPath === "") causes.push(required(at(where, "JSONPath")))
    else pushAll(causes, simplePathFaults(jsonPath, at(where, "JSONPath")))
    return causes
  })
}

/** Most selectable fields of a version. */
const MOST_SELECTABLE = 8

/** Checks the selectable fields of a version. */
export function selectableFaults(
  fields: readonly { readonly jsonPath: string }[],
  schema: JsonSchema,
  path: string,
  isUnchanged: boolean,
): readonly Cause[] {
  const causes: Cause[] = []
  const seen = new Set<string>()
  for (const [i, { jsonPath }] of fields.entries()) {
    const field = at(path, i, "jsonPath")
    if (jsonPath === "") {
      causes.push(required(field))
      continue
    }
    const found = fieldAt(jsonPath, schema, false)
    if (typeof found === "string") {
      causes.push(invalidValue(field, jsonPath, `is an invalid path: ${found}`))
      continue
    }
    if (found.steps[0] === "metadata")
      causes.push(invalidValue(field, jsonPath, "must not point to fields in metadata"))
    if (!["string", "boolean", "integer"].includes(found.schema?.type ?? ""))
      causes.push(
        invalidValue(
          field,
          jsonPath,
          "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
        ),
      )
    const name = found.steps.reduce((all, step) => atKey(all, step), "")
    if (seen.has(name)) causes.push(duplicate(field, jsonPath))
    seen.add(name)
  }
  if (seen.size > MOST_SELECTABLE && !isUnchanged) causes.push(tooMany(path, seen.size, MOST_SELECTABLE))
  return causes
}
