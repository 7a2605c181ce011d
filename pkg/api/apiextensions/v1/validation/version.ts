/**
 * Validates one version of a custom resource, including its schema. Source: apiextensions-apiserver
 * pkg/apis/apiextensions/validation/validation.go.
 */
import { Buffer } from "node:buffer"
import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, forbiddenField, invalidValue } from "../../../../apimachinery/validation/field-errors.ts"
import { type JsonSchema } from "../../../../apimachinery/structural/json-schema.ts"
import type { CustomResourceDefinitionSpec, CustomResourceDefinitionVersion } from "../customresourcedefinitionspec.ts"
import { columnFaults, selectableFaults } from "./columns.ts"
import { defaultFaults } from "./defaults.ts"
import { openApiFaults, type SchemaOptions } from "./schema.ts"
import { expressionFaults } from "./rule-costs.ts"
import { structuralFaults, unsupported } from "./structurality.ts"
import { subresourceFaults } from "./subresources.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/** Whether an older definition has the same schema for a version. */
export const isUnchangedIn = (
  old: CustomResourceDefinitionSpec | undefined,
  version: string,
  schema: JsonSchema | undefined,
): boolean =>
  schema !== undefined && deepEqual(old?.versions.find(({ name }) => name === version)?.schema?.openAPIV3Schema, schema)

/** Checks one version. `old` is the spec that an update replaces. */
export function versionFaults(
  version: CustomResourceDefinitionVersion,
  path: string,
  statusEnabled: boolean,
  options: SchemaOptions,
  old: CustomResourceDefinitionSpec | undefined,
): readonly Cause[] {
  const causes: Cause[] = []
  const { deprecated = false, deprecationWarning, schema, subresources, additionalPrinterColumns } = version
  for (const problem of warningProblems(deprecated, deprecationWarning))
    causes.push(invalidValue(at(path, "deprecationWarning"), deprecationWarning, problem))
  pushAll(
    causes,
    validationFaults(
      schema?.openAPIV3Schema,
      statusEnabled,
      at(path, "schema", "openAPIV3Schema"),
      options,
      isUnchangedIn(old, version.name, schema?.openAPIV3Schema),
    ),
    subresourceFaults(subresources, at(path, "subresources")),
    columnFaults(additionalPrinterColumns, at(path, "additionalPrinterColumns")),
  )
  if (version.selectableFields === undefined) return causes
  const field = at(path, "selectableFields")
  if (schema?.openAPIV3Schema === undefined)
    return [...causes, invalidValue(field, "", "may only be set when `version.schema.openAPIV3Schema` is not included")]
  const before = old?.versions.find(({ name }) => name === version.name)?.selectableFields
  return [
    ...causes,
    ...selectableFaults(
      version.selectableFields,
      schema.openAPIV3Schema,
      field,
      deepEqual(version.selectableFields, before),
    ),
  ]
}

function warningProblems(deprecated: boolean, warning: string | undefined): readonly string[] {
  if (warning === undefined) return []
  if (!deprecated) return ["can only be set for deprecated versions"]
  const problems: string[] = []
  if (Buffer.byteLength(warning) > 256) problems.push("must be <= 256 characters long")
  if (warning === "") problems.push("must not be an empty string")
  const characters = Array.from(warning)
  const bad = characters.findIndex((character) => !/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character))
  if (bad >= 0)
    problems.push(
      `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(characters.slice(0, bad).join(""))}`,
    )
  return problems
}

/** The keywords allowed at the root of a schema when the status subresource is on, by the names of their Go fields. */
const AT_ROOT: readonly string[] = [
  "Description",
  "Type",
  "Format",
  "Title",
  "Maximum",
  "ExclusiveMaximum",
  "Minimum",
  "ExclusiveMinimum",
  "MaxLength",
  "MinLength",
  "Pattern",
  "MaxItems",
  "MinItems",
  "UniqueItems",
  "MultipleOf",
  "Required",
  "Items",
  "Properties",
  "ExternalDocs",
  "Example",
  "XPreserveUnknownFields",
  "XValidations",
]
const goName = (keyword: string): string =>
  keyword
    .replace(/^x-kubernetes-/, "x-")
    .split("-")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("")

/** Checks the schema of a version. */
export function validationFaults(
  schema: JsonSchema | undefined,
  statusEnabled: boolean,
  path: string,
  options: SchemaOptions,
  isUnchanged: boolean,
): readonly Cause[] {
  if (schema === undefined) return []
  const causes: Cause[] = []
  if (statusEnabled) {
    if (schema.type !== undefined && schema.type !== "object")
      causes.push(
        invalidValue(
          at(path, "type"),
          schema.type,
          'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
        ),
      )
    const other = Object.keys(schema).find((keyword) => !AT_ROOT.includes(goName(keyword)))
    if (other !== undefined)
      causes.push(
        invalidValue(
          path,
          schema,
          `only [${AT_ROOT.join(" ")}] fields are allowed at the root of the schema if the status subresource is enabled`,
        ),
      )
  }
  if (schema.nullable === true) causes.push(forbiddenField(at(path, "nullable"), "nullable cannot be true at the root"))
  const cannotBe = unsupported(schema)
  const structural = cannotBe === undefined ? structuralFaults(schema, path) : []
  const ofDefaults = cannotBe === undefined && structural.length === 0 ? defaultFaults(schema, path) : []
  const ofOpenApi = openApiFaults(schema, path, options)
  pushAll(causes, structural, ofDefaults, ofOpenApi)
  if (cannotBe !== undefined) return causes.length > 0 ? causes : [invalidValue(path, "", cannotBe)]
  // The types of expressions come from the schema, so it must be structural and its defaults valid.
  if (structural.length > 0 || ofDefaults.length > 0) return causes
  return [...causes, ...expressionFaults(schema, path, isUnchanged, ofOpenApi)]
}
