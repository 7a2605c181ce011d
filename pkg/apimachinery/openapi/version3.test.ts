import { expect, test } from "bun:test"
import { asVersion3 } from "./version3.ts"

const REF = { $ref: "#/definitions/A" }
const NEW_REF = { $ref: "#/components/schemas/A" }

// The expectations are those of kube-openapi pkg/openapiconv.
test.each([
  {
    title: "references, also those with members beside them",
    given: {
      definitions: {
        A: {
          type: "object",
          properties: { a: REF, b: { ...REF, description: "d" }, c: { items: REF, type: "array" } },
        },
        B: { type: "object", additionalProperties: REF, "x-kubernetes-group-version-kind": [] },
      },
    },
    wants: {
      components: {
        schemas: {
          A: {
            type: "object",
            properties: {
              a: NEW_REF,
              b: { description: "d", allOf: [NEW_REF] },
              c: { items: NEW_REF, type: "array" },
            },
          },
          B: { type: "object", additionalProperties: NEW_REF, "x-kubernetes-group-version-kind": [] },
        },
      },
    },
  },
  {
    title: "the body of an operation in each consumed type, and the produced types",
    given: {
      paths: {
        "/a": {
          parameters: [{ name: "pretty", in: "query", type: "string", uniqueItems: true }],
          post: {
            operationId: "createA",
            consumes: ["application/json", "application/yaml"],
            produces: ["application/json"],
            parameters: [
              { name: "body", in: "body", required: true, schema: REF },
              { name: "name", in: "path", required: true, type: "string", "x-of": 1 },
              { $ref: "#/parameters/p" },
            ],
            responses: { "200": { description: "OK", schema: REF }, "401": { description: "no" }, default: REF },
            "x-kubernetes-action": "post",
          },
        },
      },
    },
    wants: {
      paths: {
        "/a": {
          parameters: [{ name: "pretty", in: "query", schema: { type: "string", uniqueItems: true } }],
          post: {
            operationId: "createA",
            parameters: [
              { name: "name", in: "path", required: true, schema: { type: "string" }, "x-of": 1 },
              { $ref: "#/components/parameters/p", schema: {} },
            ],
            requestBody: {
              content: { "application/json": { schema: NEW_REF }, "application/yaml": { schema: NEW_REF } },
            },
            responses: {
              "200": { description: "OK", content: { "application/json": { schema: NEW_REF } } },
              "401": { description: "no" },
              default: { $ref: "#/definitions/A" },
            },
            "x-kubernetes-action": "post",
          },
        },
      },
      components: {},
    },
  },
  {
    title: "security definitions",
    given: {
      info: { title: "t" },
      securityDefinitions: {
        token: { type: "apiKey", name: "authorization", in: "header", description: "a token" },
        login: { type: "oauth2", flow: "implicit", authorizationUrl: "https://a.example", scopes: { a: "b" } },
      },
    },
    wants: {
      info: { title: "t" },
      components: {
        securitySchemes: {
          token: { type: "apiKey", name: "authorization", in: "header", description: "a token" },
          login: {
            type: "oauth2",
            flows: { implicit: { authorizationUrl: "https://a.example", scopes: { a: "b" } } },
          },
        },
      },
    },
  },
  {
    title: "an invalid document",
    given: { paths: [1], definitions: null, responses: "a" },
    wants: { components: {} },
  },
])("a document of version 2 is converted to version 3: $title", ({ given, wants }) => {
  expect(asVersion3(given)).toEqual({ openapi: "3.0.0", ...wants } as never)
})
