import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { licencesOf } from "./licenses.ts"

let root: string
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "licences-"))))
afterEach(() => rmSync(root, { recursive: true }))

function library(files: Readonly<Record<string, string>>): void {
  mkdirSync(join(root, "lib"))
  writeFileSync(join(root, "lib/package.json"), JSON.stringify({ name: "lib", version: "1.0.0", license: "MIT" }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, "lib", name), text)
}

test.each([
  { title: "its licence file", given: { LICENSE: "Copyright A\n", "README.md": "# lib\n\n## License\n\nMIT\n" } },
  { title: "the last section of its README", given: { "README.md": "# lib\n\n## License\n\nCopyright A\n" } },
])("the licence of a library is read from $title", async ({ given }) => {
  library(given)
  expect(await licencesOf(root, ["lib"])).toEndWith("lib 1.0.0 (MIT)\n\nCopyright A\n")
})

test.each([
  { title: "has no licence", given: {} },
  { title: "has only the name of a licence", given: { "README.md": "# lib\n\n## License\n\nMIT\n" } },
])("a library that $title is refused", async ({ given }) => {
  library(given)
  expect(await licencesOf(root, ["lib"]).catch((err: Error) => err.message)).toBe(
    "lib: the text of its licence (MIT) is not in its package",
  )
})
