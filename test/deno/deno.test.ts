import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const deno = join(root, "node_modules/.bin/deno")
const PARTS = ["pkg/clock", "components/cluster/testing", "test/examples"]
const MINUTES_3 = 180_000

if (!existsSync(deno))
  console.error(`SKIPPED: ${deno} is missing, so nothing shows that k3ts/testing runs under Deno: npm install`)

test.skipIf(!existsSync(deno))(
  "k3ts/testing and its tests run under Deno too",
  () => {
    // given the same tests, over what stands in for bun:test
    const args = ["test", "--no-check", "--no-lock", "-A", "--config", "test/deno/deno.json", ...PARTS]
    // when
    const { status, stdout, stderr } = spawnSync(deno, args, {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, NO_COLOR: "1" },
      timeout: MINUTES_3,
    })
    // then
    if (status !== 0) console.error(stdout, stderr)
    expect(status).toBe(0)
    expect(stdout).toMatch(/\d+ passed .*\| 0 failed/)
  },
  MINUTES_3,
)
