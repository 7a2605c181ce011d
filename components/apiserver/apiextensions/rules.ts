import type { CustomResourceSubresourceScale } from "../../../pkg/api/apiextensions/v1/customresourcedefinitionspec.ts"
import { hasRules, ruleFaults } from "../../../pkg/api/apiextensions/v1/rules/rule-faults.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../pkg/apimachinery/validation/field-errors.ts"
import type { KubeObject, ResourceDeclaration, SubresourceStrategy } from "../../../pkg/apimachinery/resource.ts"
import { withDefaults } from "../../../pkg/apimachinery/structural/coerce.ts"
import { embeddedFaults } from "../../../pkg/apimachinery/structural/embedded.ts"
import type { JsonSchema } from "../../../pkg/apimachinery/structural/json-schema.ts"
import { listTypeFaults } from "../../../pkg/apimachinery/structural/list-types.ts"
import { schemaFaults } from "../../../pkg/apimachinery/structural/validate.ts"
import { counterpartIn, type Old } from "../../../pkg/apimachinery/structural/counterparts.ts"
import type { Note } from "./note.ts"
import { scaleSpecFaults, scaleStatusFaults, valueAt } from "./scale-paths.ts"

interface Version {
  readonly schema: JsonSchema
  readonly hasStatus: boolean
  /** Whether objects are stored in this version: only then does a new one get the defaults of its status here. */
  readonly isStored: boolean
  readonly scale: CustomResourceSubresourceScale | undefined
  readonly note: Note
}

type Rules = Pick<
  ResourceDeclaration<KubeObject>,
  "prepareForCreate" | "prepareForUpdate" | "validateCreate" | "validateUpdate" | "subresources"
>

interface Custom extends KubeObject {
  readonly status?: unknown
}

/**
 * Returns the validation rules of a version of a custom resource. Source: apiextensions-apiserver
 * pkg/registry/customresource/{strategy,status_strategy,validator}.go.
 */
export function customRules({ schema, hasStatus, isStored, scale, note }: Version): Rules {
  const statusSchema = schema.properties?.["status"]
  const lists = (object: KubeObject, old: KubeObject | undefined): readonly Cause[] => {
    const causes = listTypeFaults(schema, object)
    // If the stored object breaks the list types already, the new one may too.
    return causes.length === 0 || old === undefined || listTypeFaults(schema, old).length === 0 ? causes : []
  }
  const status: SubresourceStrategy<KubeObject> = {
    resets: [["metadata"], ["spec"]],
    prepareForUpdate(object, old) {
      const { managedFields: _before, ...kept } = old.metadata
      const { managedFields, resourceVersion } = object.metadata
      const metadata = { ...kept, resourceVersion, ...(managedFields === undefined ? {} : { managedFields }) }
      return withStatus({ ...old, metadata }, (object as Custom).status)
    },
    validateUpdate: (object, old) =>
      note(() => {
        const { status: value } = object as Custom
        const before = counterpartIn(schema, { value: old }, "status")
        return withRules(schema, object, { value: old }, [
          ...(value === undefined || statusSchema === undefined
            ? []
            : schemaFaults(statusSchema, value, "status", before)),
          ...scaleStatusFaults(scale, object),
          ...lists(object, old),
        ])
      }),
  }
  return {
    prepareForCreate: (object) =>
      hasStatus ? withStatus(object, isStored ? defaultOf(statusSchema) : undefined) : object,
    prepareForUpdate: (object, old) => (hasStatus ? withStatus(object, (old as Custom).status) : object),
    validateCreate: (object) =>
      note(() =>
        withRules(schema, object, undefined, [
          ...schemaFaults(schema, object, ""),
          ...scaleSpecFaults(scale, object),
          ...scaleStatusFaults(scale, object),
          ...embeddedFaults(schema, object),
          ...lists(object, undefined),
        ]),
      ),
    validateUpdate: (object, old) =>
      note(() =>
        withRules(schema, object, { value: old }, [
          ...schemaFaults(schema, object, "", { value: old }),
          ...scaleSpecFaults(scale, object),
          ...scaleStatusFaults(scale, object),
          ...embeddedFaults(schema, object),
          ...lists(object, old),
        ]),
      ),
    subresources: {
      ...(hasStatus ? { status } : {}),
      ...(scale === undefined
        ? {}
        : {
            scale: {
              specReplicas: scale.specReplicasPath,
              statusReplicas: scale.statusReplicasPath,
              selector: (object) => {
                const { labelSelectorPath = "" } = scale
                const value = labelSelectorPath === "" ? undefined : valueAt(object, labelSelectorPath)
                return typeof value === "string" ? value : ""
              },
              needsReplicas: true,
            },
          }),
    },
  }
}

const defaultOf = (schema: JsonSchema | undefined): unknown =>
  schema?.default === undefined || schema.default === null ? undefined : withDefaults(schema, schema.default)

function withStatus(object: KubeObject, status: unknown): KubeObject {
  const { status: given } = object as Custom
  if (given === status && (status !== undefined || !("status" in object))) return object
  if (status !== undefined) return { ...object, status } as KubeObject
  const { status: _given, ...rest } = object as Custom
  return rest
}

/**
 * Faults after which CEL rules are not evaluated, since the value may not have the type for which they were checked.
 */
const BLOCKING: ReadonlySet<string | undefined> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
])

const NOT_CHECKED: Cause = invalidValue(
  "<nil>",
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to " +
    "complete validation",
)

function withRules(
  schema: JsonSchema,
  object: KubeObject,
  old: Old | undefined,
  causes: readonly Cause[],
): readonly Cause[] {
  if (!hasRules(schema)) return causes
  if (causes.some(({ reason }) => BLOCKING.has(reason))) return [...causes, NOT_CHECKED]
  const broken = ruleFaults(schema, object, old)
  return broken.length === 0 ? causes : [...causes, ...broken]
}
