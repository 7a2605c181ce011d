import { expect, test } from "bun:test"
import type { KubeObject } from "../../../../apimachinery/resource.ts"
import { Anonymiser } from "./anonymiser.ts"
import { vocabularyOf } from "./vocabulary.ts"

const anonymiser = new Anonymiser(new Uint8Array(32), vocabularyOf(["example.com", "shops", "Shop"]))
/** An object by other names. */
const made = (apiVersion: string, kind: string, fields: object) =>
  anonymiser.object({ apiVersion, kind, metadata: { name: "a" }, ...fields } as KubeObject) as unknown as Fields
type Fields = Readonly<Record<string, unknown>>

test("names that begin with a capital are replaced: of users, groups, variables and keys", () => {
  const subjects = [
    { kind: "User", name: "Bob" },
    { kind: "Group", name: "Engineering" },
  ]
  const binding = JSON.stringify(made("rbac.authorization.k8s.io/v1", "RoleBinding", { subjects }))
  const env = [{ name: "GLOBEX", valueFrom: { secretKeyRef: { name: "till", key: "PASSWORD" } } }]
  const pod = JSON.stringify(made("v1", "Pod", { spec: { containers: [{ name: "a", env }] } }))
  for (const word of ["Bob", "Engineering", "GLOBEX", "PASSWORD"]) expect(binding + pod).not.toContain(word)
  expect(binding).toContain(`"kind":"Group"`)
})

test("a reference to a key of a Secret finds the key, and a selector the label, also with capitals", () => {
  // given a Secret and a label, and what refers to them
  const secret = made("v1", "Secret", { data: { PASSWORD: "aaaa" } })
  const node = made("v1", "Node", { metadata: { name: "a", labels: { Rack: "Nord" } } })
  const pod = made("v1", "Pod", {
    spec: {
      volumes: [{ secret: { items: [{ key: "PASSWORD" }] } }],
      affinity: { matchExpressions: [{ key: "Rack", operator: "In", values: ["Nord"] }] },
      env: { fieldPath: "metadata.labels['Rack']" },
    },
  })
  // then they have the same names again
  const [key] = Object.keys(secret["data"] as Fields)
  const [[label, value] = []] = Object.entries((node["metadata"] as { readonly labels: Fields }).labels)
  expect(pod["spec"] as Fields).toEqual({
    volumes: [{ secret: { items: [{ key }] } }],
    affinity: { matchExpressions: [{ key: label, operator: "In", values: [value] }] },
    env: { fieldPath: `metadata.labels['${label}']` },
  })
  expect([key, label, value]).not.toContain("PASSWORD")
  expect([label, value]).not.toContain("Rack")
})

test("a key of a service that has the form of a UID is replaced in a variable", () => {
  const value = "0b8d7a52-3a4e-4e0c-9d7e-3f2f5a9c1e77"
  expect(JSON.stringify(made("v1", "Pod", { spec: { env: [{ name: "a", value }] } }))).not.toContain(value)
})

test("the schema of a custom kind stays as it is, without texts and values", () => {
  // given a definition
  const till = { type: "string", format: "date-time" }
  const root = (more: object, of: object) => ({
    type: "object",
    required: ["tills"],
    properties: { tills: { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["till"] } },
    ...more,
    additionalProperties: { ...till, ...of },
  })
  const version = (schema: object, more = {}) => ({
    name: "stable",
    served: true,
    subresources: { scale: { specReplicasPath: ".spec.tills" } },
    schema,
    ...more,
  })
  const names = { plural: "shops", kind: "Shop", listKind: "ShopList", shortNames: ["shp"] }
  const schema = root(
    { title: "Of Globex", externalDocs: { url: "https://globex.com" } },
    { enum: ["Globex"], default: "globex", pattern: "globex" },
  )
  const definition = {
    metadata: { name: "shops.example.com", labels: { "globex.com/team": "globex" } },
    spec: {
      group: "example.com",
      names,
      versions: [version(schema, { deprecationWarning: "ask Globex" })],
      conversion: { strategy: "Webhook", webhook: { clientConfig: { url: "https://crd.globex.com" } } },
    },
    status: { storedVersions: ["stable"] },
  }
  // when
  const { metadata, spec, status, conversion } = made(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    definition,
  ) as { readonly [name in "metadata" | "spec" | "status" | "conversion"]: Fields }
  // then
  expect(JSON.stringify([metadata, spec, status]).toLowerCase()).not.toContain("globex")
  expect(metadata["name"]).toBe("shops.example.com")
  expect(conversion).toBeUndefined()
  expect(spec).toMatchObject({
    group: "example.com",
    names,
    versions: [version(root({}, {}))],
    conversion: { strategy: "Webhook" },
  })
  const [{ schema: kept }] = spec["versions"] as [{ readonly schema: { readonly additionalProperties: Fields } }]
  expect(kept.additionalProperties).toEqual(till)
  expect(status).toEqual({ storedVersions: ["stable"] })
})
