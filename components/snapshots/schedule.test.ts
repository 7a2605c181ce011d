import { expect, test } from "bun:test"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { parseCron, type CronSchedule } from "../../pkg/cron/schedule.ts"
import { keepSchedule } from "./schedule.ts"

test("a schedule runs at its times, also at a time that comes while the server still starts", async () => {
  // given a server that starts two seconds before a run is due
  const clock = new VirtualClock(Date.parse("2026-03-01T11:59:58Z"))
  clock.exact = true
  const runs: string[] = []
  const schedule = { cron: parseCron("0 */12 * * *") as CronSchedule, zone: "UTC" }
  // when a day passes
  const stop = keepSchedule(clock, schedule, async () => void runs.push(new Date(clock.now()).toISOString()))
  await clock.advance(24 * 3_600_000)
  // then that run came some seconds late, and the others in time
  expect(runs).toEqual(["2026-03-01T12:00:03.000Z", "2026-03-02T00:00:00.000Z"])
  stop()
  expect(clock.pending).toBe(0)
})
