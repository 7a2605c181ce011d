import { expect, test } from "bun:test"
import { runConsistency } from "./run.ts"

/** `npm run hunt -- --consistency --seeds 1000` runs thousands by hand. */
const SEEDS = [1, 2, 3, 4]

test.each(SEEDS)(
  "the responses of three servers to their clients with seed %d are consistent",
  async (seed) => {
    const { problems, operations } = await runConsistency(seed)
    expect(problems).toEqual([])
    expect(operations).toBeGreaterThan(20)
  },
  30_000,
)
