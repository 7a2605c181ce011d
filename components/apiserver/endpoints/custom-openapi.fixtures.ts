/** What the tests of published documents define, and what they compare of a document. */
type Loose = Readonly<Record<string, unknown>>

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((part, name) => (part as Loose | undefined)?.[name], value)
const entries = (value: unknown): readonly [string, unknown][] => Object.entries((value ?? {}) as Loose)

const scaled = (name: string, storage: boolean) => ({
  name,
  served: true,
  storage,
  subresources: {
    status: {},
    scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
  },
  schema: {
    openAPIV3Schema: {
      type: "object",
      description: "A gadget.",
      properties: {
        spec: { type: "object", properties: { replicas: { type: "integer" } } },
        status: { type: "object", properties: { replicas: { type: "integer" } } },
      },
    },
  },
})

const definition = (plural: string, kind: string, scope: string, group: string, versions: readonly object[]) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: `${plural}.${group}`,
    annotations: group.endsWith("k8s.io") ? { "api-approved.kubernetes.io": "unapproved, test" } : {},
  },
  spec: { group, scope, names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` }, versions },
})

/** A kind with two versions, scale and status, and one of the cluster with fields of any name. */
export const DEFINITIONS = [
  definition("gadgets", "Gadget", "Namespaced", "shop.x-k8s.io", [scaled("v1beta1", false), scaled("v1", true)]),
  definition("sites", "Site", "Cluster", "a-b.example.com", [
    {
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    },
  ]),
]

const isOfDefinitions = (name: string): boolean =>
  /shop\.x-k8s\.io|a-b\.example\.com|x-k8s\.shop|example\.a-b/.test(name)

/** The names of parameters. In version 2 upstream refers to shared ones, as `#/parameters/<name>-<hash>`. */
const namesOf = (parameters: unknown): readonly string[] =>
  ((parameters ?? []) as readonly Loose[])
    .map(({ name, $ref }) => String(name ?? String($ref).replace(/^#\/parameters\/([^-]*)-.*$/, "$1")))
    .sort()

function operationShape(operation: unknown) {
  const body = at(operation, "requestBody", "content")
  const typesOf = (content: unknown) =>
    Object.fromEntries(entries(content).map(([type, media]) => [type, at(media, "schema", "$ref")]))
  return {
    id: at(operation, "operationId"),
    tags: at(operation, "tags"),
    action: at(operation, "x-kubernetes-action"),
    kind: at(operation, "x-kubernetes-group-version-kind"),
    parameters: namesOf(at(operation, "parameters")),
    consumes: at(operation, "consumes") ?? typesOf(body),
    produces: at(operation, "produces"),
    answers: Object.fromEntries(
      entries(at(operation, "responses")).map(([code, answer]) => [
        code,
        at(answer, "schema", "$ref") ?? typesOf(at(answer, "content")),
      ]),
    ),
  }
}

/** Returns the schema without what people read. */
function undescribed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(undescribed)
  if (typeof schema !== "object" || schema === null) return schema
  return Object.fromEntries(
    entries(schema)
      .filter(([name, value]) => name !== "description" || typeof value !== "string")
      .map(([name, value]) => [name, undescribed(value)]),
  )
}

const METHODS = ["get", "put", "post", "delete", "patch"]

/** Returns what a document of either version says of the kinds of DEFINITIONS, beside descriptions. */
export function shapeOf(document: unknown): unknown {
  const schemas = at(document, "definitions") ?? at(document, "components", "schemas")
  return {
    paths: Object.fromEntries(
      entries(at(document, "paths"))
        .filter(([path]) => isOfDefinitions(path))
        .map(([path, item]) => [
          path,
          {
            shared: namesOf(at(item, "parameters")),
            ...Object.fromEntries(
              METHODS.filter((method) => at(item, method) !== undefined).map((method) => [
                method,
                operationShape(at(item, method)),
              ]),
            ),
          },
        ]),
    ),
    schemas: Object.fromEntries(
      entries(schemas)
        .filter(([name]) => isOfDefinitions(name))
        .map(([name, schema]) => [name, undescribed(schema)]),
    ),
  }
}
