import { describe, expect, test } from "bun:test"
import type { ApiError } from "../errors.ts"
import { applyJsonPatch } from "./json.ts"

describe("JSON patch", () => {
  test.each<[string, unknown, unknown[], unknown]>([
    ["adds a key", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["inserts into a list", { a: [1, 3] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2, 3] }],
    ["appends to a list", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    ["adds in place of an existing value", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
    [
      "removes a key and an item",
      { a: [1, 2], b: 1 },
      [
        { op: "remove", path: "/a/0" },
        { op: "remove", path: "/b" },
      ],
      { a: [2] },
    ],
    ["counts negative indices from the end", { a: [1, 2] }, [{ op: "remove", path: "/a/-1" }], { a: [1] }],
    ["replaces", { a: { b: 1 } }, [{ op: "replace", path: "/a/b", value: { c: null } }], { a: { b: { c: null } } }],
    ["replaces an item in its place", { a: [1, 2, 3] }, [{ op: "replace", path: "/a/1", value: 9 }], { a: [1, 9, 3] }],
    ["replaces the whole document", { a: 1 }, [{ op: "replace", path: "", value: { b: 2 } }], { b: 2 }],
    ["replaces a key that is missing", { a: 1 }, [{ op: "replace", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["copies a key that is missing as null", { a: 1 }, [{ op: "copy", from: "/b", path: "/c" }], { a: 1, c: null }],
    ["ignores text before the first slash of a path", { a: 1 }, [{ op: "replace", path: "x/a", value: 2 }], { a: 2 }],
    ["appends by the last negative index", { a: [1] }, [{ op: "add", path: "/a/-1", value: 2 }], { a: [1, 2] }],
    ["moves", { a: { x: 1 }, b: {} }, [{ op: "move", from: "/a/x", path: "/b/y" }], { a: {}, b: { y: 1 } }],
    ["copies", { a: 1 }, [{ op: "copy", from: "/a", path: "/b" }], { a: 1, b: 1 }],
    [
      "continues after a test that succeeds",
      { a: { b: [1] } },
      [
        { op: "test", path: "/a", value: { b: [1] } },
        { op: "remove", path: "/a" },
      ],
      {},
    ],
    ["treats a missing value as null in a test", {}, [{ op: "test", path: "/a", value: null }], {}],
    [
      "unescapes ~1 and ~0",
      { "a/b": 1, "c~d": 2 },
      [
        { op: "remove", path: "/a~1b" },
        { op: "remove", path: "/c~0d" },
      ],
      {},
    ],
    [
      "sets the key __proto__ as a key",
      {},
      [{ op: "add", path: "/__proto__", value: { x: 1 } }],
      JSON.parse('{"__proto__":{"x":1}}'),
    ],
  ])("%s", (_title, document, patch, wanted) => {
    const frozen = structuredClone(document)
    expect(applyJsonPatch(document, patch)).toEqual(wanted)
    expect(document).toEqual(frozen)
  })

  test.each<[unknown[], string]>([
    [
      [{ op: "remove", path: "/x" }],
      "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
    ],
    [[{ op: "remove", path: "/x/y" }], 'remove operation does not apply: doc is missing path: "/x/y": missing value'],
    [[{ op: "remove", path: "/a/b" }], `error in remove for path: '/a/b': strconv.Atoi: parsing "b": invalid syntax`],
    [
      [{ op: "replace", path: "/a/1", value: 1 }],
      "replace operation does not apply: doc is missing key: /a/1: missing value",
    ],
    [
      [{ op: "replace", path: "/x/y", value: 1 }],
      "replace operation does not apply: doc is missing path: /x/y: missing value",
    ],
    [[{ op: "replace", path: "", value: 1 }], "replace operation value must be object or array"],
    [
      [{ op: "add", path: "/x/y", value: 1 }],
      'add operation does not apply: doc is missing path: "/x/y": missing value',
    ],
    [[{ op: "add", path: "", value: {} }], 'add operation does not apply: doc is missing path: "": missing value'],
    [
      [{ op: "add", path: "/a/7", value: 1 }],
      "error in add for path: '/a/7': Unable to access invalid index: 7: invalid index referenced",
    ],
    [
      [{ op: "add", path: "/a/b", value: 1 }],
      `error in add for path: '/a/b': value was not a proper array index: 'b': strconv.Atoi: parsing "b": invalid syntax`,
    ],
    [[{ op: "test", path: "/a/0", value: 2 }], "testing value /a/0 failed: test failed"],
    [[{ op: "test", path: "/x/y", value: 2 }], "test operation does not apply: is missing path: /x/y: missing value"],
    [
      [{ op: "test", path: "/a/4", value: 2 }],
      "error in test for path: '/a/4': Unable to access invalid index: 4: invalid index referenced",
    ],
    [
      [{ op: "copy", from: "/x/y", path: "/y" }],
      "copy operation does not apply: doc is missing from path: /x/y: missing value",
    ],
    [
      [{ op: "copy", from: "/a", path: "/x/y" }],
      "copy operation does not apply: doc is missing destination path: /x/y: missing value",
    ],
    [
      [{ op: "move", from: "/a", path: "/a/b" }],
      "move operation does not apply: doc is missing destination path: /a/b: missing value",
    ],
    [
      [{ op: "move", from: "/x", path: "/y" }],
      "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
    ],
    [[{ op: "jump", path: "/a" }], "Unexpected kind: jump"],
    [[{ path: "/a" }], "Unexpected kind: unknown"],
    [[{ op: "add", value: 1 }], "add operation failed to decode path: operation missing path field: missing value"],
    [
      [{ op: "copy", path: "/a" }],
      "copy operation failed to decode from: operation, missing from field: missing value",
    ],
  ])("refuses %j with 422", (patch, why) => {
    try {
      applyJsonPatch({ a: [1] }, patch)
      throw new Error("nothing was thrown")
    } catch (err) {
      const { code, message, details, cause } = err as ApiError
      expect(code).toBe(422)
      expect(message).toBe("the server rejected our request due to an error in our request")
      expect(details).toEqual({})
      expect(cause).toBe(why)
    }
  })

  test("refuses a patch that is no list or too long", () => {
    expect(() => applyJsonPatch({}, {})).toThrow("error decoding patch")
    expect(() => applyJsonPatch({}, Array(10_001).fill({ op: "test", path: "/a", value: null }))).toThrow(
      "The allowed maximum operations in a JSON patch is 10000, got 10001",
    )
  })

  test("changes only one of two copies", () => {
    expect(
      applyJsonPatch({ a: { b: [1] } }, [
        { op: "add", path: "/a/b/-", value: 2 },
        { op: "copy", from: "/a", path: "/c" },
        { op: "add", path: "/a/b/-", value: 3 },
        { op: "copy", from: "/c", path: "/a/d" },
        { op: "remove", path: "/c/b/0" },
      ]),
    ).toEqual({ a: { b: [1, 2, 3], d: { b: [1, 2] } }, c: { b: [2] } })
  })

  const doubling = Array.from({ length: 22 }, (_, i) => ({ op: "copy", from: "/a", path: `/a/x${i}` }))
  const longList = Array(100_000).fill(0)
  const copying = Array.from({ length: 9_001 }, (_, i) => ({ op: "copy", from: "/a", path: `/x${i}` }))
  test.each<[string, unknown, readonly object[], string]>([
    ["copies that double", { a: { x: "0123456789" } }, doubling, "the accumulated size increase of copy is "],
    ["copies of a large value", { a: "x".repeat(10_000) }, copying, "exceeding the limit 3145728"],
  ])("refuses %s, since the patch cannot be applied", (_title, document, patch, why) => {
    const refused = thrownBy(() => applyJsonPatch(document, patch))
    expect(refused).toMatchObject({ code: 422, reason: "Invalid" })
    expect(refused.cause).toContain(why)
  })

  test("refuses thousands of insertions before a long list with 413", () => {
    const patch = Array(10_000).fill({ op: "add", path: "/a/0", value: 1 })
    const refused = thrownBy(() => applyJsonPatch({ a: longList }, patch))
    expect(refused).toMatchObject({ code: 413, reason: "RequestEntityTooLarge" })
    expect(refused.message).toContain("shift more than 50000000 list items")
  })

  test("copies a large document once, however many operations change it", () => {
    // given as many keys and operations as there may be
    const document = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`key${i}`, { value: i }]))
    const patch = Array.from({ length: 10_000 }, (_, i) => ({ op: "replace", path: `/key${i}/value`, value: -i }))
    const processorMs = (operations: readonly object[]) => {
      const began = process.cpuUsage()
      const result = applyJsonPatch(document, operations) as typeof document
      const { user, system } = process.cpuUsage(began)
      return { result, ms: (user + system) / 1000 }
    }
    // when one operation is applied, and then all
    const { ms: one } = processorMs(patch.slice(0, 1))
    const { result, ms: all } = processorMs(patch)
    // then all take a little longer; copying each time would take 10,000 times as long
    expect(all / Math.max(one, 1)).toBeLessThan(1000)
    expect(result["key7"]).toEqual({ value: -7 })
    expect(result["key20000"]).toBe(document["key20000"]!)
  })
})

function thrownBy(run: () => unknown): ApiError {
  try {
    run()
  } catch (err) {
    return err as ApiError
  }
  throw new Error("nothing was thrown")
}
