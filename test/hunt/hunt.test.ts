import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

/** `npm run test:long` runs 1,000, `npm run hunt -- --seeds 5000` as many as one likes. */
const SEEDS = Number(process.env["K3TS_HUNT_SEEDS"] ?? 24)

const main = fileURLToPath(new URL("main.ts", import.meta.url))
/** Seeds that run twice, as `npm run hunt -- --both-ways --seeds 300` does by hand. */
const TWICE = 6

test(
  `${SEEDS} seeds of random work with random faults violate no invariant`,
  () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, "--seeds", String(SEEDS), "--shrink", "20"], {
      encoding: "utf8",
    })
    expect(`${stdout}${stderr}`).toContain(`${SEEDS} seeds passed, 0 failed`)
    expect(status).toBe(0)
  },
  Math.max(300_000, SEEDS * 2500),
)

test(`${TWICE} seeds have the same history with all probes as without those that change nothing`, () => {
  const args = [main, "--both-ways", "--seeds", String(TWICE), "--from", "501", "--shrink", "20"]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" })
  expect(`${stdout}${stderr}`).toContain(`${TWICE} seeds passed, 0 failed`)
  expect(status).toBe(0)
}, 300_000)
