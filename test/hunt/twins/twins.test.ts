import { expect, test } from "bun:test"
import { runTwins } from "./run.ts"

/** More are run by hand: `npm run hunt -- --twins --seeds 50`. */
test("no pod of a StatefulSet runs twice while nodes and servers are cut off", async () => {
  const { problems, starts } = await runTwins(1)
  expect(problems).toEqual([])
  expect(starts).toBeGreaterThan(3)
}, 60_000)
