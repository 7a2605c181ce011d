import type { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { CustomResourceDefinitionVersion } from "../../../pkg/api/apiextensions/v1/customresourcedefinitionspec.ts"
import { compareVersions } from "../../../pkg/apimachinery/scalars/compare-versions.ts"
import { decodeMessage, typed } from "../../../pkg/apimachinery/decoding/decode.ts"
import { equalBeside } from "../../../pkg/apimachinery/json/equal.ts"
import type { Message } from "../../../pkg/apimachinery/field-spec.ts"
import { parseJsonPath } from "../../../pkg/apimachinery/table/jsonpath.ts"
import { defineResource, type KubeObject, type Resource } from "../../../pkg/apimachinery/resource.ts"
import { coercerOf, prunedTo } from "../../../pkg/apimachinery/structural/coerce.ts"
import type { JsonSchema } from "../../../pkg/apimachinery/structural/json-schema.ts"
import type { Convert } from "./conversion/webhook-converter.ts"
import { finalizerWarnings } from "./finalizer-warnings.ts"
import { columnsOf } from "./printer-columns.ts"
import { unnoted, type Note } from "./note.ts"
import { customRules } from "./rules.ts"

/** One version of a custom resource, declared by the current state of its definition. */
export interface CustomResource extends Resource {
  readonly definition: NonNullable<Resource["definition"]>
  /** Returns an object of this version without what it does not know; nothing gets a default. */
  pruned(object: KubeObject): KubeObject
}

/** State that the versions of a definition share until the definition changes. */
export interface Era {
  /**
   * Objects with a later revision were written under this definition, so they have the form of its storage version
   * already.
   */
  from: number
}

/**
 * Returns the resources that a definition declares: one for each served version, the preferred one first. Names are the
 * accepted ones. Schemas are compiled when the first object needs them.
 */
export function customResourcesOf(
  definition: CustomResourceDefinition,
  era: Era,
  converterOf: (definition: CustomResourceDefinition) => Convert,
  note: Note = unnoted,
): readonly CustomResource[] {
  const { versions, conversion } = definition.spec
  const stored = versions.find(({ storage }) => storage)
  if (stored === undefined) return []
  const convert = conversion?.strategy === "Webhook" ? converterOf(definition) : undefined
  const unserved = new Map<string, CustomResource | undefined>()
  const atVersion = (apiVersion: string): CustomResource | undefined => {
    const found = served.find((resource) => resource.apiVersion === apiVersion)
    if (found !== undefined || unserved.has(apiVersion)) return found ?? unserved.get(apiVersion)
    const version = versions.find(({ name }) => `${definition.spec.group}/${name}` === apiVersion)
    const made = version && customResource(definition, version, keeping)
    unserved.set(apiVersion, made)
    return made
  }
  const keeping: Keeping = { stored, era, convert, atVersion, note }
  const served = versions
    .filter((version) => version.served)
    .map((version) => customResource(definition, version, keeping))
    .sort((a, b) => compareVersions(a.version, b.version))
  return served
}

/** How objects of a definition are stored. */
interface Keeping {
  readonly stored: CustomResourceDefinitionVersion
  readonly era: Era
  /** Calls the conversion webhook; undefined when the definition has none. */
  readonly convert: Convert | undefined
  /** Returns the resource of any version of the definition. */
  readonly atVersion: (apiVersion: string) => CustomResource | undefined
  readonly note: Note
}

function customResource(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  { stored, era, convert, atVersion, note }: Keeping,
): CustomResource {
  const { metadata, spec, status } = definition
  const { group } = spec
  const { plural, singular, kind, shortNames, categories } = status.acceptedNames
  const schema: JsonSchema = version.schema?.openAPIV3Schema ?? {}
  const { status: hasStatus, scale } = version.subresources ?? {}
  const apiVersion = `${group}/${version.name}`
  const isStored = version.name === stored.name
  const rules = customRules({ schema, hasStatus: hasStatus !== undefined, isStored, scale, note })
  const resource = defineResource(
    {
      group,
      version: version.name,
      kind,
      plural,
      ...(singular === undefined ? {} : { singular }),
      ...(shortNames === undefined ? {} : { shortNames }),
      ...(categories === undefined ? {} : { categories }),
      scope: spec.scope === "Namespaced" ? "Namespaced" : "Cluster",
      verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
      doc: schema.description ?? `${kind} is the Schema for the ${plural} API`,
      schemaName: `io.${kind}`,
      upstreamChecks: { plainFinalizers: true },
      allowUnconditionalUpdate: false,
      generation: { counts: (object: KubeObject, old: KubeObject) => !equalBeside(object, old, ["metadata"]) },
      columns: columnsOf(version.additionalPrinterColumns),
      ageColumn: false,
      keepsStatusOnCreate: true,
      ...rules,
      warnings: finalizerWarnings,
      ...(version.selectableFields === undefined
        ? {}
        : { fieldSelectors: fieldSelectorsOf(version.selectableFields.map(({ jsonPath }) => jsonPath)) }),
      ...(version.deprecated === true ? { deprecated: deprecationWarning(definition, version) } : {}),
    },
    {},
  ) as unknown as Resource
  const coerce = coercerOf(schema)
  const message: Message = {
    name: openApiName(group, version.name, kind),
    doc: schema.description ?? "",
    fields: resource.schema.fields,
    rules: {
      structural: { schema, decode: (...input) => note(() => coerce(...input)) },
      ...(version.selectableFields === undefined || version.selectableFields.length === 0
        ? {}
        : { selectableFields: version.selectableFields.map(({ jsonPath }) => jsonPath.replace(/^\./, "")) }),
    },
  }
  const storedApiVersion = `${group}/${stored.name}`
  const decoded = (object: object): KubeObject => decodeMessage(typed(message), object).object as KubeObject
  const pruned = (object: KubeObject): KubeObject => note(() => prunedTo(schema, object)) as KubeObject
  return {
    ...resource,
    schema: message,
    pruned,
    definition: {
      uid: metadata.uid ?? "",
      terminating: metadata.deletionTimestamp !== undefined,
    },
    storedAs: {
      group,
      version: stored.name,
      kind,
      isCurrent: isStored ? (revision) => revision > era.from : () => false,
      toStored: (object) =>
        isStored ? object : readIn(atVersion(storedApiVersion), { ...object, apiVersion: storedApiVersion }),
      // The defaults are those of the version in which the object was written. Source: the codec of
      // crdConversionRESTOptionsGetter, which sets them before it converts.
      fromStored: (object) => {
        if (object.apiVersion === apiVersion) return decoded(object)
        return pruned({ ...readIn(atVersion(object.apiVersion), object), apiVersion })
      },
      atVersion,
      ...(convert === undefined
        ? {}
        : {
            async convert(objects, to) {
              const converted = await convert(
                objects.map((object) => readIn(atVersion(object.apiVersion), object)),
                to,
              )
              const known = atVersion(to)
              return known === undefined ? converted : converted.map((object) => known.pruned(object))
            },
          }),
    },
  }
}

/** Reads an object in its own version: with the defaults of that version, and without what it does not know. */
const readIn = (resource: CustomResource | undefined, object: KubeObject): KubeObject =>
  resource?.storedAs?.fromStored(object) ?? object

/** Returns the OpenAPI name of a version, such as `com.example.v1.Widget`, as upstream's. */
const openApiName = (group: string, version: string, kind: string): string =>
  `${group.split(".").reverse().join(".")}.${version}.${kind}`

/**
 * Returns a function for each selectable field that reads it as text. Source: registry/customresource/strategy.go
 * selectableFields.
 */
function fieldSelectorsOf(paths: readonly string[]): Record<string, (object: KubeObject) => string> {
  return Object.fromEntries(
    paths.map((path) => {
      const find = parseJsonPath(path)
      return [
        path.replace(/^\./, ""),
        (object: KubeObject) => {
          const [value] = find(object)
          return value === undefined || value === null ? "" : String(value)
        },
      ]
    }),
  )
}

/** Returns the warning of a deprecated version. Source: customresource_handler.go defaultDeprecationWarning. */
function deprecationWarning(
  { spec: { group, names, versions } }: CustomResourceDefinition,
  { name, deprecationWarning: given }: CustomResourceDefinitionVersion,
): string {
  if (given !== undefined) return given
  const [better] = versions
    .filter((other) => other.served && other.deprecated !== true && compareVersions(other.name, name) < 0)
    .map((other) => other.name)
    .sort(compareVersions)
  const message = `${group}/${name} ${names.kind} is deprecated`
  return better === undefined ? message : `${message}; use ${group}/${better} ${names.kind}`
}
