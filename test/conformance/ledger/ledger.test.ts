import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { countOf, readLedger } from "./ledger.ts"
import { outcomesOf } from "./report.ts"

const TESTS = join(import.meta.dirname, "../..")
const entries = readLedger()

/** Whether the text of a test file has this title, or a `test.each` pattern that makes it. */
function hasTitle(text: string, title: string): boolean {
  const quoted = [`"${title.replaceAll('"', String.raw`\"`)}"`, `'${title}'`, `\`${title}\``]
  const patterns = [...text.matchAll(/"([^"\n]+)%s"|`([^`$\n]+)\$\{[^}]*\}`/g)].map(([, of, or]) => of ?? or ?? "")
  return quoted.some((literal) => text.includes(literal)) || patterns.some((start) => title.startsWith(start))
}

describe("the ledger", () => {
  test("has each of the 446 entries of Kubernetes 1.36 and of the 3 that 1.37 adds once", () => {
    expect(entries).toHaveLength(449)
    expect(new Set(entries.map(({ codename }) => codename)).size).toBe(449)
    expect(entries.filter(({ release }) => release.includes("v1.37"))).toHaveLength(3)
  })

  test("names tests that exist", () => {
    const texts = new Map<string, string | undefined>()
    const textOf = (file: string) => {
      const path = join(TESTS, file)
      if (!texts.has(file)) texts.set(file, existsSync(path) ? readFileSync(path, "utf8") : undefined)
      return texts.get(file)
    }
    const absent = entries.filter(
      ({ standIn }) => standIn !== undefined && !hasTitle(textOf(standIn.file) ?? "", standIn.title),
    )
    expect(absent.map(({ standIn }) => standIn)).toEqual([])
  })

  test("is counted in the README", () => {
    const readme = readFileSync(join(TESTS, "../README.md"), "utf8")
    expect(/cover (\d+ of \d+) entries/.exec(readme.replaceAll("\n", " "))?.[1]).toBe(countOf(entries))
  })
})

test("the results of a run are read from the report of bun test", () => {
  const report = `<testsuites><testsuite>
    <testcase name="a &quot;quoted&quot; title" file="test/a.test.ts" time="1" />
    <testcase name="fails" file="test/a.test.ts"><failure message="no" /></testcase>
    <testcase name="lacks a node" file="test/b.test.ts"><skipped /></testcase>
  </testsuite></testsuites>`
  expect([...outcomesOf(report)]).toEqual([
    ['a.test.ts\ta "quoted" title', "passed"],
    ["a.test.ts\tfails", "failed"],
    ["b.test.ts\tlacks a node", "skipped"],
  ])
})
