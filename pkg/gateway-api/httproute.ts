import { defineCustomResource, type ObjectOf } from "../operator/custom-resource/define-custom-resource.ts"
import { GATEWAY_GROUP } from "./k3ts-class.ts"
import { s } from "../operator/custom-resource/fields.ts"
import { httpFilters } from "./filters.ts"
import { duration, headerName, hostname, sectionName } from "./names.ts"
import { filteringBackend, headerMatches, matchCount, parentReferences, TOO_MANY_MATCHES } from "./references.ts"
import { routeStatus } from "./status.ts"

const PLAIN = "(self.type in ['Exact','PathPrefix'])"
const plainRule = (rule: string): string => `${PLAIN} ? ${rule} : true`
const FORBIDDEN = ["//", "/./", "/../", "%2f", "%2F", "#"]
const FORBIDDEN_ENDS = ["/..", "/."]
const PATH_PATTERN = "^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$"

const path = [
  ...FORBIDDEN.map((text) => ({ rule: `!self.value.contains('${text}')`, message: `must not contain '${text}'` })),
  ...FORBIDDEN_ENDS.map((text) => ({
    rule: `!self.value.endsWith('${text}')`,
    message: `must not end with '${text}'`,
  })),
]
  .reduce(
    (field, { rule, message }) => field.rule(plainRule(rule), `${message} when type one of ['Exact', 'PathPrefix']`),
    s
      .object({
        type: s.oneOf("Exact", "PathPrefix", "RegularExpression").default("PathPrefix"),
        value: s.string({ maxLength: 1024 }).default("/"),
      })
      .rule(
        plainRule("self.value.startsWith('/')"),
        "value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']",
      ),
  )
  .rule(
    "self.type in ['Exact','PathPrefix'] || self.type == 'RegularExpression'",
    "type must be one of ['Exact', 'PathPrefix', 'RegularExpression']",
  )
  .rule(
    plainRule(`self.value.matches(r"""${PATH_PATTERN}""")`),
    `must only contain valid characters (matching ${PATH_PATTERN}) for types ['Exact', 'PathPrefix']`,
  )

const ONE_PREFIX =
  "((size(self.matches) != 1 || !has(self.matches[0].path) || self.matches[0].path.type != 'PathPrefix') ? false : true)"
const replacesPrefix = (filter: string): string =>
  `exists_one(f, has(f.${filter}) && has(f.${filter}.path) && f.${filter}.path.type == 'ReplacePrefixMatch' && ` +
  `has(f.${filter}.path.replacePrefixMatch))`
/**
 * Returns a CEL rule: a rule with a filter that replaces the matched prefix must have exactly one match, of type
 * PathPrefix, since the filter needs to know which prefix was matched.
 */
const inRule = (filter: string): string =>
  `(has(self.filters) && self.filters.${replacesPrefix(filter)}) ? ${ONE_PREFIX} : true`
const inBackends = (filter: string): string =>
  `(has(self.backendRefs) && self.backendRefs.exists_one(b, (has(b.filters) && b.filters.${replacesPrefix(filter)}) ` +
  `)) ? ${ONE_PREFIX} : true`

const spec = s.object({
  hostnames: s.list(hostname, { maxItems: 16 }).optional(),
  parentRefs: parentReferences.optional(),
  rules: s
    .list(
      s
        .object({
          backendRefs: s.list(filteringBackend(httpFilters), { maxItems: 16 }).optional(),
          filters: httpFilters.optional(),
          matches: s
            .list(
              s.object({
                headers: headerMatches.optional(),
                method: s
                  .oneOf("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
                  .optional(),
                path: path.default({ type: "PathPrefix", value: "/" }),
                queryParams: s
                  .list(
                    s.object({
                      name: headerName,
                      type: s.oneOf("Exact", "RegularExpression").default("Exact"),
                      value: s.string({ minLength: 1, maxLength: 1024 }),
                    }),
                    { maxItems: 16, keys: ["name"] },
                  )
                  .optional(),
              }),
              { maxItems: 64 },
            )
            .default([{ path: { type: "PathPrefix", value: "/" } }]),
          name: sectionName.optional(),
          timeouts: s
            .object({ backendRequest: duration.optional(), request: duration.optional() })
            .rule(
              "!(has(self.request) && has(self.backendRequest) && duration(self.request) != duration('0s') && duration(self.backendRequest) > duration(self.request))",
              "backendRequest timeout cannot be longer than request timeout",
            )
            .optional(),
        })
        .rule(
          "(has(self.backendRefs) && size(self.backendRefs) > 0) ? (!has(self.filters) || self.filters.all(f, !has(f.requestRedirect))): true",
          "RequestRedirect filter must not be used together with backendRefs",
        )
        .rule(
          inRule("requestRedirect"),
          "When using RequestRedirect filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
        )
        .rule(
          inRule("urlRewrite"),
          "When using URLRewrite filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
        )
        .rule(
          inBackends("requestRedirect"),
          "Within backendRefs, when using RequestRedirect filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
        )
        .rule(
          inBackends("urlRewrite"),
          "Within backendRefs, When using URLRewrite filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
        ),
      { minItems: 1, maxItems: 16 },
    )
    .rule(
      matchCount((i) => `self[${i}].matches.size()`),
      TOO_MANY_MATCHES,
    )
    .default([{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }]),
})

const version = {
  spec,
  status: routeStatus,
  columns: { Hostnames: ".spec.hostnames", Age: { path: ".metadata.creationTimestamp", type: "date" } },
}

export const httproute = defineCustomResource({
  group: GATEWAY_GROUP,
  kind: "HTTPRoute",
  plural: "httproutes",
  categories: ["gateway-api"],
  versions: { v1: { ...version, storage: true }, v1beta1: version },
})

export const HTTPRoute = httproute.kinds.v1
export type HTTPRoute = ObjectOf<typeof HTTPRoute>
