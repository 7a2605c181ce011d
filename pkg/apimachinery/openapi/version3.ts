import { isJsonObject } from "../json/json-value.ts"
import { membersOf } from "./merge.ts"
import type { Schema } from "./schema.ts"

/**
 * Converts a document of version 2 to version 3, for servers that have only the older one. Two things are lost: body
 * parameters with another name than `body`, and how lists in parameters are written. Source: kube-openapi
 * pkg/openapiconv/convert.go.
 */
export function asVersion3(document: Schema): Schema {
  const { info, externalDocs, paths, definitions, securityDefinitions, responses, produces } = document
  return {
    openapi: "3.0.0",
    ...given({
      info,
      externalDocs,
      paths: partOf(paths, pathItem),
      components: given({
        schemas: partOf(definitions, schemaOf),
        securitySchemes: partOf(securityDefinitions, securityScheme),
        responses: partOf(responses, (response) => responseOf(response, produces)),
      }),
    }),
  }
}

const DEFINITIONS = "#/definitions/"

/** The keywords whose values are schemas, or lists of them. */
const NESTED = ["items", "additionalProperties", "additionalItems", "allOf", "anyOf", "oneOf", "not"] as const

function schemaOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(schemaOf)
  if (!isJsonObject(schema)) return schema
  const { $ref, ...rest } = schema
  const nested = NESTED.flatMap((name) => (rest[name] === undefined ? [] : [[name, schemaOf(rest[name])] as const]))
  const properties = rest["properties"] === undefined ? {} : { properties: mapped(rest["properties"], schemaOf) }
  const converted = { ...rest, ...properties, ...Object.fromEntries(nested) }
  if (typeof $ref !== "string") return converted
  const at = $ref.indexOf(DEFINITIONS)
  const reference = { $ref: at < 0 ? $ref : `#/components/schemas/${$ref.slice(at + DEFINITIONS.length)}` }
  // A reference may have no other members beside it in version 3.
  return Object.keys(rest).length === 0 ? reference : { ...converted, allOf: [reference] }
}

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"] as const

function pathItem(item: unknown): unknown {
  const members = membersOf(item)
  const methods = METHODS.flatMap((method) =>
    members[method] === undefined ? [] : [[method, operation(membersOf(members[method]))] as const],
  )
  const { $ref, parameters } = members
  return {
    ...given({ $ref, parameters: listOf(parameters)?.map(parameter) }),
    ...Object.fromEntries(methods),
    ...extensionsOf(members),
  }
}

function operation(members: Schema): Schema {
  const { tags, summary, description, externalDocs, operationId, deprecated, consumes, produces } = members
  const all = listOf(members["parameters"])?.map(membersOf)
  const body = all?.find(isBody)
  const others = all?.filter((one) => !isBody(one))
  const responses = membersOf(members["responses"])
  return {
    ...given({
      tags,
      summary,
      description,
      externalDocs,
      operationId,
      parameters: others === undefined || others.length === 0 ? undefined : others.map(parameter),
      requestBody: body && given({ content: contentOf(consumes, body["schema"]) }),
      responses: Object.fromEntries(
        Object.entries(responses).map(([code, one]) => [code, code.startsWith("x-") ? one : responseOf(one, produces)]),
      ),
      deprecated,
    }),
    ...extensionsOf(members),
  }
}

const isBody = ({ name, schema }: Schema): boolean => name === "body" && schema !== undefined

function parameter(sent: unknown): unknown {
  const members = membersOf(sent)
  const { $ref, name, description, required, schema, allowEmptyValue, type, format, uniqueItems } = members
  return {
    ...given({
      $ref: typeof $ref === "string" ? $ref.replace("#/parameters/", "#/components/parameters/") : undefined,
      name,
      in: members["in"],
      description,
      required,
      allowEmptyValue,
      schema: schema === undefined ? given({ type, format, uniqueItems }) : schemaOf(schema),
    }),
    ...extensionsOf(members),
  }
}

function responseOf(response: unknown, produces: unknown): unknown {
  const members = membersOf(response)
  const { $ref, description, schema } = members
  return {
    ...given({
      $ref: typeof $ref === "string" ? $ref.replace("#/responses/", "#/components/responses/") : undefined,
      description,
      content: schema === undefined ? undefined : contentOf(produces, schema),
    }),
    ...extensionsOf(members),
  }
}

const contentOf = (types: unknown, schema: unknown): unknown =>
  listOf(types) && Object.fromEntries(listOf(types)!.map((type) => [String(type), { schema: schemaOf(schema) }]))

function securityScheme(scheme: unknown): unknown {
  const members = membersOf(scheme)
  const { type, description, name, flow, authorizationUrl, tokenUrl, scopes } = members
  const flows =
    typeof flow === "string" && flow !== "" ? { [flow]: given({ authorizationUrl, tokenUrl, scopes }) } : undefined
  return { ...given({ type, description, name, in: members["in"], flows }), ...extensionsOf(members) }
}

const extensionsOf = (members: Schema): Schema =>
  Object.fromEntries(Object.entries(members).filter(([name]) => name.startsWith("x-")))

const listOf = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined)

const partOf = (value: unknown, change: (inner: unknown) => unknown): Schema | undefined =>
  isJsonObject(value) ? mapped(value, change) : undefined

const mapped = (value: unknown, change: (inner: unknown) => unknown): Schema =>
  Object.fromEntries(Object.entries(membersOf(value)).map(([name, inner]) => [name, change(inner)]))

/** Returns the members that are not undefined. */
const given = (members: Readonly<Record<string, unknown>>): Schema =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
