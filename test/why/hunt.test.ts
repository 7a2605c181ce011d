import { expect, test } from "bun:test"
import { huntOne } from "./hunt/hunt.ts"

/** `npm run test:long` hunts 200 seeds, `bun test/why/hunt/main.ts --seeds 1000` as many as one likes. */
const SEEDS = Number(process.env["K3TS_WHY_SEEDS"] ?? 8)
/** Whether each mend that is named is tried in a copy, and one of them is made. */
const MENDS = process.env["K3TS_WHY_MENDS"] === "1"

test.each(Array.from({ length: SEEDS }, (_, index) => ({ seed: index + 1 })))(
  "why names the right cause of what a random fault breaks: seed $seed",
  async ({ seed }) => {
    // given a cluster that is well, which is broken in one known way; when somebody asks; then the right cause is first
    expect(await huntOne(seed, { mends: MENDS })).toMatchObject({ seed, right: true, wrong: [], useless: [] })
  },
)
