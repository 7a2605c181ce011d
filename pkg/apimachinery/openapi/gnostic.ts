import { e, f, message } from "../fields.ts"
import type { Message } from "../field-spec.ts"
import { encodeRaw } from "../protobuf/envelope.ts"
import type { Schema } from "./schema.ts"

/**
 * Encodes an OpenAPI v2 document in gnostic's protobuf format, which kubectl up to 1.27 requests. Only what our
 * documents contain is declared. Source of the numbers: google/gnostic-models openapiv2/OpenAPIv2.proto.
 */
/**
 * Clients request this type with `@` in place of the last dot but one, which Go's parser does not accept in a response.
 * Source: kube-openapi pkg/handler.
 */
export const GNOSTIC_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

const g = (name: string): string => `io.gnostic.openapi.v2.${name}`
const Any = message(g("Any"), "", { yaml: f.string(2, "") })
const NamedAny = message(g("NamedAny"), "", { name: f.string(1, ""), value: f.message(2, Any, "") })
const Definition: Message = message(g("Schema"), "", {
  ref: f.string(1, ""),
  format: f.string(2, ""),
  description: f.string(4, ""),
  required: f.list(19, e.string, ""),
  enum: f.list(20, Any, ""),
  additionalProperties: f.recursive<object>(21, (): Message => AdditionalProperties, ""),
  type: f.message(22, message(g("TypeItem"), "", { value: f.list(1, e.string, "") }), ""),
  items: f.recursive<object>(23, (): Message => Items, ""),
  properties: f.recursive<object>(25, (): Message => Properties, ""),
  extensions: f.list(31, NamedAny, ""),
})
const AdditionalProperties = message(g("AdditionalPropertiesItem"), "", { schema: f.message(1, Definition, "") })
const Items = message(g("ItemsItem"), "", { schema: f.list(1, Definition, "") })
const NamedSchema = message(g("NamedSchema"), "", { name: f.string(1, ""), value: f.message(2, Definition, "") })
const Properties = message(g("Properties"), "", { named: f.list(1, NamedSchema, "") })
const BodyParameter = message(g("BodyParameter"), "", {
  description: f.string(1, ""),
  name: f.string(2, ""),
  in: f.string(3, ""),
  required: f.bool(4, ""),
  schema: f.message(5, Definition, ""),
})
const QueryParameter = message(g("QueryParameterSubSchema"), "", {
  required: f.bool(1, ""),
  in: f.string(2, ""),
  description: f.string(3, ""),
  name: f.string(4, ""),
  type: f.string(6, ""),
  uniqueItems: f.bool(20, ""),
})
const PathParameter = message(g("PathParameterSubSchema"), "", {
  required: f.bool(1, ""),
  in: f.string(2, ""),
  description: f.string(3, ""),
  name: f.string(4, ""),
  type: f.string(5, ""),
  uniqueItems: f.bool(19, ""),
})
const NonBodyParameter = message(g("NonBodyParameter"), "", {
  query: f.message(3, QueryParameter, ""),
  path: f.message(4, PathParameter, ""),
})
const Parameter = message(g("Parameter"), "", {
  body: f.message(1, BodyParameter, ""),
  nonBody: f.message(2, NonBodyParameter, ""),
})
const ParametersItem = message(g("ParametersItem"), "", { parameter: f.message(1, Parameter, "") })
const Answer = message(g("Response"), "", {
  description: f.string(1, ""),
  schema: f.message(2, message(g("SchemaItem"), "", { schema: f.message(1, Definition, "") }), ""),
})
const Responses = message(g("Responses"), "", {
  codes: f.list(
    1,
    message(g("NamedResponseValue"), "", {
      name: f.string(1, ""),
      value: f.message(2, message(g("ResponseValue"), "", { response: f.message(1, Answer, "") }), ""),
    }),
    "",
  ),
})
const OperationMessage = message(g("Operation"), "", {
  tags: f.list(1, e.string, ""),
  description: f.string(3, ""),
  operationId: f.string(5, ""),
  produces: f.list(6, e.string, ""),
  consumes: f.list(7, e.string, ""),
  parameters: f.list(8, ParametersItem, ""),
  responses: f.message(9, Responses, ""),
  schemes: f.list(10, e.string, ""),
  extensions: f.list(13, NamedAny, ""),
})
const PathItem = message(g("PathItem"), "", {
  get: f.message(2, OperationMessage, ""),
  put: f.message(3, OperationMessage, ""),
  post: f.message(4, OperationMessage, ""),
  delete: f.message(5, OperationMessage, ""),
  patch: f.message(8, OperationMessage, ""),
  parameters: f.list(9, ParametersItem, ""),
})
export const GnosticDocument = message(g("Document"), "", {
  swagger: f.string(1, ""),
  info: f.message(2, message(g("Info"), "", { title: f.string(1, ""), version: f.string(2, "") }), ""),
  paths: f.message(
    8,
    message(g("Paths"), "", {
      path: f.list(
        2,
        message(g("NamedPathItem"), "", { name: f.string(1, ""), value: f.message(2, PathItem, "") }),
        "",
      ),
    }),
    "",
  ),
  definitions: f.message(9, message(g("Definitions"), "", { named: f.list(1, NamedSchema, "") }), ""),
})

/** Encodes a document that `openApiV2` made. */
export function encodeGnostic(document: Schema): Uint8Array {
  const { swagger, info, paths, definitions } = document
  return encodeRaw(GnosticDocument, {
    swagger,
    info,
    paths: {
      path: Object.entries(paths as Record<string, Schema>).map(([name, item]) => ({ name, value: pathItem(item) })),
    },
    definitions: {
      named: Object.entries(definitions as Record<string, Schema>).map(([name, schema]) => ({
        name,
        value: definition(schema),
      })),
    },
  })
}

function pathItem({ parameters, ...operations }: Schema): object {
  return {
    parameters: parametersOf(parameters),
    ...Object.fromEntries(Object.entries(operations).map(([method, found]) => [method, operation(found as Schema)])),
  }
}

function operation(found: Schema): object {
  const { parameters, responses } = found
  const codes = Object.entries(responses as Record<string, Schema>).map(([name, { description, schema }]) => ({
    name,
    value: {
      response: { description, ...(schema === undefined ? {} : { schema: { schema: definition(schema as Schema) } }) },
    },
  }))
  return { ...found, parameters: parametersOf(parameters), responses: { codes }, extensions: extensionsOf(found) }
}

const parametersOf = (parameters: unknown): object[] =>
  ((parameters ?? []) as readonly Schema[]).map((parameter) => {
    if (parameter["in"] === "body")
      return { parameter: { body: { ...parameter, schema: definition(parameter["schema"] as Schema) } } }
    return { parameter: { nonBody: parameter["in"] === "path" ? { path: parameter } : { query: parameter } } }
  })

function definition(schema: Schema): object {
  const { $ref, format, description, required, type, items, properties, additionalProperties } = schema
  return {
    ref: $ref,
    format,
    description,
    required,
    extensions: extensionsOf(schema),
    enum: (schema["enum"] as readonly string[] | undefined)?.map((value) => ({ yaml: `${JSON.stringify(value)}\n` })),
    type: type === undefined ? undefined : { value: [type] },
    items: items === undefined ? undefined : { schema: [definition(items as Schema)] },
    additionalProperties:
      additionalProperties === undefined ? undefined : { schema: definition(additionalProperties as Schema) },
    properties:
      properties === undefined
        ? undefined
        : {
            named: Object.entries(properties as Record<string, Schema>).map(([name, value]) => ({
              name,
              value: definition(value),
            })),
          },
  }
}

/** Encodes values as YAML, of which JSON is a subset. */
const extensionsOf = (schema: Schema): object[] =>
  Object.entries(schema).flatMap(([name, value]) =>
    name.startsWith("x-") ? [{ name, value: { yaml: `${JSON.stringify(value)}\n` } }] : [],
  )
