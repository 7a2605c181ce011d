import { afterAll, beforeAll, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const SCRIPT = join(import.meta.dirname, "identity.sh")

let checkout: string
beforeAll(() => {
  checkout = mkdtempSync(join(tmpdir(), "k3ts-identity-"))
  write("package.json", '{\n  "version": "1.2.3",\n}\n')
  for (const path of ["cmd/main.ts", "hack/compile.sh", "docs/page.md"]) write(path, "")
  git("init", "--quiet")
  git("add", "--all")
  git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=first")
})
afterAll(() => rmSync(checkout, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(checkout, path)), { recursive: true })
  writeFileSync(join(checkout, path), text)
}

const git = (...args: readonly string[]) => execFileSync("git", ["-C", checkout, ...args])

test.each([
  { title: "clean without changes", path: "cmd/main.ts", text: "", wants: "1.2.3 clean" },
  { title: "clean with a changed page of the documentation", path: "docs/page.md", text: "new", wants: "1.2.3 clean" },
  { title: "dirty with a changed source file", path: "cmd/main.ts", text: "new", wants: "1.2.3 dirty" },
  { title: "dirty with a changed compile script", path: "hack/compile.sh", text: "new", wants: "1.2.3 dirty" },
])("an executable counts as $title", ({ path, text, wants }) => {
  write(path, text)
  const print = `set -eu; source "${SCRIPT}"; echo "$version $tree_state"`
  expect(execFileSync("bash", ["-c", print], { cwd: checkout, encoding: "utf8" })).toBe(`${wants}\n`)
  write(path, "")
})
