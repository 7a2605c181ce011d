/** The filters of routes: changes of headers, paths and hosts, redirects, mirrors and CORS. */
import { s, type Field } from "../operator/custom-resource/fields.ts"
import { headerName, portNumber, preciseHostname } from "./names.ts"
import { localReference, mirrorBackend } from "./references.ts"

/** The status codes that a redirect may have. */
const STATUS = [301, 302, 303, 307, 308]
const TYPES: Readonly<Record<string, string>> = { cors: "CORS", urlRewrite: "URLRewrite" }
const typeOf = (field: string): string => TYPES[field] ?? `${field[0]!.toUpperCase()}${field.slice(1)}`

/** Adds a rule for each field: it must be set when the filter has the field's type, and must not be set otherwise. */
const hasOnlyOwn = <Out, In>(filter: Field<Out, In>, fields: readonly string[]): Field<Out, In> =>
  fields.reduce((ruled, field) => {
    const type = typeOf(field)
    return ruled
      .rule(
        `!(has(self.${field}) && self.type != '${type}')`,
        `filter.${field} must be nil if the filter.type is not ${type}`,
      )
      .rule(
        `!(!has(self.${field}) && self.type == '${type}')`,
        `filter.${field} must be specified for ${type} filter.type`,
      )
  }, filter)

const atMostOnce = <Out, In>(filters: Field<Out, In>, types: readonly string[]): Field<Out, In> =>
  types.reduce(
    (ruled, type) => ruled.rule(`self.filter(f, f.type == '${type}').size() <= 1`, `${type} filter cannot be repeated`),
    filters,
  )

const headerValue = s.object({ name: headerName, value: s.string({ minLength: 1, maxLength: 4096 }) })

const headerValues = s.list(headerValue, { maxItems: 16, keys: ["name"] })

const headerModifier = s.object({
  add: headerValues.optional(),
  remove: s.list(s.string(), { maxItems: 16, set: true }).optional(),
  set: headerValues.optional(),
})

const requestMirror = s
  .object({
    backendRef: mirrorBackend,
    fraction: s
      .object({
        denominator: s.integer({ minimum: 1, format: "int32" }).default(100),
        numerator: s.integer({ minimum: 0, format: "int32" }),
      })
      .rule("self.numerator <= self.denominator", "numerator must be less than or equal to denominator")
      .optional(),
    percent: s.integer({ minimum: 0, maximum: 100, format: "int32" }).optional(),
  })
  .rule(
    "!(has(self.percent) && has(self.fraction))",
    "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter",
  )

const pathModifier = s
  .object({
    replaceFullPath: s.string({ maxLength: 1024 }).optional(),
    replacePrefixMatch: s.string({ maxLength: 1024 }).optional(),
    type: s.oneOf("ReplaceFullPath", "ReplacePrefixMatch"),
  })
  .rule(
    "self.type == 'ReplaceFullPath' ? has(self.replaceFullPath) : true",
    "replaceFullPath must be specified when type is set to 'ReplaceFullPath'",
  )
  .rule(
    "has(self.replaceFullPath) ? self.type == 'ReplaceFullPath' : true",
    "type must be 'ReplaceFullPath' when replaceFullPath is set",
  )
  .rule(
    "self.type == 'ReplacePrefixMatch' ? has(self.replacePrefixMatch) : true",
    "replacePrefixMatch must be specified when type is set to 'ReplacePrefixMatch'",
  )
  .rule(
    "has(self.replacePrefixMatch) ? self.type == 'ReplacePrefixMatch' : true",
    "type must be 'ReplacePrefixMatch' when replacePrefixMatch is set",
  )

const requestRedirect = s.object({
  hostname: preciseHostname.optional(),
  path: pathModifier.optional(),
  port: portNumber.optional(),
  scheme: s.oneOf("http", "https").optional(),
  statusCode: s.integer({ enum: STATUS }).default(302),
})

const urlRewrite = s.object({ hostname: preciseHostname.optional(), path: pathModifier.optional() })

const cors = s.object({
  allowCredentials: s.boolean().optional(),
  allowHeaders: s
    .list(headerName, { maxItems: 64, set: true })
    .rule("!('*' in self && self.size() > 1)", "AllowHeaders cannot contain '*' alongside other methods")
    .optional(),
  allowMethods: s
    .list(s.oneOf("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "*"), {
      maxItems: 9,
      set: true,
    })
    .rule("!('*' in self && self.size() > 1)", "AllowMethods cannot contain '*' alongside other methods")
    .optional(),
  allowOrigins: s
    .list(
      s.string({
        minLength: 1,
        maxLength: 253,
        pattern: "(^\\*$)|(^(http(s)?):\\/\\/(((\\*\\.)?([a-zA-Z0-9\\-]+\\.)*[a-zA-Z0-9-]+|\\*)(:([0-9]{1,5}))?)$)",
      }),
      { maxItems: 64, set: true },
    )
    .rule("!('*' in self && self.size() > 1)", "AllowOrigins cannot contain '*' alongside other origins")
    .optional(),
  exposeHeaders: s.list(headerName, { maxItems: 64, set: true }).optional(),
  maxAge: s.integer({ minimum: 1, format: "int32" }).default(5),
})

const httpFilter = hasOnlyOwn(
  s.object({
    cors: cors.optional(),
    extensionRef: localReference.optional(),
    requestHeaderModifier: headerModifier.optional(),
    requestMirror: requestMirror.optional(),
    requestRedirect: requestRedirect.optional(),
    responseHeaderModifier: headerModifier.optional(),
    type: s.oneOf(
      "RequestHeaderModifier",
      "ResponseHeaderModifier",
      "RequestMirror",
      "RequestRedirect",
      "URLRewrite",
      "ExtensionRef",
      "CORS",
    ),
    urlRewrite: urlRewrite.optional(),
  }),
  [
    "cors",
    "requestHeaderModifier",
    "responseHeaderModifier",
    "requestMirror",
    "requestRedirect",
    "urlRewrite",
    "extensionRef",
  ],
)

export const httpFilters = atMostOnce(
  s
    .list(httpFilter, { maxItems: 16 })
    .rule(
      "!(self.exists(f, f.type == 'RequestRedirect') && self.exists(f, f.type == 'URLRewrite'))",
      "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not both",
    ),
  ["CORS", "RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite"],
)

const grpcFilter = hasOnlyOwn(
  s.object({
    extensionRef: localReference.optional(),
    requestHeaderModifier: headerModifier.optional(),
    requestMirror: requestMirror.optional(),
    responseHeaderModifier: headerModifier.optional(),
    type: s.oneOf("ResponseHeaderModifier", "RequestHeaderModifier", "RequestMirror", "ExtensionRef"),
  }),
  ["requestHeaderModifier", "responseHeaderModifier", "requestMirror", "extensionRef"],
)

export const grpcFilters = atMostOnce(s.list(grpcFilter, { maxItems: 16 }), [
  "RequestHeaderModifier",
  "ResponseHeaderModifier",
])
