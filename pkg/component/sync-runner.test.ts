import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { SyncRunner } from "./sync-runner.ts"

const START = Date.UTC(2026, 0, 1)

/** A runner whose runs a test ends one by one. */
function controlled({ retryMs = 1000, maxShare = 1 } = {}) {
  const clock = new VirtualClock(START)
  const runs: PromiseWithResolvers<number>[] = []
  const failures: unknown[] = []
  const runner = new SyncRunner({
    clock,
    sync() {
      const run = Promise.withResolvers<number>()
      runs.push(run)
      return run.promise
    },
    failed: (err) => (failures.push(err), retryMs),
    maxShare,
  })
  return { clock, runner, runs, failures }
}

describe("a runner", () => {
  test("serves all requests of one turn with one run", async () => {
    const { clock, runner, runs } = controlled()
    await runner.start()
    // when
    expect([runner.request(), runner.request()]).toEqual([true, false])
    expect(runs).toHaveLength(0)
    await clock.settle()
    // then
    expect(runs).toHaveLength(1)
    expect(runner.isRunning).toBe(true)
  })

  test("serves all requests that come during a run with one more run", async () => {
    const { clock, runner, runs } = controlled()
    await runner.start()
    runner.request()
    await clock.settle()
    // when
    expect([runner.request(), runner.request()]).toEqual([true, false])
    await clock.settle()
    expect(runs).toHaveLength(1)
    runs[0]!.resolve(0)
    await clock.settle()
    // then
    expect(runs).toHaveLength(2)
    runs[1]!.resolve(0)
    await clock.settle()
    expect(runs).toHaveLength(2)
    expect(runner.isRunning).toBe(false)
  })

  test("with a limited share of the time waits after a failed run too", async () => {
    // given a run that takes a second and fails
    const { clock, runner, runs } = controlled({ maxShare: 0.1, retryMs: 60_000 })
    await runner.start()
    runner.request()
    await clock.settle()
    await clock.advance(1000)
    runs[0]!.reject(new Error("refused"))
    await clock.settle()
    // when another is asked for
    runner.request()
    await clock.advance(899)
    expect(runs).toHaveLength(1)
    await clock.advance(1)
    // then
    expect(runs).toHaveLength(2)
    runs[1]!.resolve(0)
  })

  test.each([
    { title: "waits after each run nine times as long as the run kept the process busy", ms: 100, wants: 900 },
    { title: "waits ten seconds at most", ms: 60_000, wants: 10_000 },
  ])("with a share of a tenth of the time $title", async ({ ms, wants }) => {
    // given
    const { clock, runner, runs } = controlled({ maxShare: 0.1 })
    await runner.start()
    runner.request()
    await clock.settle()
    runner.request()
    runs[0]!.resolve(ms)
    await clock.settle()
    // when
    await clock.advance(wants - 1)
    expect(runs).toHaveLength(1)
    await clock.advance(1)
    // then
    expect(runs).toHaveLength(2)
    runs[1]!.resolve(0)
    await clock.settle()
    // and a run after a quiet time does not wait
    await clock.advance(60_000)
    runner.request()
    await clock.settle()
    expect(runs).toHaveLength(3)
  })

  test("delays requests until its start, which resolves after the first run", async () => {
    const { clock, runner, runs } = controlled()
    runner.request()
    await clock.settle()
    expect(runs).toHaveLength(0)
    // when
    let started = false
    const starting = runner.start().then(() => (started = true))
    await clock.settle()
    expect([runs.length, started]).toEqual([1, false])
    runs[0]!.resolve(0)
    // then
    expect(await starting).toBe(true)
  })

  test("retries a failed run after its owner's delay, and reports a problem until a run succeeds", async () => {
    const { clock, runner, runs, failures } = controlled({ retryMs: 5000 })
    runner.request()
    const starting = runner.start()
    // when
    runs[0]!.reject(new Error("the lock is held"))
    await starting
    // then
    expect(runner.problem).toBe("the lock is held")
    expect(failures).toHaveLength(1)
    await clock.advance(4999)
    expect(runs).toHaveLength(1)
    await clock.advance(1)
    expect(runs).toHaveLength(2)
    runs[1]!.resolve(0)
    await clock.settle()
    expect(runner.problem).toBeUndefined()
  })

  test("serves a request after a failed run with the retry", async () => {
    const { clock, runner, runs } = controlled()
    runner.request()
    const starting = runner.start()
    runs[0]!.reject(new Error("busy"))
    await starting
    // when
    runner.request()
    await clock.settle()
    runs[1]!.resolve(0)
    await clock.advance(60_000)
    // then
    expect(runs).toHaveLength(2)
  })

  test("treats an error that is thrown synchronously like any other", async () => {
    const clock = new VirtualClock(START)
    let tries = 0
    const runner = new SyncRunner({
      clock,
      sync() {
        if (++tries === 1) throw new Error("no table")
        return Promise.resolve()
      },
      failed: () => 1000,
    })
    runner.request()
    await runner.start()
    expect(runner.problem).toBe("no table")
    await clock.advance(1000)
    expect([tries, runner.problem, runner.isRunning]).toEqual([2, undefined, false])
  })

  test("runs at the time of the owner's last request for a time", async () => {
    const { clock, runner, runs } = controlled()
    await runner.start()
    runner.requestIn(1000)
    runner.requestIn(3000)
    await clock.advance(2999)
    expect(runs).toHaveLength(0)
    await clock.advance(1)
    expect(runs).toHaveLength(1)
  })
})

describe("a runner that is stopped", () => {
  test("ends with the current run, although a request came during it", async () => {
    const { clock, runner, runs } = controlled()
    runner.request()
    void runner.start()
    // given
    runner.request()
    let stopped = false
    const stopping = runner.stop().then(() => (stopped = true))
    await clock.settle()
    expect(stopped).toBe(false)
    // when
    runs[0]!.resolve(0)
    await stopping
    await clock.settle()
    // then
    expect(runs).toHaveLength(1)
    expect(runner.isRunning).toBe(false)
  })

  test.each([
    { title: "after a failed run", failsLate: false },
    { title: "during a run that fails", failsLate: true },
  ])("leaves no timer behind: $title", async ({ failsLate }) => {
    const { clock, runner, runs } = controlled()
    runner.request()
    const starting = runner.start()
    // when
    const fail = () => runs[0]!.reject(new Error("busy"))
    if (!failsLate) {
      fail()
      await starting
    }
    const stopping = runner.stop()
    fail()
    await stopping
    // then
    expect(clock.pending).toBe(0)
  })

  test("runs again when it is started again, without its old problem", async () => {
    const { clock, runner, runs } = controlled()
    runner.request()
    const starting = runner.start()
    runs[0]!.reject(new Error("busy"))
    await starting
    await runner.stop()
    // when
    await runner.start()
    expect(runner.problem).toBeUndefined()
    runner.request()
    await clock.settle()
    // then
    expect(runs).toHaveLength(2)
  })
})
