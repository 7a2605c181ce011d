import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import type { JsonSchema } from "../../../apimachinery/structural/json-schema.ts"
import { JSONSchemaProps, named } from "./jsonschemaprops.ts"

export const CustomResourceDefinitionNames = message(
  named("CustomResourceDefinitionNames"),
  "Under which names a custom resource is known.",
  {
    plural: f.string(1, "Name in paths: lower case, in the plural.").printZero(),
    singular: f.string(2, "Name in the singular; the kind in lower case unless given."),
    shortNames: f.list(3, e.string, "Abbreviations for command lines.").atomic(),
    kind: f.string(4, "Kind of the objects, in CamelCase.").printZero(),
    listKind: f.string(5, "Kind of lists; by default the kind followed by List."),
    categories: f.list(6, e.string, "Groups of resources that are asked for together, such as all.").atomic(),
  },
)
export interface CustomResourceDefinitionNames extends ObjectOf<typeof CustomResourceDefinitionNames> {}

const ServiceReference = message(named("ServiceReference"), "A Service that is called.", {
  namespace: f.string(1, "Namespace of the Service.").printZero(),
  name: f.string(2, "Name of the Service.").printZero(),
  path: f.string(3, "Path that is asked for.").pointer(),
  port: f.int32(4, "Port of the Service; 443 unless given.").default(443).pointer(),
})

export const WebhookClientConfig = message(
  named("WebhookClientConfig"),
  "The address of a webhook, and the CA of its certificate.",
  {
    service: f.message(1, ServiceReference, "A Service in the cluster."),
    caBundle: f.bytes(2, "Certificates (PEM) that sign the webhook's own."),
    url: f.string(3, "URL of the webhook; used instead of a Service.").pointer(),
  },
)
export interface WebhookClientConfig extends ObjectOf<typeof WebhookClientConfig> {}

const WebhookConversion = message(named("WebhookConversion"), "How a conversion webhook is called.", {
  clientConfig: f.message(2, WebhookClientConfig, "How to call the webhook."),
  conversionReviewVersions: f
    .list(3, e.string, "Versions of ConversionReview that it understands, most wanted first.")
    .atomic()
    .printZero(),
})

export const CustomResourceConversion = message(
  named("CustomResourceConversion"),
  "How objects are converted between versions.",
  {
    strategy: f.string(1, "None (only apiVersion changes) or Webhook.").printZero(),
    webhook: f.message(2, WebhookConversion, "Of the strategy Webhook."),
  },
)
export interface CustomResourceConversion extends ObjectOf<typeof CustomResourceConversion> {}

export const CustomResourceColumnDefinition = message(named("CustomResourceColumnDefinition"), "A column of tables.", {
  name: f.string(1, "Header of the column.").printZero(),
  type: f.string(2, "OpenAPI type of the cells, or date.").printZero(),
  format: f.string(3, "Format of the type."),
  description: f.string(4, "Description of the column."),
  priority: f.int32(5, "0 is always shown, others only in wide tables."),
  jsonPath: f.string(6, "Path of the cell in an object.").printZero(),
})
export interface CustomResourceColumnDefinition extends ObjectOf<typeof CustomResourceColumnDefinition> {}

const CustomResourceSubresourceScale = message(named("CustomResourceSubresourceScale"), "How /scale is served.", {
  specReplicasPath: f.string(1, "Path of the wanted number below .spec.").printZero(),
  statusReplicasPath: f.string(2, "Path of the present number below .status.").printZero(),
  labelSelectorPath: f.string(3, "Path of the selector's text below .spec or .status.").pointer(),
})
export interface CustomResourceSubresourceScale extends ObjectOf<typeof CustomResourceSubresourceScale> {}

const CustomResourceSubresources = message(named("CustomResourceSubresources"), "Subresources that are served.", {
  status: f.message(
    1,
    message(named("CustomResourceSubresourceStatus"), "The status has a path of its own.", {}),
    "The status has a path of its own.",
  ),
  scale: f.message(2, CustomResourceSubresourceScale, "The size has a path of its own."),
})

const CustomResourceValidation = message(named("CustomResourceValidation"), "The schema of a version.", {
  openAPIV3Schema: f.recursive<JsonSchema>(1, () => JSONSchemaProps, "What objects look like."),
})

export const CustomResourceDefinitionVersion = message(
  named("CustomResourceDefinitionVersion"),
  "One version of a custom resource.",
  {
    name: f.string(1, "Name of the version, such as v1beta1.").printZero(),
    served: f.bool(2, "Whether the version is served.").printZero(),
    storage: f.bool(3, "Whether objects are stored in this version; true for exactly one version.").printZero(),
    schema: f.message(4, CustomResourceValidation, "Schema of the objects in this version."),
    subresources: f.message(5, CustomResourceSubresources, "Subresources of this version."),
    additionalPrinterColumns: f
      .list(6, CustomResourceColumnDefinition, "Columns of tables; the age unless given.")
      .atomic(),
    deprecated: f.bool(7, "Clients are warned off the version."),
    deprecationWarning: f.string(8, "Words of the warning.").pointer(),
    selectableFields: f
      .list(
        9,
        message(named("SelectableField"), "A field that selectors may name.", {
          jsonPath: f.string(1, "Path of the field.").printZero(),
        }),
        "Fields that selectors may name.",
      )
      .atomic(),
  },
)
export interface CustomResourceDefinitionVersion extends ObjectOf<typeof CustomResourceDefinitionVersion> {}

export const CustomResourceDefinitionSpec = message(
  named("CustomResourceDefinitionSpec"),
  "The definition of a custom resource.",
  {
    group: f.string(1, "API group.").printZero(),
    names: f.message(3, CustomResourceDefinitionNames, "Names of the resource.").always(),
    scope: f.string(4, "Cluster or Namespaced.").printZero(),
    versions: f.list(7, CustomResourceDefinitionVersion, "Versions of the resource.").atomic().printZero(),
    conversion: f.message(9, CustomResourceConversion, "How objects are converted between versions."),
    preserveUnknownFields: f.bool(10, "Must be false: unknown fields are kept by the schema's own keyword."),
  },
  {
    defaults: (spec: SpecFields): object => {
      const { names, conversion, versions } = spec
      const singular = names.singular ?? ""
      const listKind = names.listKind ?? ""
      const isNamed = (singular !== "" || names.kind === "") && (listKind !== "" || names.kind === "")
      if (isNamed && conversion !== undefined && versions !== undefined) return spec
      return {
        ...spec,
        ...(versions === undefined ? { versions: [] } : {}),
        ...(isNamed
          ? {}
          : {
              names: {
                ...names,
                ...(singular === "" ? { singular: names.kind.toLowerCase() } : {}),
                ...(listKind === "" ? { listKind: `${names.kind}List` } : {}),
              },
            }),
        ...(conversion === undefined ? { conversion: { strategy: "None" } } : {}),
      }
    },
  },
)
/** The fields of a spec that defaults read; the full type is inferred from the message that contains them. */
interface SpecFields {
  readonly names: CustomResourceDefinitionNames
  readonly conversion?: CustomResourceConversion | undefined
  readonly versions?: unknown
}
export interface CustomResourceDefinitionSpec extends ObjectOf<typeof CustomResourceDefinitionSpec> {}
