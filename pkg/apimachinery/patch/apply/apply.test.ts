import { describe, expect, test } from "bun:test"
import { seededRandom } from "../../../clock/random.ts"
import { decodeObject } from "../../decoding/decode.ts"
import { deepEqual } from "../../json/equal.ts"
import type { ApiError } from "../../errors.ts"
import { applyConfiguration } from "./apply.ts"
import { compare, fieldSetOf } from "./compare.ts"
import { difference, intersection, isFieldSet, pathsOf, union, type FieldSet } from "./fieldset.ts"
import { mergeInto } from "./merge.ts"
import { fieldsOfNew } from "./new-fields.ts"
import { shapeOf } from "./shape.ts"
import { isWithoutEffect, trackUpdate } from "./track.ts"
import { Deployment, NOW, LATER, config, template, decode, ownedBy } from "./deployment.fixtures.ts"

const shape = shapeOf(Deployment.schema)

const apply = (
  live: Deployment | undefined,
  manager: string,
  spec: object,
  more: { force?: boolean; metadata?: object; now?: string; subresource?: string } = {},
): Deployment =>
  applyConfiguration(Deployment, live, config(spec, more.metadata), { manager, now: NOW, ...more }).object
const refusal = (run: () => unknown): ApiError => {
  try {
    run()
  } catch (err) {
    return err as ApiError
  }
  throw new Error("nothing was thrown")
}

describe("applyConfiguration", () => {
  test("creates an object and owns only the fields in the configuration", () => {
    const live = apply(
      undefined,
      "me",
      { replicas: 3, ...template({ name: "a", image: "1", ports: [{ containerPort: 80 }] }) },
      { metadata: { labels: { x: "1" } } },
    )
    expect(live.spec.template.spec.containers[0]).toEqual({
      name: "a",
      image: "1",
      pullPolicy: "Always",
      ports: [{ containerPort: 80, protocol: "TCP" }],
    })
    expect(ownedBy(live, "me")).toEqual([
      ".metadata.labels.x",
      ".spec.replicas",
      '.spec.template.spec.containers[name="a"]',
      '.spec.template.spec.containers[name="a"].image',
      '.spec.template.spec.containers[name="a"].name',
      '.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"]',
      '.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].containerPort',
    ])
  })

  test("returns the same object when applied twice, with unchanged times", () => {
    const live = apply(undefined, "me", { replicas: 3, ...template({ name: "a", image: "1" }) })
    expect(apply(live, "me", { replicas: 3, ...template({ name: "a", image: "1" }) }, { now: LATER })).toBe(live)
  })

  test("refuses to change fields of another manager, with upstream's message", () => {
    const live = apply(undefined, "one", { replicas: 3 })
    const error = refusal(() => apply(live, "two", { replicas: 4 }))
    expect(error.code).toBe(409)
    expect(error.message).toBe('Apply failed with 1 conflict: conflict with "one": .spec.replicas')
    expect(error.details?.causes).toEqual([
      { reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".spec.replicas" },
    ])
  })

  test("names version and subresource of managers that updated, and lists many conflicts", () => {
    const created = trackUpdate(
      Deployment,
      undefined,
      decode({ replicas: 3, paused: true, ...template({ name: "a", image: "1" }) }),
      { manager: "kubectl-client-side-apply", now: NOW },
    )
    expect(refusal(() => apply(created, "me", { replicas: 4 })).message).toBe(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
    )
    expect(refusal(() => apply(created, "me", { replicas: 4, ...template({ name: "a", image: "2" }) })).message).toBe(
      'Apply failed with 2 conflicts: conflicts with "kubectl-client-side-apply" using apps/v1:\n- .spec.replicas\n- .spec.template.spec.containers[name="a"].image',
    )
    const scaled = trackUpdate(
      Deployment,
      created,
      { ...created, spec: { ...created.spec, replicas: 7 } },
      { manager: "hpa", subresource: "scale", now: LATER },
    )
    expect(refusal(() => apply(scaled, "me", { replicas: 4 })).message).toBe(
      'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using apps/v1: .spec.replicas',
    )
  })

  test("takes fields over with force, and shares fields with the same value", () => {
    const live = apply(undefined, "one", { replicas: 3, paused: true })
    const shared = apply(live, "two", { replicas: 3 })
    expect(ownedBy(shared, "one")).toContain(".spec.replicas")
    expect(ownedBy(shared, "two")).toEqual([".spec.replicas"])
    const forced = apply(shared, "two", { replicas: 4 }, { force: true })
    expect(forced.spec.replicas).toBe(4)
    expect(ownedBy(forced, "one")).toEqual([".spec.paused"])
  })

  test("removes fields that the manager has set before and does not name any more, unless another manager owns them", () => {
    const first = apply(
      undefined,
      "one",
      template(
        {
          name: "a",
          image: "1",
          env: [
            { name: "A", value: "1" },
            { name: "B", value: "1" },
          ],
        },
        { name: "b", image: "1" },
      ),
      { metadata: { labels: { x: "1", y: "1" } } },
    )
    const both = apply(first, "two", template({ name: "b" }), { metadata: { labels: { y: "1" } } })
    const after = apply(both, "one", template({ name: "a", image: "1", env: [{ name: "B", value: "1" }] }))
    expect(after.metadata.labels).toEqual({ y: "1" })
    const [a, b] = after.spec.template.spec.containers
    expect(a?.env).toEqual([{ name: "B", value: "1" }])
    // The other manager keeps the item it names; what only the first one set in it goes.
    expect(b).toEqual({ name: "b", pullPolicy: "Always" })
  })

  test("restores the default of a removed field", () => {
    const first = apply(undefined, "one", { replicas: 3, paused: true })
    const after = apply(first, "one", { paused: true })
    expect(after.spec.replicas).toBe(1)
    expect(ownedBy(after, "one")).toEqual([".spec.paused"])
  })

  test("removes a whole map, list or struct with its last field", () => {
    const first = apply(
      undefined,
      "one",
      {
        strategy: { rollingUpdate: { maxSurge: 1 } },
        ...template({ name: "a", env: [{ name: "A" }], limits: { cpu: "1" } }),
      },
      { metadata: { labels: { x: "1" } } },
    )
    const after = apply(first, "one", template({ name: "a" }))
    expect(after.metadata.labels).toBeUndefined()
    expect(after.spec.strategy).toEqual({})
    expect(after.spec.template.spec.containers).toEqual([{ name: "a", pullPolicy: "Always" }])
  })

  test("keeps fields that updates have set", () => {
    const first = apply(undefined, "one", template({ name: "a", image: "1" }), { metadata: { labels: { x: "1" } } })
    const touched = trackUpdate(
      Deployment,
      first,
      { ...first, metadata: { ...first.metadata, labels: { x: "1", u: "2" } } },
      { manager: "u", now: LATER },
    )
    const after = apply(touched, "one", template({ name: "a", image: "2" }))
    expect(after.metadata.labels).toEqual({ u: "2" })
    expect(after.spec.template.spec.containers[0]?.image).toBe("2")
  })

  test("owns atomic lists and maps as a whole", () => {
    const first = apply(undefined, "one", {
      ...template({ name: "a", args: ["1"] }),
      selector: { matchLabels: { a: "1" } },
    })
    expect(ownedBy(first, "one")).toContain(".spec.selector")
    expect(refusal(() => apply(first, "two", { ...template({ name: "a", args: ["1", "2"] }) })).message).toContain(
      '.spec.template.spec.containers[name="a"].args',
    )
  })

  test("merges sets and refuses duplicate items", () => {
    const first = apply(undefined, "one", { template: { spec: { containers: [{ name: "a" }], groups: ["x", "y"] } } })
    const second = apply(first, "two", { template: { spec: { containers: [{ name: "a" }], groups: ["z", "y"] } } })
    expect([...second.spec.template.spec.groups!].sort()).toEqual(["x", "y", "z"])
    expect(ownedBy(second, "two")).toContain('.spec.template.spec.groups[="z"]')
    expect(refusal(() => apply(first, "two", template({ name: "a" }, { name: "a" }))).message).toContain(
      '.spec.template.spec.containers: duplicate entries for key [name="a"]',
    )
    // A key that Go never leaves out stands for its zero: the rules of the kind refuse it.
    expect(ownedBy(apply(first, "two", template({ image: "a" })), "two")).toContain(
      '.spec.template.spec.containers[name=""].image',
    )
  })

  test("treats an object without managedFields as created before the first apply", () => {
    const live = decode({ replicas: 2, ...template({ name: "a", image: "1" }) }, { uid: "u" })
    const error = refusal(() => apply(live, "me", { replicas: 3 }))
    expect(error.message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas',
    )
    const forced = apply(live, "me", { replicas: 3 }, { force: true })
    expect(ownedBy(forced, "before-first-apply", "Update")).toContain('.spec.template.spec.containers[name="a"].image')
    expect(forced.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      "me Apply",
      "before-first-apply Update",
    ])
  })

  test("lets kubectl take over from its client-side apply, and updates its last-applied annotation", () => {
    const annotation = "kubectl.kubernetes.io/last-applied-configuration"
    const sent = config({ replicas: 2 }, { annotations: {} })
    const live = trackUpdate(
      Deployment,
      undefined,
      decode({ replicas: 2 }, { annotations: { [annotation]: JSON.stringify(sent) } }),
      { manager: "kubectl-client-side-apply", now: NOW },
    )
    const after = apply(live, "kubectl", { replicas: 3 })
    expect(after.spec.replicas).toBe(3)
    const kept = JSON.parse(after.metadata.annotations![annotation]!) as { spec: object; metadata: object }
    expect(kept.spec).toEqual({ replicas: 3 })
    expect(kept.metadata).not.toHaveProperty("annotations")
    expect(refusal(() => apply(live, "other", { replicas: 3 })).code).toBe(409)
  })

  test("refuses invalid configurations", () => {
    const by = { manager: "me", now: NOW }
    expect(
      refusal(() => applyConfiguration(Deployment, undefined, { ...config({}), apiVersion: "apps/v2" }, by)).message,
    ).toBe("invalid object type: apps/v2, Kind=Deployment")
    expect(refusal(() => apply(undefined, "me", {}, { metadata: { managedFields: [] } })).message).toBe(
      "metadata.managedFields must be nil",
    )
    expect(refusal(() => apply(undefined, "me", { foo: 1 })).message).toBe(
      "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema",
    )
  })

  test.each([
    {
      title: "a number",
      given: { replicas: "x" },
      wants: ".spec.replicas: expected numeric (int or float), got string",
    },
    { title: "a boolean", given: { paused: 1 }, wants: ".spec.paused: expected boolean, got &{1}" },
    { title: "a struct", given: { template: ["a"] }, wants: ".spec.template: expected map, got &{[a]}" },
    { title: "a list", given: template().template.spec, wants: ".spec.containers: field not declared in schema" },
    {
      title: "a string",
      given: template({ name: "a", image: { b: 1 } }),
      wants:
        '.spec.template.spec.containers[name="a"].image: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":1}}',
    },
    {
      title: "an item",
      given: { template: { spec: { containers: [null] } } },
      wants: ".spec.template.spec.containers: element 0: associative list with keys may not have a null element",
    },
    {
      title: "several fields",
      given: { replicas: "x", paused: "y" },
      wants:
        "errors:\n  .spec.replicas: expected numeric (int or float), got string\n  .spec.paused: expected boolean, got &{y}",
    },
  ])("refuses $title of another type with code 500, as upstream", ({ given, wants }) => {
    const { code, message } = refusal(() => apply(undefined, "me", given as never))
    expect([code, message]).toEqual([
      500,
      `failed to create typed patch object (default/web; apps/v1, Kind=Deployment): ${wants}`,
    ])
  })

  test("keeps the resourceVersion if only times differ", () => {
    const live = apply(undefined, "me", { replicas: 3 })
    const again = {
      ...live,
      metadata: {
        ...live.metadata,
        managedFields: live.metadata.managedFields!.map((entry) => ({ ...entry, time: LATER })),
      },
    }
    expect(isWithoutEffect(live, again)).toBe(true)
    const changed = { ...again, spec: { ...again.spec, replicas: 4 } }
    expect(isWithoutEffect(live, changed)).toBe(false)
    // and so it is with as many managers as an object can have, in another order
    const managed = (manager: string, n: number, time: string) => ({
      ...live,
      metadata: {
        ...live.metadata,
        managedFields: Array.from({ length: n }, (_, i) => ({
          ...live.metadata.managedFields![0]!,
          manager: `${manager}${i}`,
          time,
        })),
      },
    })
    const crowd = managed("m", 200, "2026-01-01T00:00:00Z")
    const later = managed("m", 200, "2026-02-01T00:00:00Z")
    expect(
      isWithoutEffect(crowd, {
        ...later,
        metadata: { ...later.metadata, managedFields: later.metadata.managedFields.toReversed() },
      }),
    ).toBe(true)
    expect(isWithoutEffect(crowd, managed("n", 200, "2026-01-01T00:00:00Z"))).toBe(false)
  })
})

describe("the order of merged lists", () => {
  const items = (...names: string[]) => ({
    spec: { template: { spec: { containers: names.map((name) => ({ name })) } } },
  })
  test.each<[string[], string[], string[]]>([
    [
      ["a", "b"],
      ["b", "a"],
      ["b", "a"],
    ],
    [
      ["a", "b", "c"],
      ["c", "a"],
      ["b", "c", "a"],
    ],
    [
      ["a", "x", "b"],
      ["a", "b"],
      ["a", "x", "b"],
    ],
    [
      ["a", "b"],
      ["a", "n", "b"],
      ["a", "n", "b"],
    ],
    [["x"], ["a", "b"], ["x", "a", "b"]],
    [[], ["a"], ["a"]],
    [["a"], ["a"], ["a"]],
  ])("%j and %j are merged to %j", (live, applied, wanted) => {
    const merged = mergeInto(shape, items(...live), items(...applied)) as ReturnType<typeof items>
    expect(merged.spec.template.spec.containers.map(({ name }) => name)).toEqual(wanted)
  })
})

describe("field sets", () => {
  const a: FieldSet = { "f:a": {}, "f:b": { ".": {}, "f:c": {}, "f:d": {} } }
  const b: FieldSet = { "f:b": { "f:c": {} } }
  test("are united, subtracted and intersected by member", () => {
    expect(union(b, { "f:b": {} })).toEqual({ "f:b": { ".": {}, "f:c": {} } })
    expect(difference(a, b)).toEqual({ "f:a": {}, "f:b": { ".": {}, "f:d": {} } })
    expect(difference(b, a)).toEqual({})
    expect(difference(a, { "f:b": {} })).toEqual({ "f:a": {}, "f:b": { "f:c": {}, "f:d": {} } })
    expect(intersection(a, b)).toEqual(b)
    expect(difference(a, { "f:z": {} })).toBe(a)
  })
  test("are distinguished from other values", () => {
    expect(isFieldSet({ 'k:{"name":"a"}': { ".": {} }, "v:1": {}, "i:0": {} })).toBe(true)
    for (const bad of [null, [], { a: {} }, { "f:a": 1 }, { "x:a": {} }]) expect(isFieldSet(bad)).toBe(false)
  })
})

test("random configurations: applying one twice changes nothing more, and the field sets stay valid", () => {
  // given random configurations of random managers
  const random = seededRandom(7)
  const pick = (n: number): number => Math.floor(random.next() * n)
  const maybe = <T>(value: T): T | undefined => (pick(2) === 0 ? value : undefined)
  // An empty list and a zero that Go would leave out are owned but not there (as upstream), so they are not among what
  // is tried.
  const some = (first: string, ...names: string[]): string[] => [first, ...names.filter(() => pick(2) === 0)]
  const randomSpec = () =>
    JSON.parse(
      JSON.stringify({
        replicas: maybe(pick(4)),
        paused: maybe(true),
        template: {
          spec: {
            groups: maybe(some("x", "y", "z")),
            containers: some("a", "b", "c").map((name) => ({
              name,
              image: maybe(`i${pick(3)}`),
              env: maybe(some("A", "B").map((key) => ({ name: key, value: `${pick(2)}` }))),
              ports: maybe([{ containerPort: 1 + pick(3) }]),
              limits: maybe({ cpu: "1" }),
            })),
          },
        },
      }),
    ) as object
  let live = apply(undefined, "m0", {})
  let before: FieldSet | undefined
  for (let i = 0; i < 400; i++) {
    const [manager, spec] = [`m${pick(3)}`, randomSpec()]
    // when one is applied by force, and again
    const once = apply(live, manager, spec, { force: true })
    const twice = apply(once, manager, spec, { now: LATER })
    // then the second changes nothing, everything asked for is there, and what is owned exists
    expect(deepEqual({ ...twice, metadata: {} }, { ...once, metadata: {} })).toBe(true)
    expect(ownedBy(twice, manager)).toEqual(ownedBy(once, manager))
    const { changed } = compare(shape, once, decodeObject(Deployment, mergeInto(shape, once, config(spec))).object)
    expect(pathsOf(changed)).toEqual([])
    const all = compare(shape, {}, once).changed
    // and a new object has what differs from nothing, in the very set of one with the same fields
    const anew = fieldsOfNew(shape, once, before)
    expect(anew).toEqual(all)
    expect(fieldsOfNew(shape, JSON.parse(JSON.stringify(once)) as object, anew)).toBe(anew)
    before = anew
    for (const entry of once.metadata.managedFields ?? []) {
      const paths = pathsOf(difference(entry.fieldsV1 as FieldSet, union(all, fieldSetOf(shape, once))))
      expect(paths).toEqual([])
    }
    live = once
  }
})
