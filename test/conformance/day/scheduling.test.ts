/**
 * What the scheduler writes, and tells of pods in conditions and Events, over a morning with pods that fit, that do
 * not, and that others make room for, beside what kube-scheduler has written and told (`record.ts`).
 */
import { beforeAll, describe, expect, test } from "bun:test"
import { DIFFERENT_SCHEDULING, DIFFERENT_WORDS, type Difference } from "./differences.ts"
import { readRecorded } from "./fixture.ts"
import type { DayRecord } from "./lines.ts"
import { SCHEDULING } from "./scheduling.ts"
import { virtualDay } from "./virtual-day.ts"

const upstream = readRecorded("scheduling")
let ours: DayRecord
beforeAll(async () => {
  ours = await virtualDay(SCHEDULING)
}, 120_000)

const isOfScheduler = (line: string): boolean => line.includes("kube-scheduler")
const linesOf = ({ writes }: DayRecord): readonly string[] => Object.keys(writes).filter(isOfScheduler)

/** Lines of one side only that no difference explains, and differences that explain none. */
function compared(here: readonly string[], there: readonly string[], known: readonly Difference[]): readonly string[] {
  const onlyOne = [
    ...here.filter((line) => !there.includes(line)).map((line) => `k3ts: ${line}`),
    ...there.filter((line) => !here.includes(line)).map((line) => `Kubernetes: ${line}`),
  ]
  return [
    ...onlyOne.filter((line) => !known.some(([pattern]) => pattern.test(line))),
    ...known.filter(([pattern]) => !onlyOne.some((line) => pattern.test(line))).map(([pattern]) => pattern.source),
  ]
}

const withoutIds = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => line.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "UID"))

describe("over a morning, the schedulers of k3ts and of Kubernetes", () => {
  test("make the same writes, but for the differences that are listed", () => {
    expect(compared(linesOf(ours), linesOf(upstream), DIFFERENT_SCHEDULING)).toEqual([])
  })

  test.each(["create pods/binding", "delete pods", "update persistentvolumes"])(
    "%s as often, in each step",
    (write) => {
      const line = `system:kube-scheduler as kube-scheduler: ${write}`
      expect(ours.writes[line]).toEqual(upstream.writes[line]!)
    },
  )

  test("own the same fields", () => {
    const own = ({ owners }: DayRecord) => owners.filter((line) => isOfScheduler(line) && !line.startsWith("leases:"))
    expect(own(ours)).toEqual(own(upstream))
  })

  test("tell the same of pods, but for the differences that are listed", () => {
    expect(compared(withoutIds(ours.told), withoutIds(upstream.told), DIFFERENT_WORDS)).toEqual([])
  })
})
