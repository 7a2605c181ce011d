import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

test("bun test prints the assertion first, and then what the end of the cluster has found", () => {
  // given a test that fails, and leaves a timer
  const folder = mkdtempSync(join(tmpdir(), "k3ts-suppressed-"))
  const testing = JSON.stringify(join(import.meta.dirname, "../testing.ts"))
  writeFileSync(
    join(folder, "fails.test.ts"),
    `import { expect, test } from "bun:test"
import { startCluster } from ${testing}
test("fails", async () => {
  await using cluster = await startCluster()
  cluster.contextFor().clock.setTimeout(() => {}, 3_600_000)
  expect("what is").toBe("what should be")
})
`,
  )
  // when
  const { stderr } = spawnSync(process.execPath, ["test", folder], { encoding: "utf8" })
  rmSync(folder, { recursive: true })
  // then
  const assertion = stderr.indexOf('Expected: "what should be"')
  const line = stderr.indexOf("fails.test.ts:6")
  const left = stderr.indexOf("1 timer was left")
  expect([assertion, line, left].every((at) => at > 0)).toBe(true)
  expect(assertion).toBeLessThan(line)
  expect(line).toBeLessThan(left)
})
