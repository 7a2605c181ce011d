import { describe, expect, test } from "bun:test"
import { unifiedDiff } from "./unified-diff.ts"

const many = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, i]))

const ROWS = [
  { title: "nothing if nothing differs", given: [{ a: 1 }, { a: 1 }], wants: "" },
  {
    title: "one changed value in a short object",
    given: [
      { a: [1, 2], b: "x" },
      { a: [1], b: "x" },
    ],
    wants: '@@ -1,7 +1,6 @@\n {\n  "a": [\n-  1,\n-  2\n+  1\n  ],\n  "b": "x"\n }\n',
  },
  {
    title: "one changed value in the middle of a long object",
    given: [
      { ...many(5), m: 1, ...many(0), z0: 0, z1: 1, z2: 2, z3: 3 },
      { ...many(5), m: 2, ...many(0), z0: 0, z1: 1, z2: 2, z3: 3 },
    ],
    wants:
      '@@ -4,7 +4,7 @@\n  "k2": 2,\n  "k3": 3,\n  "k4": 4,\n- "m": 1,\n+ "m": 2,\n  "z0": 0,\n  "z1": 1,\n  "z2": 2,\n',
  },
  {
    title: "two changed values far apart",
    given: [
      { first: 1, ...many(9), last: 1 },
      { first: 2, ...many(9), last: 2 },
    ],
    wants:
      '@@ -1,5 +1,5 @@\n {\n- "first": 1,\n+ "first": 2,\n  "k0": 0,\n  "k1": 1,\n  "k2": 2,\n@@ -9,5 +9,5 @@\n  "k6": 6,\n  "k7": 7,\n  "k8": 8,\n- "last": 1\n+ "last": 2\n }\n',
  },
] as const

describe("a unified difference shows", () => {
  test.each([...ROWS])("$title", ({ given: [before, after], wants }) => {
    expect(unifiedDiff(before, after)).toBe(wants)
  })
})
