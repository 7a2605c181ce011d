import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

/** `npm run hunt -- --seeds 5000` runs thousands by hand. */
const SEEDS = Number(process.env["K3TS_HUNT_SEEDS"] ?? 200)

test(`${SEEDS} seeds of random work with random faults violate no invariant`, () => {
  const main = fileURLToPath(new URL("main.ts", import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, "--seeds", String(SEEDS), "--shrink", "20"], {
    encoding: "utf8",
  })
  expect(`${stdout}${stderr}`).toContain(`${SEEDS} seeds passed, 0 failed`)
  expect(status).toBe(0)
}, 500_000)
