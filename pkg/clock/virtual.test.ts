import { describe, expect, test } from "bun:test"
import { loaded, sleep } from "./clock.ts"
import { EndlessInstantError, VirtualClock } from "./virtual.ts"

describe("VirtualClock", () => {
  test("runs timers in the order of their due time, then in the order in which they were set", async () => {
    // given timers set out of order
    const clock = new VirtualClock(1000)
    const ran: string[] = []
    clock.setTimeout(() => ran.push(`late@${clock.now()}`), 50)
    clock.setTimeout(() => ran.push(`first@${clock.now()}`), 10)
    clock.setTimeout(() => ran.push(`second@${clock.now()}`), 10)
    // when time moves past them
    await clock.advance(100)
    // then each ran at its own instant
    expect(ran).toEqual(["first@1010", "second@1010", "late@1050"])
    expect(clock.now()).toBe(1100)
  })

  test("runs promises to their end between two instants", async () => {
    // given a chain that sleeps twice
    const clock = new VirtualClock(0)
    const seen: number[] = []
    const work = (async () => {
      for (let i = 0; i < 2; i++) {
        await sleep(clock, 5)
        await Promise.resolve()
        seen.push(clock.now())
      }
    })()
    // when
    await clock.advance(20)
    await work
    // then
    expect(seen).toEqual([5, 10])
  })

  test("stands still while something is loaded, and goes on with the work that follows from it at the same instant", async () => {
    // given a module that takes a while of real time, and a timer
    const clock = new VirtualClock(0)
    const seen: string[] = []
    clock.setTimeout(() => seen.push(`timer@${clock.now()}`), 5)
    const file = Promise.withResolvers<string>()
    const work = loaded(clock, file.promise).then(async (text) => {
      await sleep(clock, 2)
      seen.push(`${text}@${clock.now()}`)
    })
    // when time is to move
    const moved = clock.advance(10)
    setImmediate(() => setImmediate(() => setImmediate(() => file.resolve("loaded"))))
    await moved
    await work
    // then
    expect(seen).toEqual(["loaded@2", "timer@5"])
  })

  test("goes on after a load that failed", async () => {
    const clock = new VirtualClock(0)
    const failed = loaded(clock, Promise.reject(new Error("no such module")))
    const [outcome] = await Promise.allSettled([failed, clock.advance(10)])
    expect(outcome.status).toBe("rejected")
    expect(clock.now()).toBe(10)
  })

  test("does not run a cancelled timer, and counts the pending ones", async () => {
    // given two timers, one of them cancelled
    const clock = new VirtualClock(0)
    let ran = 0
    const cancelled = clock.setTimeout(() => ran++, 1)
    clock.setTimeout(() => ran++, 2)
    cancelled.cancel()
    cancelled.cancel()
    expect(clock.pending).toBe(1)
    // when
    await clock.advance(10)
    // then
    expect([ran, clock.pending, clock.nextDue]).toEqual([1, 0, undefined])
  })

  test("runs callbacks for the end of a turn before time advances", async () => {
    // given work that asks for the end of its turn
    const clock = new VirtualClock(0)
    const order: string[] = []
    clock.setTimeout(() => clock.afterTurn(() => order.push(`turn@${clock.now()}`)), 1)
    clock.setTimeout(() => order.push(`timer@${clock.now()}`), 2)
    // when
    await clock.advance(5)
    // then
    expect(order).toEqual(["turn@1", "timer@2"])
  })
})

describe("callbacks for the rest of an instant", () => {
  test("run after all turns of the instant, and before time advances", async () => {
    // given work of several turns, and a timer later
    const clock = new VirtualClock(0)
    const ran: string[] = []
    clock.setTimeout(() => ran.push("timer"), 1)
    clock.atRest(() => ran.push("at rest"))
    clock.afterTurn(() => clock.afterTurn(() => ran.push("second turn")))
    // when time moves
    await clock.advance(1)
    // then
    expect(ran).toEqual(["second turn", "at rest", "timer"])
  })

  test("let the work that they cause come before further ones that it asks for", async () => {
    const clock = new VirtualClock(0)
    const ran: string[] = []
    clock.atRest(() => {
      ran.push("first")
      clock.atRest(() => ran.push("second"))
      clock.afterTurn(() => ran.push("what the first caused"))
    })
    await clock.settle()
    expect(ran).toEqual(["first", "what the first caused", "second"])
  })

  test("run while nobody moves the clock", async () => {
    const clock = new VirtualClock(0)
    await new Promise<void>((resolve) => clock.atRest(resolve))
  })
})

describe("an endless instant", () => {
  test("is not caused by rounding: a timer never runs before its time", async () => {
    // given somebody who waits for an instant between two milliseconds, and waits again when it has not come yet
    const clock = new VirtualClock(0, { mostTurns: () => 2000 })
    let looks = 0
    const check = () => {
      looks++
      if (clock.now() < 100.4) clock.setTimeout(check, 100.4 - clock.now())
    }
    clock.setTimeout(check, 1.2)
    // when
    await clock.advance(200)
    // then it looked twice, and not for ever
    expect(looks).toBe(2)
  })

  test.each<[string, (clock: VirtualClock, again: () => void) => unknown]>([
    ["timers that are due at once", (clock, again) => clock.setTimeout(again, 0)],
    ["ends of turns", (clock, again) => clock.afterTurn(again)],
  ])("is detected if %s set each other again, and the error names the function that does", async (_, setOff) => {
    // given
    const clock = new VirtualClock(0, { mostTurns: () => 3000 })
    let over = false
    let turns = 0
    function gardener(): void {
      if (!over) setOff(clock, gardener)
      turns++
    }
    gardener()
    // when
    const err = await clock.advance(10).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    over = true
    // then
    expect(err).toBeInstanceOf(EndlessInstantError)
    expect(turns).toBeGreaterThan(1000)
    expect(String(err)).toContain("virtual.test.ts")
  })

  test("is not detected for many instants with much work each", async () => {
    // given
    const clock = new VirtualClock(0, { mostTurns: () => 2000 })
    let ran = 0
    for (let i = 0; i < 5000; i++) clock.setTimeout(() => clock.afterTurn(() => ran++), i)
    // when
    await clock.advance(5000)
    // then
    expect(ran).toBe(5000)
  })
})

describe("VirtualClock with upkeep timers", () => {
  /** Beats every second, and notes when. */
  function beating(clock: VirtualClock): number[] {
    const beats: number[] = []
    const beat = () => {
      beats.push(clock.now())
      clock.setTimeout(beat, 1000, "upkeep")
    }
    clock.setTimeout(beat, 1000, "upkeep")
    return beats
  }

  test("skips upkeep timers while nothing else is due", async () => {
    // given a heartbeat and one piece of work much later
    const clock = new VirtualClock(0)
    const beats = beating(clock)
    const seen: number[] = []
    clock.setTimeout(() => seen.push(beats.length), 3_600_000)
    // when time moves past the work
    await clock.advance(4_000_000)
    // then the heart beat once before the work, and once at the end
    expect(beats).toEqual([3_600_000, 4_000_000])
    expect(seen).toEqual([1])
  })

  test("runs upkeep timers at their own instants in exact mode", async () => {
    // given
    const clock = new VirtualClock(0)
    const beats = beating(clock)
    clock.exact = true
    // when
    await clock.advance(3500)
    // then
    expect(beats).toEqual([1000, 2000, 3000])
  })

  test("runs the upkeep that is due together, before the work, so that it shares commits", async () => {
    // given heartbeats of many nodes, each with a write that is committed at the end of its turn, and work
    const clock = new VirtualClock(0)
    const commits: number[] = []
    let batch = 0
    const commit = () => {
      commits.push(batch)
      batch = 0
    }
    const beat = () => {
      if (batch++ === 0) clock.afterTurn(commit)
    }
    const seen: number[][] = []
    clock.setTimeout(() => seen.push([...commits]), 1000)
    for (let i = 0; i < 250; i++) clock.setTimeout(beat, 1000 - i, "upkeep")
    // when
    await clock.advance(1000)
    // then
    expect(seen).toEqual([[100, 100, 50]])
  })

  test("runs watchdogs of upkeep after all upkeep, however late both are", async () => {
    // given a heartbeat, and a watchdog that is due before it
    const clock = new VirtualClock(0)
    const beats = beating(clock)
    const seen: number[] = []
    clock.setTimeout(() => seen.push(clock.now() - (beats.at(-1) ?? 0)), 900, "watchdog")
    // when time skips over both
    clock.setTimeout(() => {}, 5000)
    await clock.advance(5000)
    // then the watchdog saw a fresh beat
    expect(seen).toEqual([0])
  })
})
