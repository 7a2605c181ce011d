import { defineCustomResource, type ObjectOf } from "../operator/custom-resource/define-custom-resource.ts"
import { GATEWAY_GROUP } from "./k3ts-class.ts"
import { s } from "../operator/custom-resource/fields.ts"
import { grpcFilters } from "./filters.ts"
import { hostname, sectionName } from "./names.ts"
import { filteringBackend, headerMatches, matchCount, parentReferences, TOO_MANY_MATCHES } from "./references.ts"
import { routeStatus } from "./status.ts"

const spec = s.object({
  hostnames: s.list(hostname, { maxItems: 16 }).optional(),
  parentRefs: parentReferences.optional(),
  rules: s
    .list(
      s.object({
        backendRefs: s.list(filteringBackend(grpcFilters), { maxItems: 16 }).optional(),
        filters: grpcFilters.optional(),
        matches: s
          .list(
            s.object({
              headers: headerMatches.optional(),
              method: s
                .object({
                  method: s.string({ maxLength: 1024 }).optional(),
                  service: s.string({ maxLength: 1024 }).optional(),
                  type: s.oneOf("Exact", "RegularExpression").default("Exact"),
                })
                .rule(
                  "has(self.type) ? has(self.service) || has(self.method) : true",
                  "One or both of 'service' or 'method' must be specified",
                )
                .rule(
                  '(!has(self.type) || self.type == \'Exact\') && has(self.service) ? self.service.matches(r"""^(?i)\\.?[a-z_][a-z_0-9]*(\\.[a-z_][a-z_0-9]*)*$"""): true',
                  "service must only contain valid characters (matching ^(?i)\\.?[a-z_][a-z_0-9]*(\\.[a-z_][a-z_0-9]*)*$)",
                )
                .rule(
                  '(!has(self.type) || self.type == \'Exact\') && has(self.method) ? self.method.matches(r"""^[A-Za-z_][A-Za-z_0-9]*$"""): true',
                  "method must only contain valid characters (matching ^[A-Za-z_][A-Za-z_0-9]*$)",
                )
                .optional(),
            }),
            { maxItems: 64 },
          )
          .optional(),
        name: sectionName.optional(),
      }),
      { maxItems: 16 },
    )
    .rule(
      matchCount((i) => `(has(self[${i}].matches) ? self[${i}].matches.size() : 0)`),
      TOO_MANY_MATCHES,
    )
    .optional(),
})

const version = {
  spec,
  status: routeStatus,
  columns: { Hostnames: ".spec.hostnames", Age: { path: ".metadata.creationTimestamp", type: "date" } },
}

export const grpcroute = defineCustomResource({
  group: GATEWAY_GROUP,
  kind: "GRPCRoute",
  plural: "grpcroutes",
  categories: ["gateway-api"],
  versions: { v1: version },
})

export const GRPCRoute = grpcroute.kinds.v1
export type GRPCRoute = ObjectOf<typeof GRPCRoute>
