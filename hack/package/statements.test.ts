import { describe, expect, test } from "bun:test"
import { readDeclarations, withoutComments, wordsOf } from "./statements.ts"

const TEXT = `import "./first.ts";
import type { A, B as Other } from "./a.ts";
/** The file. */
/** A type. */
export type Way = {
    readonly one: A;
}
/** In the middle of it. */
 | import("./b.ts").B;
export { type C, d } from "./c.ts";
export type { Other };
/** A function
 * with two forms. */
export declare function call(a: string, 
/** A parameter. */
written?: Way): void;
export declare function call(a: number): void;
interface Hidden {
    "quoted A": Other;
}
export {};
`

describe("a file of declarations", () => {
  const { imports, reexports, statements } = readDeclarations("x.ts", TEXT)

  test("is split into statements, each with its own comment", () => {
    expect(statements.map(({ name }) => name)).toEqual(["Way", "call", "call", "Hidden"])
    expect(statements[0]?.text).toStartWith("/** A type. */\nexport type Way")
    expect(statements[0]?.text).toEndWith(`| import("./b.ts").B;`)
    expect(statements[1]?.text).toContain("written?: Way): void;")
  })

  test("has imports and re-exports, which are listed", () => {
    expect([...imports]).toEqual([
      ["A", { from: "./a.ts", name: "A", isType: true }],
      ["Other", { from: "./a.ts", name: "B", isType: true }],
    ])
    expect([...reexports]).toEqual([
      ["C", { from: "./c.ts", name: "C", isType: true }],
      ["d", { from: "./c.ts", name: "d", isType: false }],
      ["Other", { from: "./a.ts", name: "B", isType: true }],
    ])
  })

  test("with an unknown form of a statement is refused", () => {
    expect(() => readDeclarations("x.ts", "export default 5;\n")).toThrow("x.ts: cannot read the declaration")
  })
})

test("the words of a statement exclude comments, strings and names after a dot", () => {
  expect([...wordsOf(`/** B */ type A = C["D"] | E.F;`)]).toEqual(["type", "A", "C", "E"])
})

test("comments are removed from a statement with their lines", () => {
  expect(withoutComments("/** A. */\ninterface A {\n    /** B. */\n    b: 1;\n}")).toBe("interface A {\n    b: 1;\n}")
})
