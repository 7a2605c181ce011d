import { expect, test } from "bun:test"
import { containingClock } from "../../../pkg/clock/containing.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { Watchdog, type Watched } from "./watchdog.ts"

test("a deadline whose handler throws keeps no other from being handled, and its error is not lost", async () => {
  // given three with the same deadline, and one with a later one
  const errors: unknown[] = []
  const clock = new VirtualClock(0)
  const watchdog = new Watchdog(containingClock(clock, (err) => errors.push(err)))
  const handled: string[] = []
  const watch = (name: string, ms: number) => {
    const watched: Watched = {
      due: Infinity,
      place: -1,
      overdue() {
        handled.push(name)
        watchdog.remove(watched)
        if (name === "bad") throw new Error("a mistake")
      },
    }
    watchdog.add(watched, ms)
  }
  for (const name of ["a", "bad", "b"]) watch(name, 100)
  watch("later", 200)
  // when
  await clock.advance(1000)
  // then
  expect(handled.toSorted()).toEqual(["a", "b", "bad", "later"])
  expect(errors).toHaveLength(1)
})
