import { strategiesOf, type FieldMeta, type PatchMeta } from "./patch-meta.ts"

/** A schema of an OpenAPI document, version 3, as far as patches need it. */
export interface OpenApiSchema {
  readonly $ref?: string
  readonly allOf?: readonly OpenApiSchema[]
  readonly items?: OpenApiSchema
  readonly properties?: Readonly<Record<string, OpenApiSchema>>
  readonly "x-kubernetes-patch-merge-key"?: string
  readonly "x-kubernetes-patch-strategy"?: string
}

const REFERENCE = "#/components/schemas/"

/**
 * Reads how fields are patched from the document of a server. Below a schema without properties, such as a map, no
 * field is known. Source: apimachinery pkg/util/strategicpatch/meta.go PatchMetaFromOpenAPIV3.
 */
export function openApiMeta(schema: OpenApiSchema, schemas: Readonly<Record<string, OpenApiSchema>>): PatchMeta {
  return {
    of(name): FieldMeta {
      const properties = schema.properties ?? {}
      if (!Object.hasOwn(properties, name)) throw new Error(`unable to find api field "${name}"`)
      const field = properties[name]!
      return {
        ...strategiesOf(field["x-kubernetes-patch-strategy"]),
        mergeKey: field["x-kubernetes-patch-merge-key"],
        fields: openApiMeta(resolved(field.items ?? field, schemas), schemas),
      }
    },
  }
}

/** Follows the reference of a schema. @throws Error when the document does not have what it names */
function resolved(schema: OpenApiSchema, schemas: Readonly<Record<string, OpenApiSchema>>): OpenApiSchema {
  const { $ref: reference } = schema.allOf?.[0] ?? schema
  if (reference === undefined) return schema.allOf?.[0] ?? schema
  const found = schemas[reference.slice(REFERENCE.length)]
  if (found === undefined) throw new Error(`unable to resolve ${reference} in OpenAPI V3`)
  return found
}
