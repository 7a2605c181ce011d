import { DeleteOptions } from "../meta.ts"
import type { Resource } from "../resource.ts"
import { StatusMessage } from "../status.ts"
import { pathsOf, rootOf, type Operation, type Path } from "./paths.ts"
import { Definitions, type GroupVersionKind, type Schema } from "./schema.ts"

/** What the documents tell of. `find` gives kinds that are only bodies of subresources too (Scale, Eviction). */
export interface Served {
  readonly resources: readonly Resource[]
  find(kind: GroupVersionKind): Resource | undefined
  /** For instance `v1.36.0+k3ts`. */
  readonly version: string
}

const TITLE = "Kubernetes"
const PATCH_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
]
const ANSWER_TYPES = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
const WATCH_TYPES = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]
const PATCH_BODY = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"

/** `/openapi/v2`: one document of everything. Source: kube-openapi pkg/builder. */
export function openApiV2({ resources, find, version }: Served): Schema {
  const definitions = new Definitions(2)
  const schemas = schemasFor(definitions, find)
  const paths: Record<string, Schema> = {}
  for (const resource of resources) {
    for (const path of pathsOf(resource)) {
      const operations = path.operations.map(
        (operation) => [operation.method, operationV2(operation, resource, schemas)] as const,
      )
      paths[path.path] = {
        ...Object.fromEntries(operations),
        parameters: [
          ...pathParameters(path).map((parameter) => ({ ...parameter, type: "string", uniqueItems: true })),
          { ...PRETTY, type: "string", uniqueItems: true },
        ],
      }
    }
  }
  return {
    swagger: "2.0",
    info: { title: TITLE, version },
    paths: sortedByKey(paths),
    definitions: definitions.finish(),
    securityDefinitions: {
      BearerToken: { description: "Bearer Token authentication", type: "apiKey", name: "authorization", in: "header" },
    },
    security: [{ BearerToken: [] }],
  }
}

/**
 * The documents of `/openapi/v3` by their path below it: `api/v1`, `apis/apps/v1`. Each is made when it is asked for.
 */
export function openApiV3({ resources, find, version }: Served): ReadonlyMap<string, () => Schema> {
  const groups = Map.groupBy(resources, (resource) => rootOf(resource).slice(1))
  return new Map(
    [...groups].map(([root, members]) => [
      root,
      () => {
        const definitions = new Definitions(3)
        const schemas = schemasFor(definitions, find)
        const paths: Record<string, Schema> = {}
        for (const resource of members) {
          for (const path of pathsOf(resource)) {
            const operations = path.operations.map(
              (operation) => [operation.method, operationV3(operation, resource, schemas)] as const,
            )
            paths[path.path] = {
              ...Object.fromEntries(operations),
              parameters: [...pathParameters(path), PRETTY].map((parameter) => ({
                ...parameter,
                schema: { type: "string", uniqueItems: true },
              })),
            }
          }
        }
        return {
          openapi: "3.0.0",
          info: { title: TITLE, version },
          paths: sortedByKey(paths),
          components: {
            schemas: definitions.finish(),
            securitySchemes: {
              BearerToken: {
                type: "apiKey",
                description: "Bearer Token authentication",
                name: "authorization",
                in: "header",
              },
            },
          },
        }
      },
    ]),
  )
}

const sortedByKey = (paths: Readonly<Record<string, Schema>>): Schema =>
  Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1)))

interface Schemas {
  body(operation: Operation): Schema | undefined
  answer(operation: Operation, resource: Resource): Schema
}

function schemasFor(definitions: Definitions, find: Served["find"]): Schemas {
  const kindOf = (kind: GroupVersionKind): Schema => {
    const resource = find(kind)
    return resource === undefined ? { type: "object" } : definitions.ref(resource.schema, [kind])
  }
  return {
    body({ body, kind }) {
      switch (body) {
        case undefined:
          return undefined
        case "kind":
          return kindOf(kind)
        case "options":
          return definitions.ref(DeleteOptions, [{ group: "", version: "v1", kind: "DeleteOptions" }])
        case "patch":
          return definitions.plainRef(PATCH_BODY, {
            description: "A patch: its form follows from its content type.",
            type: "object",
          })
      }
    },
    answer({ answer, kind }, resource) {
      switch (answer) {
        case "kind":
          return kindOf(kind)
        case "list":
          return kindOf(kind)["$ref"] === undefined ? { type: "object" } : definitions.listRef(resource.schema, kind)
        case "status":
          return definitions.ref(StatusMessage, [{ group: "", version: "v1", kind: "Status" }])
        case "text":
          return { type: "string" }
      }
    },
  }
}

const PRETTY = { name: "pretty", in: "query", description: "Indents the answer when 'true'." }
const WHAT_PATH = {
  namespace: "Namespace of the objects.",
  name: "Name of the object.",
  path: "Rest of the path, for what is proxied.",
}
const pathParameters = ({ inPath }: Path) =>
  inPath.map((name) => ({ name, in: "path", description: WHAT_PATH[name], required: true }))

const common = ({ id, doc, action, kind }: Operation, { group, version }: Resource) => ({
  tags: [
    `${group === "" ? "core" : group.replace(/\.k8s\.io$/, "").replace(/\.(.)/g, (_dot, letter: string) => letter.toUpperCase())}_${version}`,
  ],
  description: doc,
  operationId: id,
  "x-kubernetes-action": action,
  "x-kubernetes-group-version-kind": { group: kind.group, kind: kind.kind, version: kind.version },
})
const producesOf = ({ answer }: Operation): string[] =>
  answer === "text" ? ["*/*"] : answer === "list" ? [...ANSWER_TYPES, ...WATCH_TYPES] : ANSWER_TYPES
const codesOf = ({ action }: Operation): [string, string][] => {
  const ok: [string, string] = ["200", "OK"]
  if (action === "post") return [ok, ["201", "Created"], ["202", "Accepted"]]
  if (action === "put" || action === "patch") return [ok, ["201", "Created"]]
  return action === "delete" ? [ok, ["202", "Accepted"]] : [ok]
}

function operationV2(operation: Operation, resource: Resource, schemas: Schemas): Schema {
  const body = schemas.body(operation)
  const schema = schemas.answer(operation, resource)
  const parameters = [
    ...(body === undefined
      ? []
      : [{ name: "body", in: "body", ...(operation.body === "options" ? {} : { required: true }), schema: body }]),
    ...operation.query.map(({ name, type, doc }) => ({ name, in: "query", description: doc, type, uniqueItems: true })),
  ]
  return {
    ...common(operation, resource),
    consumes: operation.body === "patch" ? PATCH_TYPES : ["*/*"],
    produces: producesOf(operation),
    schemes: ["https"],
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: {
      ...Object.fromEntries(codesOf(operation).map(([code, description]) => [code, { description, schema }])),
      "401": { description: "Unauthorized" },
    },
  }
}

function operationV3(operation: Operation, resource: Resource, schemas: Schemas): Schema {
  const body = schemas.body(operation)
  const schema = schemas.answer(operation, resource)
  const content = (types: readonly string[], of: Schema) =>
    Object.fromEntries(types.map((type) => [type, { schema: of }]))
  return {
    ...common(operation, resource),
    ...(operation.query.length === 0
      ? {}
      : {
          parameters: operation.query.map(({ name, type, doc }) => ({
            name,
            in: "query",
            description: doc,
            schema: { type, uniqueItems: true },
          })),
        }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            ...(operation.body === "options" ? {} : { required: true }),
            content: content(operation.body === "patch" ? PATCH_TYPES : ["*/*"], body),
          },
        }),
    responses: {
      ...Object.fromEntries(
        codesOf(operation).map(([code, description]) => [
          code,
          { description, content: content(producesOf(operation), schema) },
        ]),
      ),
      "401": { description: "Unauthorized" },
    },
  }
}
