import { defineCustomResource, type ObjectOf } from "../operator/custom-resource/define-custom-resource.ts"
import { GATEWAY_GROUP } from "./k3ts-class.ts"
import { s } from "../operator/custom-resource/fields.ts"
import { controllerName } from "./names.ts"
import { caReference } from "./references.ts"
import { conditions, pending } from "./status.ts"

const spec = s.object({
  controllerName: controllerName.rule("self == oldSelf", "field is immutable"),
  description: s.string({ maxLength: 64 }).optional(),
  parametersRef: caReference.optional(),
})

const status = s
  .object({
    conditions: conditions.default([pending("Accepted")]),
    supportedFeatures: s.list(s.object({ name: s.string() }), { maxItems: 64, keys: ["name"] }).optional(),
  })
  .default({ conditions: [pending("Accepted")] })

const version = {
  spec,
  status,
  columns: {
    Controller: ".spec.controllerName",
    Accepted: '.status.conditions[?(@.type=="Accepted")].status',
    Age: { path: ".metadata.creationTimestamp", type: "date" },
    Description: { path: ".spec.description", type: "string", priority: 1 },
  },
}

export const gatewayclass = defineCustomResource({
  group: GATEWAY_GROUP,
  kind: "GatewayClass",
  plural: "gatewayclasses",
  shortNames: ["gc"],
  categories: ["gateway-api"],
  scope: "Cluster",
  versions: { v1: { ...version, storage: true }, v1beta1: version },
})

export const GatewayClass = gatewayclass.kinds.v1
export type GatewayClass = ObjectOf<typeof GatewayClass>
