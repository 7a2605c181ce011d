import { describe, expect, test } from "bun:test"
import { codeOf, importsOf, SourceFile } from "./source.ts"

describe("importsOf", () => {
  test("finds every form of import, types included, with its line", () => {
    const text = [
      'import { a } from "./a.ts"',
      "import type { B } from './b.ts'",
      "import {",
      "  c,",
      '} from "../c/c.ts"',
      'export * from "./d.ts"',
      'import "./e.ts"',
      'const f = await import("./f.ts")',
      'type G = import("./g.ts").G',
      'import page from "./page.html" with { type: "text" }',
    ].join("\n")

    expect(importsOf(new SourceFile("a.ts", text)).map(({ specifier, line }) => `${line} ${specifier}`)).toEqual([
      "1 ./a.ts",
      "2 ./b.ts",
      "5 ../c/c.ts",
      "6 ./d.ts",
      "7 ./e.ts",
      "8 ./f.ts",
      "9 ./g.ts",
      "10 ./page.html",
    ])
  })

  test("finds no import in a comment or a string", () => {
    const text = [
      '// import "./a.ts"',
      '/* from "./b.ts" */',
      `const c = 'import "./c.ts"'`,
      'const d = `from "./d.ts"`',
    ].join("\n")
    expect(importsOf(new SourceFile("a.ts", text))).toEqual([])
  })
})

describe("codeOf", () => {
  test.each([
    ["a // b", "a     "],
    ["a // b\\\nc", "a      \nc"],
    ["a /* b\nc */ d", "a     \n     d"],
    ['f("a // b") // c', 'f("      ")     '],
    ['"a\\"b" + c', '"    " + c'],
    ["'it\"s' + c", "'    ' + c"],
    ["`a ${b + `c ${d}` + {}} e` + f", "`  ${b + `  ${d}` + {}}  ` + f"],
    ["`$ ${a}$` + b", "`  ${a} ` + b"],
    ["x = /['\"]/g; y", "x = /    /g; y"],
    ["x = /[/]/.test(y)", "x = /   /.test(y)"],
    ["return /\\//.test(y)", "return /  /.test(y)"],
    ["a / b / c // d", "a / b / c     "],
    ["(a) / b; 'c'", "(a) / b; ' '"],
  ])("keeps the code of %p and blanks comments and strings", (text, code) => {
    expect(codeOf(text)).toBe(code)
  })
})
