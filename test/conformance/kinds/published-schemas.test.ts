/**
 * The schemas of definitions as clients see them: in OpenAPI v2, and by what kubectl says. After
 * test/e2e/apimachinery/crd_publish_openapi.go.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Kubectl } from "../../harness/kubectl.ts"
import { findKubectls } from "../../kubectls.ts"
import { startConformanceCluster, type ConformanceCluster } from "../cluster.ts"
import { condition } from "../workloads/workload-cluster.ts"

const newest = findKubectls().at(-1)
if (newest === undefined)
  console.warn("SKIPPED: no kubectl on the PATH, so what it makes of published schemas is not tried")

const text = (description: string, more: object = {}) => ({ description, type: "string", ...more })
const list = (description: string, items: object) => ({ description, type: "array", items })
const FOO = {
  description: "Foo CRD for Testing",
  type: "object",
  properties: {
    spec: {
      description: "Specification of Foo",
      type: "object",
      properties: {
        bars: list("List of Bars and their specs.", {
          type: "object",
          required: ["name"],
          properties: {
            name: text("Name of Bar."),
            age: text("Age of Bar."),
            feeling: text("Whether Bar is feeling great.", { enum: ["Great", "Down"] }),
            bazs: list("List of Bazs.", { type: "string" }),
          },
        }),
      },
    },
    status: {
      description: "Status of Foo",
      type: "object",
      properties: {
        bars: list("List of Bars and their statuses.", {
          type: "object",
          properties: {
            name: text("Name of Bar."),
            available: { description: "Whether the Bar is installed.", type: "boolean" },
            quxType: text("Indicates to external qux type.", { pattern: "in-tree|out-of-tree" }),
          },
        }),
      },
    },
  },
}
const waldo = (description: string, root: object, spec: object) => ({
  description,
  type: "object",
  ...root,
  properties: {
    spec: {
      description: "Specification of Waldo",
      type: "object",
      ...spec,
      properties: { dummy: { description: "Dummy property.", type: "object" } },
    },
    status: {
      description: "Status of Waldo",
      type: "object",
      properties: { bars: list("List of Bars and their statuses.", { type: "object" }) },
    },
  },
})
const OPEN = { "x-kubernetes-preserve-unknown-fields": true }
const WALDO = waldo("Waldo CRD for Testing", {}, {})

describe.skipIf(newest === undefined)("published schemas", () => {
  let cluster: ConformanceCluster
  let kubectl: Kubectl
  const home = mkdtempSync(join(tmpdir(), "published-"))
  beforeAll(async () => {
    cluster = await startConformanceCluster({ controllers: true })
    writeFileSync(join(home, "config"), cluster.kubeconfig, { mode: 0o600 })
    kubectl = new Kubectl({ path: newest![1], kubeconfig: join(home, "config"), home })
    await cluster.until("/api/v1/namespaces/default/serviceaccounts/default", (account) => account !== undefined)
  })
  afterAll(async () => {
    await cluster.stop()
    rmSync(home, { recursive: true })
  })

  let number = 0
  /** Creates a definition of a kind of its own, in these versions. */
  async function define(group: string, schema: object | undefined, ...versions: readonly string[]) {
    const kind = `Kind${number++}`
    const plural = `${kind.toLowerCase()}s`
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`
    await cluster.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
        versions: versions.map((name, i) => ({
          name,
          served: true,
          storage: i === 0,
          schema: { openAPIV3Schema: schema ?? { type: "object", ...OPEN } },
        })),
      },
    })
    await cluster.until(path, (found) => condition(found, "Established")?.status === "True")
    const object = (name: string, content: object) =>
      JSON.stringify({ kind, apiVersion: `${group}/${versions[0]}`, metadata: { name }, ...content })
    return { kind, plural, path, object, definition: (version: string) => definitionOf(group, version, kind) }
  }
  /** What OpenAPI v2 says of a version, without what every kind has; undefined where it says nothing. */
  async function definitionOf(group: string, version: string, kind: string): Promise<object | undefined> {
    const { definitions } = (await cluster.get("/openapi/v2")) as unknown as {
      definitions: Record<string, { properties?: Record<string, unknown> }>
    }
    const found = definitions[`${group.split(".").toReversed().join(".")}.${version}.${kind}`]
    if (found === undefined) return undefined
    const { metadata: _metadata, apiVersion: _version, kind: _kind, ...properties } = found.properties ?? {}
    const { properties: _properties, ...rest } = found as Record<string, unknown>
    delete rest["x-kubernetes-group-version-kind"]
    return Object.keys(properties).length > 0 ? { ...rest, properties } : rest
  }
  const remove = async (path: string) => {
    await cluster.delete(path)
    await cluster.until(path, (found) => found === undefined)
  }
  const ok = async (args: string, input?: string): Promise<string> => {
    const { code, out, err } = await kubectl.run(args.split(" "), input === undefined ? {} : { input })
    expect([args, code, code === 0 ? "" : err]).toEqual([args, 0, ""])
    return out
  }
  const failure = async (args: string, input?: string): Promise<string> => {
    const { code, err } = await kubectl.run(args.split(" "), input === undefined ? {} : { input })
    expect([args, code === 0]).toEqual([args, false])
    return err
  }
  const createAndApply = async (plural: string, name: string, object: string) => {
    for (const verb of ["create", "apply"]) {
      await ok(`${verb} -f -`, object)
      await ok(`delete ${plural} ${name}`)
    }
  }

  test("CustomResourcePublishOpenAPI works for CRD with validation schema", async () => {
    const { plural, object, definition, path } = await define("foo.example.com", FOO, "v1")
    expect(await definition("v1")).toEqual(FOO)
    const bars = (...items: object[]) => object("test-foo", { spec: { bars: items } })
    await createAndApply(plural, "test-foo", bars({ name: "test-bar", age: "10", feeling: "Great", bazs: ["a"] }))
    expect(await failure("create -f -", bars({ name: "test-bar", feeling: "NonExistentValue" }))).toContain(
      'Unsupported value: "NonExistentValue"',
    )
    for (const verb of ["create", "apply"]) {
      expect(await failure(`${verb} -f -`, object("test-foo", { spec: { foo: true } }))).toMatch(
        /unknown field "(spec\.)?foo"/,
      )
      expect(await failure(`${verb} -f -`, bars({ age: "10" }))).toMatch(
        /missing required field "name"|spec\.bars\[0\]\.name: Required value/,
      )
    }
    expect(await ok(`explain ${plural}`)).toMatch(
      /DESCRIPTION:.*Foo CRD for Testing.*FIELDS:.*apiVersion.*<string>.*APIVersion defines.*spec.*<Object>.*Specification of Foo/s,
    )
    expect(await ok(`explain ${plural}.metadata`)).toMatch(
      /DESCRIPTION:.*Standard object's metadata.*FIELDS:.*creationTimestamp.*<string>.*CreationTimestamp is a timestamp/s,
    )
    expect(await ok(`explain ${plural}.spec`)).toMatch(
      /DESCRIPTION:.*Specification of Foo.*FIELDS:.*bars.*<\[\]Object>.*List of Bars and their specs/s,
    )
    expect(await ok(`explain ${plural}.spec.bars`)).toMatch(
      /(FIELD|RESOURCE):.*bars.*<\[\]Object>.*DESCRIPTION:.*List of Bars and their specs.*FIELDS:.*bazs.*<\[\]string>.*List of Bazs.*name.*<string>.*Name of Bar/s,
    )
    expect(await failure(`explain ${plural}.spec.bars2`)).toContain('field "bars2" does not exist')
    await remove(path)
    expect(await definition("v1")).toBeUndefined()
  }, 180_000)

  const random = { a: { b: [{ c: "d" }] } }
  test("CustomResourcePublishOpenAPI works for CRD without validation schema", async () => {
    const { plural, object, definition, path } = await define("empty.example.com", undefined, "v1")
    expect(await definition("v1")).toEqual({ type: "object" })
    await createAndApply(plural, "test-cr", object("test-cr", random))
    expect(await ok(`explain ${plural}`)).toMatch(/DESCRIPTION:.*<empty>/s)
    await remove(path)
    expect(await definition("v1")).toBeUndefined()
  }, 180_000)

  test("CustomResourcePublishOpenAPI works for CRD preserving unknown fields at the schema root", async () => {
    const schema = waldo("preserve-unknown-properties at root for Testing", OPEN, {})
    const { plural, object, definition, path, kind } = await define("unknown-at-root.example.com", schema, "v1")
    expect(await definition("v1")).toBeDefined()
    await createAndApply(plural, "test-cr", object("test-cr", random))
    expect(await ok(`explain ${plural}`)).toMatch(new RegExp(`KIND:.*${kind}`, "s"))
    await remove(path)
    expect(await definition("v1")).toBeUndefined()
  }, 180_000)

  test("CustomResourcePublishOpenAPI works for CRD preserving unknown fields in an embedded object", async () => {
    const schema = waldo("preserve-unknown-properties in nested field for Testing", {}, OPEN)
    const { plural, object, definition, path } = await define("unknown-in-nested.example.com", schema, "v1")
    expect(await definition("v1")).toBeDefined()
    await createAndApply(plural, "test-cr", object("test-cr", { spec: { a: null, b: [{ c: "d" }] } }))
    expect(await ok(`explain ${plural}`)).toMatch(
      /DESCRIPTION:.*preserve-unknown-properties in nested field for Testing/s,
    )
    await remove(path)
    expect(await definition("v1")).toBeUndefined()
  }, 180_000)

  test("CustomResourcePublishOpenAPI works for multiple CRDs of different groups", async () => {
    const foo = await define("foo-2.example.com", FOO, "v1")
    const other = await define("waldo-2.example.com", WALDO, "v1beta1")
    expect([await foo.definition("v1"), await other.definition("v1beta1")]).toEqual([FOO, WALDO])
    for (const { path } of [foo, other]) await remove(path)
    expect([await foo.definition("v1"), await other.definition("v1beta1")]).toEqual([undefined, undefined])
  })

  test("CustomResourcePublishOpenAPI works for multiple CRDs of same group but different versions", async () => {
    const multi = await define("multi-ver.example.com", FOO, "v2", "v3")
    expect([await multi.definition("v2"), await multi.definition("v3")]).toEqual([FOO, FOO])
    await remove(multi.path)
    const foo = await define("common-group.example.com", FOO, "v4")
    const other = await define("common-group.example.com", WALDO, "v5")
    expect([await foo.definition("v4"), await other.definition("v5")]).toEqual([FOO, WALDO])
    for (const { path } of [foo, other]) await remove(path)
    expect([await foo.definition("v4"), await other.definition("v5")]).toEqual([undefined, undefined])
  })

  test("CustomResourcePublishOpenAPI works for multiple CRDs of same group and version but different kinds", async () => {
    const foo = await define("common-group.example.com", FOO, "v6")
    const other = await define("common-group.example.com", WALDO, "v6")
    expect([await foo.definition("v6"), await other.definition("v6")]).toEqual([FOO, WALDO])
    for (const { path } of [foo, other]) await remove(path)
    expect([await foo.definition("v6"), await other.definition("v6")]).toEqual([undefined, undefined])
  })

  test("CustomResourcePublishOpenAPI updates the published spec when one version gets renamed", async () => {
    const { path, definition } = await define("renamed.example.com", FOO, "v2", "v3")
    expect([await definition("v2"), await definition("v3")]).toEqual([FOO, FOO])
    await cluster.patch(path, "json", [
      { op: "test", path: "/spec/versions/1/name", value: "v3" },
      { op: "replace", path: "/spec/versions/1/name", value: "v4" },
    ])
    expect([await definition("v4"), await definition("v3"), await definition("v2")]).toEqual([FOO, undefined, FOO])
    await remove(path)
  })

  test("CustomResourcePublishOpenAPI removes definition from spec when one version gets changed to not be served", async () => {
    const { path, definition } = await define("multi-to-single-ver.example.com", FOO, "v5", "v6alpha1")
    expect([await definition("v5"), await definition("v6alpha1")]).toEqual([FOO, FOO])
    const now = await cluster.get(path)
    const [first, second] = now.spec["versions"] as object[]
    const updated = await cluster.put(path, {
      ...now,
      spec: { ...now.spec, versions: [first, { ...second, served: false }] },
    })
    expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(Number(now.metadata.resourceVersion))
    expect([await definition("v6alpha1"), await definition("v5")]).toEqual([undefined, FOO])
    await remove(path)
  })
})
