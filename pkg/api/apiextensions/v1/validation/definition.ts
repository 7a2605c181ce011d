import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, invalidValue, notSupported, required } from "../../../../apimachinery/validation/field-errors.ts"
import { isDNS1035Label, isDNS1123Subdomain, oneProblem } from "../../../../apimachinery/validation/names.ts"
import { someSchema, type JsonSchema } from "../../../../apimachinery/structural/json-schema.ts"
import type { DefinitionView } from "./definition-view.ts"
import type { CustomResourceDefinitionStatus } from "../customresourcedefinitionstatus.ts"
import type { CustomResourceDefinitionSpec } from "../customresourcedefinitionspec.ts"
import { approvalFaults } from "./approval.ts"
import { columnFaults, selectableFaults } from "./columns.ts"
import { conversionFaults } from "./conversion.ts"
import { hoisted } from "./hoisted.ts"
import { nameFaults } from "./names.ts"
import { isAtomicItem, listItemFaults, type SchemaOptions } from "./schema.ts"
import { hasStatus, subresourceFaults } from "./subresources.ts"
import { isUnchangedIn, validationFaults, versionFaults } from "./version.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/** Source of this file: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go. */

/** Checks a definition; `old` is the one that an update replaces. */
export function definitionFaults(definition: DefinitionView, old: DefinitionView | undefined): readonly Cause[] {
  // An unchanged spec is not validated again: most writes change the status only.
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

const statusPart = (definition: DefinitionView): readonly Cause[] => [
  ...statusFaults(definition.status),
  ...storedVersionFaults(definition),
]

export const statusFaults = ({ acceptedNames }: CustomResourceDefinitionStatus): readonly Cause[] =>
  nameFaults(acceptedNames, "status.acceptedNames")

function storedVersionFaults({ spec, status }: DefinitionView): readonly Cause[] {
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

export const isEstablished = ({ status }: DefinitionView): boolean =>
  status.conditions?.some((condition) => condition.type === "Established" && condition.status === "True") === true

function immutableFaults({ spec }: DefinitionView, old: DefinitionView): readonly Cause[] {
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

function specFaults(spec: CustomResourceDefinitionSpec, old: DefinitionView | undefined): readonly Cause[] {
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
    pushAll(
      causes,
      versionFaults(version, path, hasStatus(version.subresources ?? whole.subresources), options, old?.spec),
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
  pushAll(causes, nameFaults(spec.names, "spec.names"))
  const anyStatus = hasStatus(whole.subresources) || whole.versions.some((version) => hasStatus(version.subresources))
  pushAll(
    causes,
    validationFaults(
      whole.schema?.openAPIV3Schema,
      anyStatus,
      "spec.validation.openAPIV3Schema",
      options,
      isUnchangedIn(old?.spec, first, whole.schema?.openAPIV3Schema),
    ),
    subresourceFaults(whole.subresources, "spec.subresources"),
    columnFaults(whole.additionalPrinterColumns, "spec.additionalPrinterColumns"),
  )
  if (whole.selectableFields !== undefined) {
    if (whole.schema?.openAPIV3Schema === undefined)
      causes.push(invalidValue("spec.selectableFields", "", "may only be set when validations.schema is included"))
    else
      pushAll(
        causes,
        selectableFaults(
          whole.selectableFields,
          whole.schema.openAPIV3Schema,
          "spec.selectableFields",
          deepEqual(whole.selectableFields, old && hoisted(old.spec).selectableFields),
        ),
      )
  }
  return [...causes, ...conversionFaults(spec, old)]
}

/** Relaxes the rules that the stored definition breaks, so that it can still be updated. */
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
