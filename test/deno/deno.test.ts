import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const root = join(import.meta.dirname, "../..")
const deno = join(root, "node_modules/.bin/deno")
const PARTS = ["pkg/clock", "components/cluster/testing", "test/examples"]
/** Tests about the runner of Bun, for which nothing stands in. */
const OF_BUN = [
  "pkg/clock/macrotask.test.ts",
  "components/cluster/testing/end/suppressed.test.ts",
  "test/examples/matchers.test.ts",
]
/** The files of the tests. (`--ignore` of Deno does not leave out what lies directly in a folder that it is given.) */
const testFiles = (): readonly string[] =>
  PARTS.flatMap((part) =>
    readdirSync(join(root, part), { recursive: true, encoding: "utf8" }).map((name) => join(part, name)),
  ).filter((path) => path.endsWith(".test.ts") && !OF_BUN.includes(path))
const MINUTES_5 = 300_000

if (!existsSync(deno))
  console.error(`SKIPPED: ${deno} is missing, so nothing shows that k3ts/testing runs under Deno: npm install`)

test.skipIf(!existsSync(deno))(
  "k3ts/testing and its tests run under Deno too",
  () => {
    // given the same tests, over what stands in for bun:test. Deno loads all modules again for each file that it is
    // given, which takes as long as the tests: so one file has them all.
    const folder = mkdtempSync(join(tmpdir(), "k3ts-deno-"))
    const all = join(folder, "all.test.ts")
    writeFileSync(
      all,
      testFiles()
        .map((path) => `import "${pathToFileURL(join(root, path)).href}"\n`)
        .join(""),
    )
    const args = ["test", "--no-check", "--no-lock", "-A", "--config", "test/deno/deno.json", all]
    // when
    const { status, stdout, stderr } = spawnSync(deno, args, {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, NO_COLOR: "1" },
      timeout: MINUTES_5,
    })
    rmSync(folder, { recursive: true })
    // then
    if (status !== 0) console.error(stdout, stderr)
    expect(status).toBe(0)
    expect(stdout).toMatch(/\d+ passed .*\| 0 failed/)
  },
  MINUTES_5,
)
