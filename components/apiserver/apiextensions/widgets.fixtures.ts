import type { Answer, Call } from "../serving/http-server.fixtures.ts"

export const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
export const port = {
  type: "object",
  required: ["port"],
  properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" } },
}
export const schema = {
  type: "object",
  description: "A widget.",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 10 },
        replicas: { type: "integer", default: 1 },
        color: { type: "string", enum: ["red", "blue"], default: "red" },
        name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port"],
          items: port,
        },
        tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        either: { "x-kubernetes-int-or-string": true },
        maybe: { type: "string", nullable: true },
        labels: { type: "object", additionalProperties: { type: "string" } },
        template: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
      },
    },
    status: {
      type: "object",
      properties: { replicas: { type: "integer" }, selector: { type: "string" }, phase: { type: "string" } },
    },
  },
}
export const version = (name: string, more: object = {}) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
  },
  additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
  selectableFields: [{ jsonPath: ".spec.color" }],
  ...more,
})
export const definition = (plural: string, kind: string, ...versions: object[]) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.com` },
  spec: { group: "example.com", scope: "Namespaced", names: { plural, kind }, versions },
})
export interface Body {
  readonly message: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
  readonly details: { readonly causes: readonly { readonly field: string; readonly message: string }[] }
  readonly [field: string]: unknown
}
export const body = ({ text }: Answer): Body => JSON.parse(text) as Body
export const patch = (type: string, value: unknown): Call => ({
  headers: { "content-type": `application/${type}` },
  body: JSON.stringify(value),
})
export const merge = (value: unknown): Call => patch("merge-patch+json", value)
