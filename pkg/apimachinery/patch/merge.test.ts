import { describe, expect, test } from "bun:test"
import { applyMergePatch } from "./merge.ts"

describe("JSON merge patch", () => {
  // The cases of RFC 7386 appendix A whose document and patch are objects, then our own.
  test.each<[string, object, object, object]>([
    ["replaces a value", { a: "b" }, { a: "c" }, { a: "c" }],
    ["adds a value", { a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    ["removes a value", { a: "b" }, { a: null }, {}],
    ["removes one of two values", { a: "b", b: "c" }, { a: null }, { b: "c" }],
    ["replaces a list by text", { a: ["b"] }, { a: "c" }, { a: "c" }],
    ["replaces text by a list", { a: "c" }, { a: ["b"] }, { a: ["b"] }],
    ["merges objects", { a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    ["replaces lists as a whole", { a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    ["keeps nulls of the document", { e: null }, { a: 1 }, { e: null, a: 1 }],
    ["drops nulls for missing values", {}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    ["keeps nulls inside lists", {}, { a: [null, { b: null }] }, { a: [null, { b: null }] }],
    ["replaces text by an object", { a: "x" }, { a: { b: 1 } }, { a: { b: 1 } }],
  ])("%s", (_title, document, patch, wanted) => {
    expect(applyMergePatch(document, patch)).toEqual(wanted)
  })

  test("shares unchanged parts, and returns the same document if nothing changes", () => {
    const document = { metadata: { labels: { a: "b" } }, spec: { x: 1 } }
    expect(applyMergePatch(document, { spec: { x: 1 }, gone: null })).toBe(document)
    expect((applyMergePatch(document, { spec: { x: 2 } }) as typeof document).metadata).toBe(document.metadata)
  })

  test("refuses a patch that is no object", () => {
    expect(() => applyMergePatch({}, [])).toThrow("must be an object")
  })
})
