import { describe, expect, test } from "bun:test"
import { e, f, message } from "../fields.ts"
import { ObjectMeta } from "../meta.ts"
import { applyStrategicMergePatch } from "./strategic.ts"

const Port = message("core.v1.ContainerPort", "", {
  name: f.string(1, ""),
  containerPort: f.int32(3, ""),
  protocol: f.string(4, ""),
})
const EnvVar = message("core.v1.EnvVar", "", { name: f.string(1, ""), value: f.string(2, "") })
const Container = message("core.v1.Container", "", {
  name: f.string(1, ""),
  image: f.string(2, ""),
  args: f.list(4, e.string, ""),
  env: f.list(7, EnvVar, "").merge("name"),
  ports: f.list(6, Port, "").merge("containerPort"),
})
const Volume = message("core.v1.Volume", "", {
  name: f.string(1, ""),
  emptyDir: f.map(2, e.string, ""),
  hostPath: f.map(3, e.string, ""),
})
const Strategy = message("apps.v1.DeploymentStrategy", "", {
  type: f.string(1, ""),
  rollingUpdate: f.map(2, e.string, ""),
})
const Object = message("test.v1.Object", "", {
  metadata: f.message(1, ObjectMeta, ""),
  containers: f.list(2, Container, "").merge("name"),
  volumes: f.list(3, Volume, "").merge("name").retainKeys(),
  strategy: f.message(4, Strategy, "").retainKeys(),
  atomic: f.list(5, Container, ""),
  whole: f.message(6, Strategy, "").replace(),
  byName: f.map(7, Container, ""),
})
const apply = (document: object, patch: object) => applyStrategicMergePatch(Object, document, patch)

describe("strategic merge patch", () => {
  test.each<[string, object, object, object]>([
    [
      "merges objects and deletes by null",
      { metadata: { labels: { a: "1", b: "2" } } },
      { metadata: { labels: { a: null, c: "3" } } },
      { metadata: { labels: { b: "2", c: "3" } } },
    ],
    [
      "merges list items by key, keeping the rest of each",
      {
        containers: [
          { name: "a", image: "1", args: ["x"] },
          { name: "b", image: "1" },
        ],
      },
      { containers: [{ name: "a", image: "2" }] },
      {
        containers: [
          { name: "a", image: "2", args: ["x"] },
          { name: "b", image: "1" },
        ],
      },
    ],
    [
      "adds items, which come before the server's own items if no order is given",
      { containers: [{ name: "a" }] },
      { containers: [{ name: "b" }] },
      { containers: [{ name: "b" }, { name: "a" }] },
    ],
    [
      "replaces lists without strategy",
      { atomic: [{ name: "a", image: "1" }] },
      { atomic: [{ name: "a" }] },
      { atomic: [{ name: "a" }] },
    ],
    [
      "replaces lists of text without strategy",
      { containers: [{ name: "a", args: ["1", "2"] }] },
      { containers: [{ name: "a", args: ["3"] }] },
      { containers: [{ name: "a", args: ["3"] }] },
    ],
    [
      "merges lists of text without duplicates",
      { metadata: { finalizers: ["a", "b"] } },
      { metadata: { finalizers: ["b", "c"] } },
      { metadata: { finalizers: ["a", "b", "c"] } },
    ],
    [
      "deletes an item by directive",
      { containers: [{ name: "a" }, { name: "b" }] },
      { containers: [{ name: "a", $patch: "delete" }] },
      { containers: [{ name: "b" }] },
    ],
    [
      "deletes by a key that is a number",
      { containers: [{ name: "a", ports: [{ containerPort: 80 }, { containerPort: 81 }] }] },
      { containers: [{ name: "a", ports: [{ containerPort: 80, $patch: "delete" }] }] },
      { containers: [{ name: "a", ports: [{ containerPort: 81 }] }] },
    ],
    [
      "ignores the deletion of a missing item",
      { containers: [{ name: "a" }] },
      { containers: [{ name: "x", $patch: "delete" }] },
      { containers: [{ name: "a" }] },
    ],
    [
      "replaces a list by directive",
      { containers: [{ name: "a" }, { name: "b" }] },
      { containers: [{ name: "c" }, { $patch: "replace" }] },
      { containers: [{ name: "c" }] },
    ],
    [
      "treats $patch: replace on an item as one for the whole list, and the item as the directive only",
      { containers: [{ name: "a" }, { name: "b" }] },
      { containers: [{ name: "a", image: "2", $patch: "replace" }] },
      { containers: [] },
    ],
    [
      "replaces an object by directive",
      { strategy: { type: "A", rollingUpdate: { x: "1" } } },
      { strategy: { $patch: "replace", type: "B" } },
      { strategy: { type: "B" } },
    ],
    [
      "empties an object by directive",
      { strategy: { type: "A" }, metadata: {} },
      { strategy: { $patch: "delete" } },
      { strategy: {}, metadata: {} },
    ],
    [
      "replaces an object with the strategy replace",
      { whole: { type: "A", rollingUpdate: {} } },
      { whole: { type: "B" } },
      { whole: { type: "B" } },
    ],
    [
      "keeps only the retained keys",
      { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "1" } } },
      { strategy: { $retainKeys: ["type"], type: "Recreate" } },
      { strategy: { type: "Recreate" } },
    ],
    [
      "keeps only the retained keys of a list item",
      { volumes: [{ name: "v", emptyDir: {} }] },
      { volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/x" } }] },
      { volumes: [{ name: "v", hostPath: { path: "/x" } }] },
    ],
    [
      "deletes from a list of text",
      { metadata: { finalizers: ["a", "b", "c"] } },
      { metadata: { "$deleteFromPrimitiveList/finalizers": ["b"] } },
      { metadata: { finalizers: ["a", "c"] } },
    ],
    [
      "deletes and adds in one list of text",
      { metadata: { finalizers: ["a", "b"] } },
      { metadata: { "$deleteFromPrimitiveList/finalizers": ["b"], finalizers: ["c"] } },
      { metadata: { finalizers: ["c", "a"] } },
    ],
    [
      "orders items",
      { containers: [{ name: "a" }, { name: "b" }] },
      { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] },
      { containers: [{ name: "b" }, { name: "a" }] },
    ],
    [
      "orders items with a change, keeping the server's own among them",
      { containers: [{ name: "a" }, { name: "s" }, { name: "b" }] },
      {
        "$setElementOrder/containers": [{ name: "a" }, { name: "c" }, { name: "b" }],
        containers: [{ name: "c", image: "1" }],
      },
      { containers: [{ name: "a" }, { name: "c", image: "1" }, { name: "s" }, { name: "b" }] },
    ],
    [
      "orders a list that was missing",
      {},
      { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }], containers: [{ name: "b" }] },
      { containers: [{ name: "b" }] },
    ],
    [
      "orders lists of text",
      { metadata: { finalizers: ["a", "b"] } },
      { metadata: { "$setElementOrder/finalizers": ["c", "a"], finalizers: ["c"] } },
      { metadata: { finalizers: ["c", "a", "b"] } },
    ],
    [
      "drops directives and nulls for missing values",
      {},
      { strategy: { $retainKeys: ["type"], type: "A", rollingUpdate: null } },
      { strategy: { type: "A" } },
    ],
    [
      "merges maps of structs",
      { byName: { x: { name: "a", env: [{ name: "A", value: "1" }] } } },
      { byName: { x: { env: [{ name: "B", value: "2" }] } } },
      {
        byName: {
          x: {
            name: "a",
            env: [
              { name: "B", value: "2" },
              { name: "A", value: "1" },
            ],
          },
        },
      },
    ],
    ["replaces a value of another type", { atomic: [] }, { atomic: { x: 1 } }, { atomic: { x: 1 } }],
    [
      "merges nested lists (kubectl set env)",
      {
        containers: [
          {
            name: "a",
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "1" },
            ],
          },
        ],
      },
      {
        containers: [
          {
            name: "a",
            env: [
              { name: "B", value: "2" },
              { name: "A", $patch: "delete" },
            ],
          },
        ],
      },
      { containers: [{ name: "a", env: [{ name: "B", value: "2" }] }] },
    ],
  ])("%s", (_title, document, patch, wanted) => {
    const before = structuredClone(document)
    expect(apply(document, patch)).toEqual(wanted)
    expect(document).toEqual(before)
  })

  test.each<[string, object, RegExp]>([
    ["an item without its key", { containers: [{ image: "1" }] }, /does not contain declared merge key: name/],
    [
      "an unknown directive",
      { strategy: { $patch: "shuffle" } },
      /unknown patch type: shuffle in map: map\[\$patch:shuffle\]/,
    ],
    [
      "an unknown directive in a list",
      { containers: [{ name: "a", $patch: "shuffle" }] },
      /unknown patch type: shuffle in map: map\[\$patch:shuffle name:a\]/,
    ],
    [
      "a directive to merge a list",
      { containers: [{ $patch: "merge" }] },
      /merging lists cannot yet be specified in the patch/,
    ],
    [
      "a key outside retainKeys",
      { strategy: { $retainKeys: ["type"], rollingUpdate: {} } },
      /invalid patch format of retainKeys/,
    ],
    [
      "an invalid deletion list",
      { metadata: { "$deleteFromPrimitiveList/finalizers": "a" } },
      /invalid patch format of primitive list/,
    ],
    [
      "a patch in another order than the order list",
      { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }], containers: [{ name: "a" }, { name: "b" }] },
      /The order in patch list:\n.*\n doesn't match \$setElementOrder list:\n/,
    ],
    [
      "an order that lacks a patched item",
      { "$setElementOrder/containers": [{ name: "a" }], containers: [{ name: "b" }] },
      /The order in patch list:\n.*\n doesn't match \$setElementOrder list:\n/,
    ],
  ])("refuses %s", (_title, patch, why) => {
    expect(() => apply({ containers: [{ name: "a" }], strategy: { type: "A" }, metadata: {} }, patch)).toThrow(why)
  })

  test("returns the same object if nothing changes", () => {
    const document = { containers: [{ name: "a", image: "1" }], metadata: { labels: { a: "b" } } }
    expect(apply(document, { containers: [{ name: "a", image: "1" }], metadata: { labels: { a: "b" } } })).toBe(
      document,
    )
  })

  test("merges long lists with reads that grow with their length", () => {
    // given lists of 2,000 items in another order each: compared item by item that is millions of reads
    const count = 2000
    let reads = 0
    /** A list that counts how often its items are read. */
    const counted = <T>(items: readonly T[]) =>
      new Proxy([...items], {
        get(list, key, receiver) {
          if (typeof key === "string" && /^\d+$/.test(key)) reads++
          return Reflect.get(list, key, receiver) as unknown
        },
      })
    const named = (name: string, more: object = {}) => ({
      ...more,
      get name() {
        reads++
        return name
      },
    })
    const names = Array.from({ length: count }, (_, i) => `c${i}`)
    const backwards = names.toReversed()
    const containers = counted(names.map((name) => named(name, { image: "1" })))
    const patch = {
      containers: counted(backwards.map((name) => named(name, { image: "2" }))),
      "$setElementOrder/containers": counted(backwards.map((name) => named(name))),
      "$deleteFromPrimitiveList/finalizers": counted(names),
    }
    // when
    const merged = apply({ containers, finalizers: counted(backwards) }, patch) as Record<
      string,
      readonly { readonly name: string }[]
    >
    // then
    expect(reads).toBeLessThan(100 * count)
    expect(merged["containers"]!.map(({ name }) => name)).toEqual(backwards)
    expect(merged["finalizers"]).toEqual([])
  })
})
