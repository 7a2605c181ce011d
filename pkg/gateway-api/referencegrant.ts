import { defineCustomResource, type ObjectOf } from "../operator/custom-resource/define-custom-resource.ts"
import { GATEWAY_GROUP } from "./k3ts-class.ts"
import { s } from "../operator/custom-resource/fields.ts"
import { group, kind, namespace, objectName } from "./names.ts"

const spec = s.object({
  from: s.list(s.object({ group: group, kind: kind, namespace: namespace }), { minItems: 1, maxItems: 16 }),
  to: s.list(s.object({ group: group, kind: kind, name: objectName.optional() }), { minItems: 1, maxItems: 16 }),
})

const version = { spec, columns: { Age: { path: ".metadata.creationTimestamp", type: "date" } } }

export const referencegrant = defineCustomResource({
  group: GATEWAY_GROUP,
  kind: "ReferenceGrant",
  plural: "referencegrants",
  shortNames: ["refgrant"],
  categories: ["gateway-api"],
  versions: { v1: version, v1beta1: { ...version, storage: true } },
})

export const ReferenceGrant = referencegrant.kinds.v1
export type ReferenceGrant = ObjectOf<typeof ReferenceGrant>
