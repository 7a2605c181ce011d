import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { usersInTokenFile } from "./token-file.ts"

const dir = mkdtempSync(join(tmpdir(), "token-file-"))
afterAll(() => rmSync(dir, { recursive: true }))
const users = (text: string) => {
  const file = join(dir, "tokens.csv")
  writeFileSync(file, text)
  return Object.fromEntries(usersInTokenFile(file))
}

describe("a file of tokens", () => {
  test("has a user on each line, whose groups may be several in quotes", () => {
    expect(users('a,jane,1,"dev,ops"\r\n\nb,joe,\n"c","say ""hi""",3,dev')).toEqual({
      a: { name: "jane", uid: "1", groups: ["dev", "ops"] },
      b: { name: "joe", groups: [] },
      c: { name: 'say "hi"', uid: "3", groups: ["dev"] },
    })
  })

  test("knows a token by its last line, and no empty token", () => {
    expect(users("a,jane,1\n,root,0,system:masters\na,joe,2\n")).toEqual({
      a: { name: "joe", uid: "2", groups: [] },
    })
  })

  test.each([
    [
      "a line with two columns",
      "a,jane,1\n\nb,joe\n",
      ":3: must have at least 3 columns (token, user name, user uid), found 2",
    ],
    ["a quote that does not end", 'a,jane,1\nb,joe,2,"dev', ":2: has a quote that does not end"],
    ["text after a quote", 'a,"ja\nne"x,1', ":2: has text after the quote that ends a column"],
    ["a quote inside of a column", 'a,ja"ne,1', ":1: has a quote inside of a column"],
  ])("with %s is refused with its line", (_what, text, why) => {
    expect(() => users(text)).toThrow(`tokens.csv${why}`)
  })

  test("that is not there is named", () => {
    expect(() => usersInTokenFile(join(dir, "none"))).toThrow("none: ENOENT")
  })
})
