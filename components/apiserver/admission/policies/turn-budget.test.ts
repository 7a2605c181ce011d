import { expect, test } from "bun:test"
import { inTurns, TurnBudget } from "./turn-budget.ts"

/** A clock that advances by a millisecond each time it is read, and counts the turns that were yielded. */
function slowClock() {
  let now = 0
  return {
    turns: 0,
    monotonic: () => now++,
    afterTurn(run: () => void): void {
      this.turns++
      setImmediate(run)
    },
  }
}

function* counting(steps: number, done: number[], fault?: Error): Generator<void> {
  for (let i = 0; i < steps; i++) {
    done.push(i)
    yield
  }
  if (fault !== undefined) throw fault
}

test("a few steps run in one turn of the event loop", () => {
  const [clock, done] = [slowClock(), [] as number[]]
  expect(inTurns(counting(5, done), new TurnBudget(clock))).toBeUndefined()
  expect([done.length, clock.turns]).toEqual([5, 0])
})

test("many steps yield to the event loop every ten milliseconds, and return or throw what they would without yielding", async () => {
  // given steps for 95 ms, and somebody who waits for a turn
  const [clock, done] = [slowClock(), [] as number[]]
  let doneThen: number | undefined
  setImmediate(() => (doneThen = done.length))
  // when
  await inTurns(counting(95, done), new TurnBudget(clock))
  // then
  expect(done).toHaveLength(95)
  expect(doneThen).toBe(10)
  expect(clock.turns).toBe(9)
  const failing = inTurns(counting(95, [], new Error("denied")), new TurnBudget(slowClock())) as Promise<void>
  expect(await failing.catch(String)).toBe("Error: denied")
})
