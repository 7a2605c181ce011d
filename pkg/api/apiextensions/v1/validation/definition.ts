import { deepEqual } from "../../../../apimachinery/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
  tooMany,
} from "../../../../apimachinery/field-errors.ts"
import { isDNS1035Label, isDNS1123Subdomain, oneProblem } from "../../../../apimachinery/names.ts"
import { fieldAt } from "../../../../apimachinery/structural/field-path.ts"
import { someSchema, type JsonSchema } from "../../../../apimachinery/structural/json-schema.ts"
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionStatus,
  CustomResourceDefinitionVersion,
} from "../customresourcedefinition.ts"
import { approvalFaults } from "./approval.ts"
import { conversionFaults } from "./conversion.ts"
import { defaultFaults } from "./defaults.ts"
import { hoisted } from "./hoisted.ts"
import { isAtomicItem, listItemFaults, openApiFaults, type SchemaOptions } from "./schema.ts"
import { expressionFaults } from "./rule-costs.ts"
import { structuralFaults, unsupported } from "./structurality.ts"

/** Source of this file: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go. */

type Subresources = CustomResourceDefinitionVersion["subresources"]

/** The name says which resource it is. */
export function nameProblem({ metadata: { name = "" }, spec }: CustomResourceDefinition): readonly Cause[] {
  return name === `${spec.names.plural}.${spec.group}`
    ? []
    : [invalidValue("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]
}

/** What is wrong with a definition; `old` is the one that it replaces. */
export function definitionFaults(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): readonly Cause[] {
  // What was accepted and is unchanged is not looked at again: most writes change the status only.
  if (old !== undefined && old.spec === definition.spec) return statusPart(definition)
  return [
    ...specFaults(definition.spec, old),
    ...(old === undefined ? [] : immutableFaults(definition, old)),
    ...statusPart(definition),
    ...approvalFaults(definition, old),
    ...(definition.spec.preserveUnknownFields === true && old?.spec.preserveUnknownFields !== true
      ? [
          invalidValue(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
          ),
        ]
      : []),
  ]
}

const statusPart = (definition: CustomResourceDefinition): readonly Cause[] => [
  ...statusFaults(definition.status),
  ...storedVersionFaults(definition),
]

export const statusFaults = ({ acceptedNames }: CustomResourceDefinitionStatus): readonly Cause[] =>
  nameFaults(acceptedNames, "status.acceptedNames")

function storedVersionFaults({ spec, status }: CustomResourceDefinition): readonly Cause[] {
  const path = "status.storedVersions"
  const stored = status.storedVersions ?? []
  if (stored.length === 0) return [invalidValue(path, null, "must have at least one stored version")]
  const known = new Set(spec.versions.map(({ name }) => name))
  return [
    ...spec.versions
      .filter(({ name, storage }) => storage && !stored.includes(name))
      .map(({ name }) => invalidValue(path, stored, `must have the storage version ${name}`)),
    ...stored.flatMap((name, i) =>
      known.has(name)
        ? []
        : [
            invalidValue(
              at(path, i),
              name,
              `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
            ),
          ],
    ),
  ]
}

export const isEstablished = ({ status }: CustomResourceDefinition): boolean =>
  status.conditions?.some((condition) => condition.type === "Established" && condition.status === "True") === true

function immutableFaults({ spec }: CustomResourceDefinition, old: CustomResourceDefinition): readonly Cause[] {
  const causes: Cause[] = []
  const fixed = (field: string, value: string, before: string): void => {
    if (value !== before) causes.push(invalidValue(field, value, "field is immutable"))
  }
  if (isEstablished(old)) {
    fixed("spec.scope", spec.scope, old.spec.scope)
    fixed("spec.names.kind", spec.names.kind, old.spec.names.kind)
  }
  fixed("spec.group", spec.group, old.spec.group)
  fixed("spec.names.plural", spec.names.plural, old.spec.names.plural)
  return causes
}

function specFaults(spec: CustomResourceDefinitionSpec, old: CustomResourceDefinition | undefined): readonly Cause[] {
  const causes: Cause[] = []
  const whole = hoisted(spec)
  const options = schemaOptions(old?.spec)
  if (spec.group === "") causes.push(required("spec.group"))
  else {
    const problem = isDNS1123Subdomain(spec.group)
    if (problem !== undefined) causes.push(invalidValue("spec.group", spec.group, oneProblem(problem, ",")))
    else if (!spec.group.includes("."))
      causes.push(invalidValue("spec.group", spec.group, "should be a domain with at least one dot"))
  }
  if (spec.scope === "") causes.push(required("spec.scope"))
  else if (spec.scope !== "Cluster" && spec.scope !== "Namespaced")
    causes.push(notSupported("spec.scope", spec.scope, ["Cluster", "Namespaced"]))
  if (whole.schema?.openAPIV3Schema === undefined)
    for (const [i, version] of whole.versions.entries())
      if (version.schema?.openAPIV3Schema === undefined)
        causes.push(required(`spec.versions[${i}].schema.openAPIV3Schema`))
  for (const [i, version] of whole.versions.entries()) {
    const path = `spec.versions[${i}]`
    const problem = isDNS1035Label(version.name)
    if (problem !== undefined) causes.push(invalidValue(at(path, "name"), version.name, oneProblem(problem, ",")))
    causes.push(
      ...versionFaults(version, path, hasStatus(version.subresources ?? whole.subresources), options, old?.spec),
    )
  }
  if (new Set(spec.versions.map(({ name }) => name)).size < spec.versions.length)
    causes.push(invalidValue("spec.versions", whole.versions, "must contain unique version names"))
  if (spec.versions.filter(({ storage }) => storage).length !== 1)
    causes.push(
      invalidValue("spec.versions", whole.versions, "must have exactly one version marked as storage version"),
    )
  const first = spec.versions[0]?.name ?? ""
  const problem = first === "" ? undefined : isDNS1035Label(first)
  if (problem !== undefined) causes.push(invalidValue("spec.version", first, oneProblem(problem, ",")))
  for (const name of ["plural", "singular", "kind", "listKind"] as const)
    if ((spec.names[name] ?? "") === "") causes.push(required(`spec.names.${name}`))
  causes.push(...nameFaults(spec.names, "spec.names"))
  const anyStatus = hasStatus(whole.subresources) || whole.versions.some((version) => hasStatus(version.subresources))
  causes.push(
    ...validationFaults(
      whole.schema?.openAPIV3Schema,
      anyStatus,
      "spec.validation.openAPIV3Schema",
      options,
      isUnchangedIn(old?.spec, first, whole.schema?.openAPIV3Schema),
    ),
    ...subresourceFaults(whole.subresources, "spec.subresources"),
    ...columnFaults(whole.additionalPrinterColumns, "spec.additionalPrinterColumns"),
  )
  if (whole.selectableFields !== undefined) {
    if (whole.schema?.openAPIV3Schema === undefined)
      causes.push(invalidValue("spec.selectableFields", "", "may only be set when validations.schema is included"))
    else
      causes.push(
        ...selectableFaults(
          whole.selectableFields,
          whole.schema.openAPIV3Schema,
          "spec.selectableFields",
          deepEqual(whole.selectableFields, old && hoisted(old.spec).selectableFields),
        ),
      )
  }
  return [...causes, ...conversionFaults(spec, old)]
}

const hasStatus = (subresources: Subresources): boolean => subresources?.status !== undefined

/** Whether an older definition has the same schema for a version. */
const isUnchangedIn = (
  old: CustomResourceDefinitionSpec | undefined,
  version: string,
  schema: JsonSchema | undefined,
): boolean =>
  schema !== undefined && deepEqual(old?.versions.find(({ name }) => name === version)?.schema?.openAPIV3Schema, schema)

/** Rules that an older definition breaks are not held against a newer one. */
function schemaOptions(old: CustomResourceDefinitionSpec | undefined): SchemaOptions {
  const breaks = (found: (schema: JsonSchema) => boolean): boolean =>
    old?.versions.some(({ schema }) => someSchema(schema?.openAPIV3Schema, found)) === true
  return {
    requireAtomicSets: !breaks((schema) => {
      const { items } = schema
      return (
        schema["x-kubernetes-list-type"] === "set" &&
        items !== undefined &&
        !Array.isArray(items) &&
        !isAtomicItem(items as JsonSchema)
      )
    }),
    requireListKeys: !breaks((schema) => listItemFaults(schema, "").length > 0),
    requireKnownTypes: true,
  }
}

function versionFaults(
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
  causes.push(
    ...validationFaults(
      schema?.openAPIV3Schema,
      statusEnabled,
      at(path, "schema", "openAPIV3Schema"),
      options,
      isUnchangedIn(old, version.name, schema?.openAPIV3Schema),
    ),
    ...subresourceFaults(subresources, at(path, "subresources")),
    ...columnFaults(additionalPrinterColumns, at(path, "additionalPrinterColumns")),
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

/** Keywords that may stand at the root of a schema whose status has a path of its own, as upstream names them. */
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

function validationFaults(
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
  causes.push(...structural, ...ofDefaults, ...ofOpenApi)
  if (cannotBe !== undefined) return causes.length > 0 ? causes : [invalidValue(path, "", cannotBe)]
  // Types of expressions are made of schemas that are structural and have right defaults.
  if (structural.length > 0 || ofDefaults.length > 0) return causes
  return [...causes, ...expressionFaults(schema, path, isUnchanged, ofOpenApi)]
}

function subresourceFaults(subresources: Subresources, path: string): readonly Cause[] {
  const scale = subresources?.scale
  if (scale === undefined) return []
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = "" } = scale
  const causes: Cause[] = []
  const under = (name: string, value: string, roots: readonly string[], detail: string): void => {
    const field = at(path, "scale", name)
    const problems = simplePathFaults(value, field)
    causes.push(...problems)
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

const simplePathFaults = (path: string, field: string): readonly Cause[] =>
  path.startsWith(".") ? [] : [invalidValue(field, path, "must be a simple json path starting with .")]

export function nameFaults(names: CustomResourceDefinitionNames, path: string): readonly Cause[] {
  const causes: Cause[] = []
  const check = (field: string, value: string, text = value, before = ""): void => {
    const problem = text === "" ? undefined : isDNS1035Label(text)
    if (problem !== undefined) causes.push(invalidValue(field, value, before + oneProblem(problem, ",")))
  }
  const { plural, singular = "", kind, listKind = "", shortNames = [], categories = [] } = names
  const mixed = "may have mixed case, but should otherwise match: "
  check(at(path, "plural"), plural)
  check(at(path, "singular"), singular)
  check(at(path, "kind"), kind, kind.toLowerCase(), mixed)
  check(at(path, "listKind"), listKind, listKind.toLowerCase(), mixed)
  const checkEach = (name: string, values: readonly string[]): void => {
    for (const [i, value] of values.entries()) {
      const problem = isDNS1035Label(value)
      if (problem !== undefined) causes.push(invalidValue(at(path, name, i), value, oneProblem(problem, ",")))
    }
  }
  checkEach("shortNames", shortNames)
  if (kind !== "" && kind === listKind)
    causes.push(invalidValue(at(path, "listKind"), listKind, "kind and listKind may not be the same"))
  checkEach("categories", categories)
  return causes
}

const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"]
const COLUMN_FORMATS = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"]

function columnFaults(columns: readonly CustomResourceColumnDefinition[] | undefined, path: string): readonly Cause[] {
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
    else causes.push(...simplePathFaults(jsonPath, at(where, "JSONPath")))
    return causes
  })
}

const MOST_SELECTABLE = 8

function selectableFaults(
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
