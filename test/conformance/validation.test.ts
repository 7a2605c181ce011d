import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { serverInProcess } from "./validation/in-process.ts"
import { compareWithRecorded, tableOf, type Comparison } from "./validation/summary.ts"

const PAGE = join(import.meta.dirname, "../../docs/compatibility.md")
const SHOWN = 20

describe("for some 36,000 objects with a recorded verdict of a Kubernetes API server", () => {
  const abort = new AbortController()
  let comparison: Comparison
  beforeAll(async () => {
    comparison = await compareWithRecorded(await serverInProcess(abort.signal))
  }, 120_000)
  afterAll(() => abort.abort())

  test("objects are accepted, completed and refused as docs/compatibility.md says", () => {
    const { counts, differences } = comparison
    const page = readFileSync(PAGE, "utf8")
    const table = tableOf(counts)
    if (!page.includes(table)) {
      console.error(
        `The table is not true any more: run \`bun hack/compare/compatibility.ts\` and read what it changes.`,
      )
      console.error(`${differences.length} differences, of which ${SHOWN}:`)
      for (const { title, wants, found } of differences.slice(0, SHOWN))
        console.error(`${title}\n  wants ${wants}\n  found ${found}`)
    }
    expect(page).toContain(table)
  })

  test("no response is an internal error", () => {
    const broken = comparison.differences.filter(
      ({ found, wants }) => found.startsWith("500") && !wants.startsWith("500"),
    )
    expect(broken.map(({ title, found }) => `${title}: ${found}`)).toEqual([])
  })
})
