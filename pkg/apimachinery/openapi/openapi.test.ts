import { describe, expect, test } from "bun:test"
import { e, f, message } from "../fields.ts"
import type { Message } from "../field-spec.ts"
import type { decodeProtobuf } from "../protobuf/envelope.ts"
import { Reader } from "../../protobuf/reader.ts"
import { codecOf } from "../protobuf/codec.ts"
import { defineResource, type Resource } from "../resource.ts"
import { openApiV2, openApiV3 } from "./documents.ts"
import { encodeGnostic, GnosticDocument } from "./gnostic.ts"
import type { GroupVersionKind } from "./schema.ts"

const Part = message("test.v1.Part", "A part.", {
  name: f.string(1, "Its name.").required(),
  kind: f.string(2, "Its kind.").enum("A", "B").default("A"),
})
const Spec = message(
  "test.v1.WidgetSpec",
  "What is wanted.",
  {
    size: f.quantity(1, "How big."),
    when: f.time(2, "When."),
    count: f.int32(3, "How many.").default(1),
    parts: f.list(4, Part, "The parts.").listMap("name").merge("name").retainKeys(),
    tags: f.map(5, e.string, "Tags.").atomic(),
    inner: f.recursive<object>(6, (): Message => Spec, "Another inside."),
    target: f.intOrString(7, "Target."),
    blobs: f.list(8, e.bytes, "Bytes.").atomic(),
    any: f.json(9, "Anything."),
  },
  { mapType: "atomic" },
)
const Widget = defineResource(
  {
    group: "test.k8s.io",
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    scope: "Namespaced",
    doc: "A widget.",
    subresources: { status: true, other: { exec: { verbs: ["get", "create"], kind: "WidgetExecOptions" } } },
  },
  { spec: f.message(2, Spec, "What is wanted.").required() },
)
const Node = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Gear",
    plural: "gears",
    scope: "Cluster",
    doc: "A gear.",
    verbs: ["get", "list", "create"],
  },
  {},
)

const all: readonly Resource[] = [Widget, Node]
const served = {
  resources: all,
  version: "v1.36.0",
  find: ({ group, kind }: GroupVersionKind) =>
    all.find((resource) => resource.group === group && resource.kind === kind),
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>
  readonly definitions: Readonly<Record<string, { readonly properties: Readonly<Record<string, unknown>> }>>
  readonly components: { readonly schemas: Document["definitions"] }
}
const v2 = openApiV2(served) as unknown as Document

describe("OpenAPI v2", () => {
  test("has the paths of every kind, with upstream's operation ids", () => {
    expect(
      Object.entries(v2.paths)
        .filter(([path]) => !path.endsWith("/") && !path.includes("/watch/"))
        .map(([path, operations]) => [
          path,
          ...Object.values(operations).flatMap(({ operationId }) => (operationId === undefined ? [] : [operationId])),
        ]),
    ).toEqual([
      ["/api/v1/gears", "listCoreV1Gear", "createCoreV1Gear"],
      ["/api/v1/gears/{name}", "readCoreV1Gear"],
      [
        "/apis/test.k8s.io/v1/namespaces/{namespace}/widgets",
        "listTestV1NamespacedWidget",
        "createTestV1NamespacedWidget",
        "deleteTestV1CollectionNamespacedWidget",
      ],
      [
        "/apis/test.k8s.io/v1/namespaces/{namespace}/widgets/{name}",
        "readTestV1NamespacedWidget",
        "replaceTestV1NamespacedWidget",
        "patchTestV1NamespacedWidget",
        "deleteTestV1NamespacedWidget",
      ],
      [
        "/apis/test.k8s.io/v1/namespaces/{namespace}/widgets/{name}/exec",
        "connectTestV1GetNamespacedWidgetExec",
        "connectTestV1PostNamespacedWidgetExec",
      ],
      [
        "/apis/test.k8s.io/v1/namespaces/{namespace}/widgets/{name}/status",
        "readTestV1NamespacedWidgetStatus",
        "patchTestV1NamespacedWidgetStatus",
        "replaceTestV1NamespacedWidgetStatus",
      ],
      ["/apis/test.k8s.io/v1/widgets", "listTestV1WidgetForAllNamespaces"],
    ])
  })

  test("contains the deprecated watch paths and the paths of discovery", () => {
    const others = Object.entries(v2.paths).filter(([path]) => path.endsWith("/") || path.includes("/watch/"))
    expect(others.map(([path, { get }]) => `${path} ${get!["operationId"]}`)).toEqual([
      "/.well-known/openid-configuration/ getServiceAccountIssuerOpenIDConfiguration",
      "/api/ getCoreAPIVersions",
      "/api/v1/ getCoreV1APIResources",
      "/apis/ getAPIVersions",
      "/apis/test.k8s.io/ getTestAPIGroup",
      "/apis/test.k8s.io/v1/ getTestV1APIResources",
      "/apis/test.k8s.io/v1/watch/namespaces/{namespace}/widgets watchTestV1NamespacedWidgetList",
      "/apis/test.k8s.io/v1/watch/namespaces/{namespace}/widgets/{name} watchTestV1NamespacedWidget",
      "/apis/test.k8s.io/v1/watch/widgets watchTestV1WidgetListForAllNamespaces",
      "/openid/v1/jwks/ getServiceAccountIssuerOpenIDKeyset",
      "/version/ getCodeVersion",
    ])
  })

  test("has parameters that all operations of a path share at the path", () => {
    const at = (path: string) =>
      (v2.paths[path] as unknown as { parameters: { name: string }[] }).parameters.map(({ name }) => name)
    expect(at("/apis/test.k8s.io/v1/widgets")).toContain("labelSelector")
    expect(at("/apis/test.k8s.io/v1/namespaces/{namespace}/widgets")).toEqual(["namespace", "pretty"])
    expect(at("/apis/test.k8s.io/v1/namespaces/{namespace}/widgets/{name}/exec")).toEqual([
      "command",
      "container",
      "name",
      "namespace",
      "stderr",
      "stdin",
      "stdout",
      "tty",
    ])
  })

  test("marks operations for kubectl: patches support dryRun and fieldValidation, and have a kind", () => {
    const patch = v2.paths["/apis/test.k8s.io/v1/namespaces/{namespace}/widgets/{name}"]!["patch"]!
    expect((patch["parameters"] as { name: string }[]).map(({ name }) => name)).toEqual([
      "body",
      "dryRun",
      "fieldManager",
      "fieldValidation",
      "force",
    ])
    expect(patch["x-kubernetes-group-version-kind"]).toEqual({ group: "test.k8s.io", kind: "Widget", version: "v1" })
    expect(patch["x-kubernetes-action"]).toBe("patch")
  })

  test("describes fields with types, defaults and extensions", () => {
    const { properties, ...rest } = v2.definitions["io.k8s.api.test.v1.WidgetSpec"]!
    expect(rest as unknown).toEqual({
      description: "What is wanted.",
      type: "object",
      "x-kubernetes-map-type": "atomic",
    })
    expect(properties as unknown).toEqual({
      size: { description: "How big.", $ref: "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity" },
      when: { description: "When.", $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Time" },
      count: { description: "How many.", type: "integer", format: "int32" },
      parts: {
        description: "The parts.",
        type: "array",
        items: { $ref: "#/definitions/io.k8s.api.test.v1.Part" },
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge,retainKeys",
      },
      tags: {
        description: "Tags.",
        type: "object",
        additionalProperties: { type: "string" },
        "x-kubernetes-map-type": "atomic",
      },
      inner: { description: "Another inside.", $ref: "#/definitions/io.k8s.api.test.v1.WidgetSpec" },
      target: { description: "Target.", $ref: "#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString" },
      blobs: {
        description: "Bytes.",
        type: "array",
        items: { type: "string", format: "byte" },
        "x-kubernetes-list-type": "atomic",
      },
      any: {
        description: "Anything.",
        $ref: "#/definitions/io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
      },
    })
    expect(v2.definitions["io.k8s.api.test.v1.Part"] as unknown).toMatchObject({
      required: ["name"],
      properties: { kind: { enum: ["A", "B"] } },
    })
  })

  test("has the kinds of definitions and of their lists", () => {
    expect(v2.definitions["io.k8s.api.test.v1.Widget"] as unknown).toMatchObject({
      required: ["spec"],
      "x-kubernetes-group-version-kind": [{ group: "test.k8s.io", version: "v1", kind: "Widget" }],
    })
    expect(Object.keys(v2.definitions["io.k8s.api.test.v1.Widget"]!.properties)).toEqual([
      "apiVersion",
      "kind",
      "metadata",
      "spec",
    ])
    expect(v2.definitions["io.k8s.api.test.v1.WidgetList"] as unknown).toMatchObject({
      required: ["items"],
      "x-kubernetes-group-version-kind": [{ group: "test.k8s.io", version: "v1", kind: "WidgetList" }],
    })
  })

  test("has no reference to a missing definition", () => {
    const refs = [...JSON.stringify(v2).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)].map(([, name]) => name!)
    expect(refs.filter((name) => v2.definitions[name] === undefined)).toEqual([])
  })

  test("has a protobuf form with the same content", () => {
    const document = codecOf(GnosticDocument).read(
      new Reader(encodeGnostic(v2 as unknown as Record<string, unknown>)),
    ) as ReturnType<typeof decodeProtobuf>
    const paths = (
      document["paths"] as {
        path: { name: string; value: Record<string, { parameters?: unknown[]; extensions?: unknown[] }> }[]
      }
    ).path
    expect(paths.map(({ name }) => name)).toEqual(Object.keys(v2.paths))
    const patch = paths.find(({ name }) => name.endsWith("widgets/{name}"))!.value["patch"]!
    expect(patch.parameters![1]).toMatchObject({
      parameter: { nonBody: { query: { name: "dryRun", in: "query", type: "string" } } },
    })
    expect(patch.extensions).toContainEqual({
      name: "x-kubernetes-group-version-kind",
      value: { yaml: '{"group":"test.k8s.io","kind":"Widget","version":"v1"}\n' },
    })
    expect((document["definitions"] as { named: { name: string }[] }).named.map(({ name }) => name)).toEqual(
      Object.keys(v2.definitions),
    )
  })
})

describe("OpenAPI v3", () => {
  const documents = openApiV3(served)
  test("is one document for each group and version", () => {
    expect([...documents.keys()]).toEqual([
      ".well-known/openid-configuration",
      "api",
      "api/v1",
      "apis",
      "apis/test.k8s.io",
      "apis/test.k8s.io/v1",
      "openid/v1/jwks",
      "version",
    ])
    const document = documents.get("apis/test.k8s.io/v1")!() as unknown as Document
    expect(Object.keys(document.paths).length).toBe(9)
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name!,
    )
    expect(refs.filter((name) => document.components.schemas[name] === undefined)).toEqual([])
  })

  test("wraps references that have other members, and has only defaults that upstream marks", () => {
    const { properties } = (documents.get("apis/test.k8s.io/v1")!() as unknown as Document).components.schemas[
      "io.k8s.api.test.v1.WidgetSpec"
    ]!
    expect(properties["inner"]).toEqual({
      description: "Another inside.",
      allOf: [{ $ref: "#/components/schemas/io.k8s.api.test.v1.WidgetSpec" }],
    })
    expect(properties["count"]).toEqual({ description: "How many.", type: "integer", format: "int32" })
  })

  test("offers no strategic merge patch for custom objects, so that kubectl apply does not send one", () => {
    // given the kind as that of a definition
    const custom: Resource = { ...Widget, definition: { uid: "1", terminating: false } }
    // when
    const document = openApiV3({ ...served, resources: [custom, Node] }).get("apis/test.k8s.io/v1")!()
    const { paths } = document as unknown as Document
    const { requestBody } = paths["/apis/test.k8s.io/v1/namespaces/{namespace}/widgets/{name}"]!["patch"] as {
      requestBody: { content: object }
    }
    // then
    expect(Object.keys(requestBody.content)).toEqual([
      "application/json-patch+json",
      "application/merge-patch+json",
      "application/apply-patch+yaml",
    ])
  })

  test("has request bodies by content type", () => {
    const { paths } = documents.get("apis/test.k8s.io/v1")!() as unknown as Document
    const { requestBody } = paths["/apis/test.k8s.io/v1/namespaces/{namespace}/widgets/{name}"]!["patch"] as {
      requestBody: { content: object }
    }
    expect(Object.keys(requestBody.content)).toEqual([
      "application/json-patch+json",
      "application/merge-patch+json",
      "application/strategic-merge-patch+json",
      "application/apply-patch+yaml",
    ])
  })
})
