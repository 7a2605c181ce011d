import { defineCustomResource, type ObjectOf } from "../operator/custom-resource/define-custom-resource.ts"
import { GATEWAY_GROUP } from "./k3ts-class.ts"
import { s } from "../operator/custom-resource/fields.ts"
import { hostname, sectionName } from "./names.ts"
import { parentReferences, weightedBackend } from "./references.ts"
import { routeStatus } from "./status.ts"

const spec = s.object({
  hostnames: s
    .list(hostname, { minItems: 1, maxItems: 1024 })
    .rule("self.all(h, !isIP(h))", "Hostnames cannot contain an IP")
    .rule(
      "self.all(h, !h.contains('*') ? h.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$') : true)",
      "Hostnames must be valid based on RFC-1123",
    )
    .rule(
      "self.all(h, h.contains('*') ? (h.startsWith('*.') && h.substring(2).matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$')) : true)",
      "Wildcards on hostnames must be the first label, and the rest of hostname must be valid based on RFC-1123",
    ),
  parentRefs: parentReferences.optional(),
  rules: s.list(
    s.object({
      backendRefs: s.list(weightedBackend, { minItems: 1, maxItems: 16 }),
      name: sectionName.optional(),
    }),
    { minItems: 1, maxItems: 1 },
  ),
})

const version = { spec, status: routeStatus, columns: { Age: { path: ".metadata.creationTimestamp", type: "date" } } }

export const tlsroute = defineCustomResource({
  group: GATEWAY_GROUP,
  kind: "TLSRoute",
  plural: "tlsroutes",
  categories: ["gateway-api"],
  versions: { v1: version },
})

export const TLSRoute = tlsroute.kinds.v1
export type TLSRoute = ObjectOf<typeof TLSRoute>
