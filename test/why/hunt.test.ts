import { expect, test } from "bun:test"
import { huntOne } from "./hunt/hunt.ts"

/** How many seeds are hunted here; `bun test/why/hunt/main.ts --seeds 1000` takes more. */
const SEEDS = 20

test.each(Array.from({ length: SEEDS }, (_, index) => ({ seed: index + 1 })))(
  "why names the right cause of what a random fault breaks: seed $seed",
  async ({ seed }) => {
    // given a cluster that is well, which is broken in one known way; when somebody asks; then the right cause is first
    expect(await huntOne(seed)).toMatchObject({ seed, right: true, wrong: [] })
  },
)
