import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { difference } from "./inventory.ts"
import { sumOf } from "./origins/had.ts"
import { PROGRAMS } from "./programs/programs.ts"
import { errorsIn } from "./server-log.ts"
import { rowsOf, withVerdicts, type Verdict } from "./verdicts.ts"

const names = PROGRAMS.map(({ name }) => name)
const page = readFileSync(join(import.meta.dirname, "../../docs/ecosystem.md"), "utf8")

const verdict = (program: string, said: string): Verdict => ({
  program,
  version: "v1",
  from: "go install x@v1",
  shows: "that it runs",
  on: "a node",
  date: "2026-01-01",
  verdict: said,
})

test("docs/ecosystem.md has a verdict about each program, in its pinned version", () => {
  // Given the page, which the runs write
  const rows = rowsOf(page)
  // Then
  expect([...rows.keys()]).toEqual(names)
  for (const { name, from } of PROGRAMS) expect(rows.get(name)).toContain(`| ${from[0].version} |`)
})

test("a verdict takes the place of the one before it, in the order of the programs, and leaves the text around", () => {
  // Given a page with a table
  const head = page.split("\n").find((line) => line.startsWith("| program |"))!
  const before = withVerdicts(
    `Before\n\n${head}\n| --- |\n\nAfter\n`,
    [verdict("b", "runs"), verdict("gone", "runs")],
    ["b", "gone"],
  )
  // When other verdicts come, and one program is tested no more
  const after = withVerdicts(before, [verdict("a", "runs"), verdict("b", "fails: a | b")], ["a", "b"])
  // Then
  expect(after.split("\n").filter((line) => !line.startsWith("| ---") && line !== head)).toEqual([
    "Before",
    "",
    "| a | v1 | `go install x@v1` | that it runs | a node | 2026-01-01 | runs |",
    "| b | v1 | `go install x@v1` | that it runs | a node | 2026-01-01 | fails: a \\| b |",
    "",
    "After",
    "",
  ])
})

test("what a removal leaves, and what it takes with it, is named", () => {
  expect(difference(["Pod.v1 a/x", "Pod.v1 a/y"], ["Pod.v1 a/x", "Secret.v1 a/z"])).toEqual([
    "- Pod.v1 a/y",
    "+ Secret.v1 a/z",
  ])
})

test("errors in a server's log are its lines of level ERROR, not lines about errors", () => {
  const log = `2026-01-01T00:00:00.000Z INFO  Started ERROR=none
2026-01-01T00:00:00.001Z WARN  Retrying error="ERROR x"
2026-01-01T00:00:00.002Z ERROR Cannot write the store error=EIO
    at a line of a stack
`
  expect(errorsIn(log)).toEqual(["2026-01-01T00:00:00.002Z ERROR Cannot write the store error=EIO"])
})

test("each program comes from a pinned version with a sum, and no two have one name", () => {
  expect(new Set(names).size).toBe(names.length)
  for (const { from } of PROGRAMS)
    for (const origin of from) expect(sumOf(origin)).toMatch(/^(h1:[\w+/]{43}=|[0-9a-f]{64}|sha512-[\w+/]{86}==)$/)
})
