import { describe, expect, test } from "bun:test"
import type { Resting, Timer } from "./clock.ts"
import { VirtualClock } from "./virtual.ts"

/** A loop that notes its rounds as `<name><time>`, and can rest. */
class Loop {
  #timer: Timer | undefined
  #resting: Resting | undefined
  left = 0
  readonly #clock: VirtualClock
  readonly #name: string
  readonly #seen: string[]

  constructor(clock: VirtualClock, name: string, seen: string[]) {
    this.#clock = clock
    this.#name = name
    this.#seen = seen
    this.#arm()
  }

  rest(): void {
    this.#resting = this.#clock.rest(this.#timer!, {
      periodMs: 10,
      resumed: (timer, left) => {
        this.#timer = timer
        this.left += left
      },
    })
  }
  wake(): void {
    this.#resting?.wake()
  }

  #arm(): void {
    const run = () => {
      this.#seen.push(`${this.#name}${this.#clock.monotonic()}`)
      this.#arm()
    }
    this.#timer = this.#clock.setTimeout(run, 10, "work", this.#timer)
  }
}

/** Two loops with the same period, after a first round of both; only the first of them can be set to rest. */
async function twoLoops() {
  const clock = new VirtualClock(0)
  const seen: string[] = []
  const early = (run: () => void, ms: number) => void clock.setTimeout(run, ms)
  // A timer for 30 is set before the loops are, and one after.
  const before: (() => void)[] = []
  const after: (() => void)[] = []
  early(() => before.forEach((run) => run()), 30)
  const resting = new Loop(clock, "r", seen)
  early(() => after.forEach((run) => run()), 30)
  const other = new Loop(clock, "o", seen)
  await clock.advance(10)
  resting.rest()
  seen.length = 0
  return { clock, seen, resting, other, before, after }
}

describe("a resting timer", () => {
  test("is left out, and continues at the times and in the place that it had", async () => {
    // given
    const { clock, seen, resting } = await twoLoops()
    // when it is woken between two rounds
    await clock.advance(25)
    resting.wake()
    await clock.advance(15)
    // then
    expect(seen).toEqual(["o20", "o30", "r40", "o40", "r50", "o50"])
    expect(resting.left).toBe(2)
  })

  test("has its round at this instant where the change came before its turn", async () => {
    // given
    const { clock, seen, resting, before } = await twoLoops()
    // when
    before.push(() => resting.wake())
    await clock.advance(30)
    // then
    expect(seen).toEqual(["o20", "r30", "o30", "r40", "o40"])
    expect(resting.left).toBe(1)
  })

  test("has its next round later where the change came after its turn", async () => {
    // given
    const { clock, seen, resting, after } = await twoLoops()
    // when
    after.push(() => resting.wake())
    await clock.advance(30)
    // then
    expect(seen).toEqual(["o20", "o30", "r40", "o40"])
    expect(resting.left).toBe(2)
  })

  test("has its next round later where the test itself changes something after all rounds", async () => {
    // given
    const { clock, seen, resting } = await twoLoops()
    // when
    await clock.advance(20)
    resting.wake()
    await clock.advance(10)
    // then
    expect(seen).toEqual(["o20", "o30", "r40", "o40"])
    expect(resting.left).toBe(2)
  })

  test("wakes when the wall clock jumps, and no timer rests while the clock is kept awake", async () => {
    // given
    const { clock, seen, resting } = await twoLoops()
    // when
    clock.jump(3_600_000)
    await clock.advance(10)
    // then
    expect(seen).toEqual(["r20", "o20"])
    // and
    const over = clock.keepAwake()
    resting.rest()
    await clock.advance(10)
    expect(seen.slice(2)).toEqual(["r30", "o30"])
    over()
    resting.rest()
    await clock.advance(10)
    expect(seen.slice(4)).toEqual(["o40"])
    // and when it is kept awake again
    clock.keepAwake()
    await clock.advance(10)
    expect(seen.slice(5)).toEqual(["r50", "o50"])
  })

  test("counts as a timer that was left, until it is cancelled", async () => {
    // given
    const clock = new VirtualClock(0)
    const timer = clock.setTimeout(() => {}, 10)
    // when
    const resting = clock.rest(timer, { periodMs: 10, resumed: () => {} })
    await clock.advance(100)
    // then
    expect(clock.pending).toBe(1)
    expect(resting!.left()).toBe(10)
    expect(resting!.left()).toBe(0)
    resting!.cancel()
    resting!.wake()
    expect(clock.pending).toBe(0)
  })
})
