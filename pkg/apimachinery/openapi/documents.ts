import type { Message } from "../field-spec.ts"
import { DeleteOptions } from "../meta.ts"
import type { Resource } from "../resource.ts"
import { StatusMessage } from "../status.ts"
import { ANSWER_TYPES, discoveryDocuments, discoveryV2, discoveryV3 } from "./discovery-paths.ts"
import { WatchEvent } from "./discovery.ts"
import { pathsOf, rootOf, tagOf, type Operation, type Path, type Query } from "./paths.ts"
import { Definitions, type GroupVersionKind, type Schema } from "./schema.ts"
import { atOnce, type Steps } from "./steps.ts"

/** The input of the documents. `find` also finds kinds that are only bodies of subresources (Scale, Eviction). */
export interface Served {
  readonly resources: readonly Resource[]
  find(kind: GroupVersionKind): Resource | undefined
  /** The version of the server, such as `v1.36.0+k3ts`. */
  readonly version: string
}

const TITLE = "Kubernetes"
const PATCH_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
]
/**
 * The patch types of custom resources. kubectl reads from them which patch it can send. Source: apiextensions-apiserver
 * pkg/controller/openapi/builder/builder.go.
 */
const CUSTOM_PATCH_TYPES = PATCH_TYPES.filter((type) => !type.includes("strategic"))
/** The content types of custom resources, which have no protobuf. */
const TEXT_TYPES = ["application/json", "application/yaml"]
const WATCH_TYPES = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]
const PATCH_BODY = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"

/** The resources whose paths are made with each step. */
const RESOURCES_OF_STEP = 10

/** Makes `/openapi/v2`, one document for all kinds. Source: kube-openapi pkg/builder. */
export const openApiV2 = (served: Served): Schema => atOnce(makingOpenApiV2(served))

/** Makes `/openapi/v2` in steps. */
export function* makingOpenApiV2({ resources, find, version }: Served): Steps<Schema> {
  const definitions = new Definitions(2)
  const schemas = schemasFor(definitions, find, kindsOfEveryGroup(resources))
  const paths: Record<string, Schema> = {}
  for (const document of [...discoveryDocuments(resources).values()].flat())
    paths[document.path] = { get: discoveryV2(document, definitions) }
  for (const [i, resource] of resources.entries()) {
    if (i % RESOURCES_OF_STEP === RESOURCES_OF_STEP - 1) yield
    for (const path of pathsOf(resource)) {
      const { shared, isShared } = parametersOf(path)
      const operations = path.operations.map(
        (operation) => [operation.method, operationV2(operation, resource, schemas, isShared)] as const,
      )
      paths[path.path] = {
        ...Object.fromEntries(operations),
        parameters: shared.map(({ type, ...parameter }) => ({ ...parameter, type, uniqueItems: true })),
      }
    }
  }
  return {
    swagger: "2.0",
    info: { title: TITLE, version },
    paths: sortedByKey(paths),
    definitions: yield* definitions.finishing(),
    securityDefinitions: {
      BearerToken: { description: "Bearer Token authentication", type: "apiKey", name: "authorization", in: "header" },
    },
    security: [{ BearerToken: [] }],
  }
}

/**
 * Makes the documents of `/openapi/v3`, by their path below it: `api/v1`, `apis/apps/v1`. Each is made when a client
 * requests it.
 */
export const openApiV3 = (served: Served): ReadonlyMap<string, () => Schema> =>
  new Map([...makingOpenApiV3(served)].map(([path, make]) => [path, () => atOnce(make())]))

/** The same documents, each of which is made in steps. */
export function makingOpenApiV3({ resources, find, version }: Served): ReadonlyMap<string, () => Steps<Schema>> {
  const groups = Map.groupBy(resources, (resource) => rootOf(resource).slice(1))
  const discovery = discoveryDocuments(resources)
  function* make(root: string, members: readonly Resource[]): Steps<Schema> {
    const definitions = new Definitions(3)
    const schemas = schemasFor(definitions, find, kindsOfEveryGroup([...members, { group: "", version: "v1" }]))
    const paths: Record<string, Schema> = {}
    for (const document of discovery.get(root) ?? []) paths[document.path] = { get: discoveryV3(document, definitions) }
    for (const [i, resource] of members.entries()) {
      if (i % RESOURCES_OF_STEP === RESOURCES_OF_STEP - 1) yield
      for (const path of pathsOf(resource)) {
        const { shared, isShared } = parametersOf(path)
        const operations = path.operations.map(
          (operation) => [operation.method, operationV3(operation, resource, schemas, isShared)] as const,
        )
        paths[path.path] = {
          ...Object.fromEntries(operations),
          parameters: shared.map(({ type, ...parameter }) => ({ ...parameter, schema: { type, uniqueItems: true } })),
        }
      }
    }
    const found = yield* definitions.finishing()
    return {
      openapi: "3.0.0",
      info: { title: TITLE, version },
      paths: sortedByKey(paths),
      components: {
        ...(Object.keys(found).length === 0 ? {} : { schemas: found }),
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
  }
  const roots = [...new Set([...discovery.keys(), ...groups.keys()])].sort()
  return new Map(roots.map((root) => [root, () => make(root, groups.get(root) ?? [])]))
}

/** Every group and version has DeleteOptions and watch events. */
const kindsOfEveryGroup = (
  resources: readonly { readonly group: string; readonly version: string }[],
): readonly { group: string; version: string }[] => {
  const byRoot = new Map(resources.map(({ group, version }) => [`${group}/${version}`, { group, version }]))
  return [...byRoot].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each)
}

/** A parameter in the path or in the query. */
interface Parameter {
  readonly name: string
  readonly in: "path" | "query"
  readonly description: string
  readonly required?: true
  readonly type: Query["type"]
}

/**
 * Returns the parameters that all operations of a path have in common. Source: kube-openapi pkg/builder
 * findCommonParameters.
 */
function parametersOf(path: Path): {
  readonly shared: readonly Parameter[]
  readonly isShared: (query: Query) => boolean
} {
  const count = new Map<string, number>()
  for (const { name } of path.operations.flatMap(({ query }) => query)) count.set(name, (count.get(name) ?? 0) + 1)
  const isShared = ({ name }: Query): boolean => count.get(name) === path.operations.length
  const queries = (path.operations[0]?.query ?? []).filter(isShared)
  // Proxied and streamed responses are not indented, so they have no parameter `pretty`.
  const pretty: readonly Query[] = path.operations.some(({ action }) => action === "connect") ? [] : [PRETTY]
  const shared: Parameter[] = [
    ...path.inPath.map((name) => ({
      name,
      in: "path" as const,
      description: WHAT_PATH[name],
      required: true as const,
      type: "string" as const,
    })),
    ...[...queries, ...pretty].map(({ name, doc, type }) => ({ name, in: "query" as const, description: doc, type })),
  ]
  return { shared: shared.sort((a, b) => (a.name < b.name ? -1 : 1)), isShared }
}

const sortedByKey = (paths: Readonly<Record<string, Schema>>): Schema =>
  Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1)))

interface Schemas {
  body(operation: Operation): Schema | undefined
  answer(operation: Operation, resource: Resource): Schema
}

function schemasFor(
  definitions: Definitions,
  find: Served["find"],
  everyGroup: readonly { readonly group: string; readonly version: string }[],
): Schemas {
  const ofEveryGroup = (message: Message, kind: string, isObject: boolean): Schema =>
    definitions.ref(
      message,
      everyGroup.map((each) => ({ ...each, kind })),
      isObject,
    )
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
          return ofEveryGroup(DeleteOptions, "DeleteOptions", true)
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
        case "event":
          return ofEveryGroup(WatchEvent, "WatchEvent", false)
        case "text":
        case "log":
          return { type: "string" }
      }
    },
  }
}

const PRETTY: Query = { name: "pretty", type: "string", doc: "Indents the answer when 'true'." }
const WHAT_PATH = {
  namespace: "Namespace of the objects.",
  name: "Name of the object.",
  path: "Rest of the path, for what is proxied.",
}
const common = ({ id, doc, action, kind: of }: Operation, { group, version, kind, definition }: Resource) => ({
  tags: [tagOf(group, version)],
  description: doc,
  operationId: id,
  "x-kubernetes-action": action,
  // The scale of a custom resource has the kind of the resource itself.
  "x-kubernetes-group-version-kind":
    definition === undefined ? { group: of.group, kind: of.kind, version: of.version } : { group, kind, version },
})
const producesOf = ({ answer }: Operation, { definition }: Resource): string[] => {
  if (definition !== undefined) return TEXT_TYPES
  if (answer === "text") return ["*/*"]
  if (answer === "log") return ["text/plain", ...ANSWER_TYPES]
  return answer === "list" || answer === "event" ? [...ANSWER_TYPES, ...WATCH_TYPES] : ANSWER_TYPES
}
const codesOf = ({ action }: Operation, { definition }: Resource): [string, string][] => {
  const ok: [string, string] = ["200", "OK"]
  if (action === "post") return [ok, ["201", "Created"], ["202", "Accepted"]]
  if (action === "put" || (action === "patch" && definition === undefined)) return [ok, ["201", "Created"]]
  return action === "delete" ? [ok, ["202", "Accepted"]] : [ok]
}

function consumesOf({ body }: Operation, { definition }: Resource): readonly string[] {
  if (body !== "patch") return definition === undefined ? ["*/*"] : TEXT_TYPES
  return definition === undefined ? PATCH_TYPES : CUSTOM_PATCH_TYPES
}

function operationV2(
  operation: Operation,
  resource: Resource,
  schemas: Schemas,
  isShared: (query: Query) => boolean,
): Schema {
  const body = schemas.body(operation)
  const schema = schemas.answer(operation, resource)
  const parameters = [
    ...(body === undefined
      ? []
      : [{ name: "body", in: "body", ...(operation.body === "options" ? {} : { required: true }), schema: body }]),
    ...operation.query
      .filter((query) => !isShared(query))
      .map(({ name, type, doc }) => ({ name, in: "query", description: doc, type, uniqueItems: true })),
  ]
  return {
    ...common(operation, resource),
    consumes: consumesOf(operation, resource),
    produces: producesOf(operation, resource),
    schemes: ["https"],
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: {
      ...Object.fromEntries(codesOf(operation, resource).map(([code, description]) => [code, { description, schema }])),
      "401": { description: "Unauthorized" },
    },
  }
}

function operationV3(
  operation: Operation,
  resource: Resource,
  schemas: Schemas,
  isShared: (query: Query) => boolean,
): Schema {
  const own = operation.query.filter((query) => !isShared(query))
  const body = schemas.body(operation)
  const schema = schemas.answer(operation, resource)
  const content = (types: readonly string[], of: Schema) =>
    Object.fromEntries(types.map((type) => [type, { schema: of }]))
  return {
    ...common(operation, resource),
    ...(own.length === 0
      ? {}
      : {
          parameters: own.map(({ name, type, doc }) => ({
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
            content: content(consumesOf(operation, resource), body),
          },
        }),
    responses: {
      ...Object.fromEntries(
        codesOf(operation, resource).map(([code, description]) => [
          code,
          { description, content: content(producesOf(operation, resource), schema) },
        ]),
      ),
      "401": { description: "Unauthorized" },
    },
  }
}
