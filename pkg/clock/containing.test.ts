import { expect, test } from "bun:test"
import { containingClock } from "./containing.ts"
import { Deadlines } from "./deadlines.ts"
import { VirtualClock } from "./virtual.ts"

function stage() {
  const virtual = new VirtualClock(0)
  const failures: string[] = []
  return { virtual, failures, clock: containingClock(virtual, (err) => failures.push((err as Error).message)) }
}
const fail = (message: string) => () => {
  throw new Error(message)
}

test("a timer that throws does not keep other timers, turns or rests from running", async () => {
  // given
  const { virtual, failures, clock } = stage()
  const ran: string[] = []
  clock.setTimeout(fail("timer"), 10)
  clock.setTimeout(() => ran.push("timer"), 10)
  clock.afterTurn(fail("turn"))
  clock.afterTurn(() => ran.push("turn"))
  clock.atRest(fail("rest"))
  clock.atRest(() => ran.push("rest"))
  clock.setTimeout(fail("cancelled"), 10).cancel()
  // when
  await virtual.advance(20)
  // then
  expect(ran.toSorted()).toEqual(["rest", "timer", "turn"])
  expect(failures.toSorted()).toEqual(["rest", "timer", "turn"])
})

test("a deadline whose handler throws does not keep other deadlines from being reported", async () => {
  const { virtual, failures, clock } = stage()
  const reported: string[] = []
  const deadlines = new Deadlines<string>(clock, (name) => {
    if (name.startsWith("bad")) throw new Error(name)
    reported.push(`${name} at ${clock.now()}`)
  })
  for (const [name, at] of [
    ["bad", 10],
    ["good", 10],
    ["bad later", 20],
    ["later", 30],
  ] as const)
    deadlines.add(name, at)
  await virtual.advance(100)
  expect(reported).toEqual(["good at 10", "later at 30"])
  expect(failures).toEqual(["bad", "bad later"])
})
