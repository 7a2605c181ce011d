import { expect, test } from "bun:test"
import { inSteps } from "./in-steps.ts"
import { VirtualClock } from "./virtual.ts"

test("long work lets others run after each 10 ms, and gives its result", async () => {
  // given work of 100 steps of 3 ms each
  const clock = new VirtualClock(0)
  let now = 0
  let turns = 0
  function* steps(): Generator<void, string> {
    for (let i = 0; i < 100; i++) {
      now += 3
      yield
    }
    return "done"
  }
  // when
  const result = inSteps(steps(), {
    monotonic: () => now,
    afterTurn(run) {
      turns++
      clock.afterTurn(run)
    },
  })
  await clock.settle()
  // then
  expect(await result).toBe("done")
  expect(turns).toBe(25)
})
