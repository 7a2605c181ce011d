/**
 * The ledger of Gateway API's core profiles: each test of upstream's suite 1.6.1 that needs no feature beyond those of
 * the profiles GATEWAY-HTTP, GATEWAY-GRPC and GATEWAY-TLS, with the file of ours in which a test stands for it.
 */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const ROOT = join(import.meta.dirname, "../../../..")
const ENTRIES = readFileSync(join(import.meta.dirname, "core.tsv"), "utf8")
  .trim()
  .split("\n")
  .slice(1)
  .map((line) => {
    const [name = "", profiles = "", upstream = "", file = ""] = line.split("\t")
    return { name, profiles, upstream, file }
  })

test("the ledger of Gateway API has the 51 tests of the core profiles, each once", () => {
  expect(new Set(ENTRIES.map(({ name }) => name)).size).toBe(51)
  expect(ENTRIES).toHaveLength(51)
})

test.each(ENTRIES)("a test in $file stands for $name", ({ name, file }) => {
  const text = readFileSync(join(ROOT, file), "utf8")
  expect(text.includes(`stands: "${name}"`) || text.includes(`test("${name}: `)).toBe(true)
})

test("the ledger of Gateway API is counted in the README", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8").replaceAll(/\s+/g, " ")
  expect(readme).toContain(`${ENTRIES.length} tests of its core profiles`)
})
