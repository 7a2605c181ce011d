/**
 * What the controllers write over one scripted day, beside what Kubernetes' own have written on the same day
 * (`record.ts`): as whom, with which verb, subresource, patch and manager, and how often. Users, machines and the
 * pace are the same; here time is virtual.
 */
import { beforeAll, describe, expect, test } from "bun:test"
import { STEPS } from "./day.ts"
import { DIFFERENT_AGENTS, DIFFERENT_OWNERS, DIFFERENT_WRITES, MORE, type Difference } from "./differences.ts"
import { readRecorded } from "./fixture.ts"
import type { BySteps, DayRecord } from "./lines.ts"
import { virtualDay } from "./virtual-day.ts"

/** Kubernetes' own controllers begin with the first step, since their start takes that long. */
const FIRST_STEP = 2

const upstream = readRecorded("day")
let ours: DayRecord
beforeAll(async () => {
  ours = await virtualDay(STEPS)
}, 120_000)

const sum = (steps: BySteps = {}): number =>
  Object.entries(steps)
    .filter(([step]) => Number(step) >= FIRST_STEP)
    .reduce((all, [, count]) => all + count, 0)

/** Scheduling has a day of its own (`scheduling.test.ts`). */
const isCompared = (line: string): boolean => !line.startsWith("system:kube-scheduler")

interface Compared {
  readonly line: string
  readonly here: number
  /** Those that the API took there. */
  readonly there: number
  /** Those that it refused there, mostly because an informer was late. */
  readonly refusedThere: number
}

const compared = (): readonly Compared[] =>
  [...new Set([upstream.writes, upstream.refused, ours.writes].flatMap((all) => Object.keys(all)))]
    .filter(isCompared)
    .toSorted()
    .map((line) => ({
      line,
      here: sum(ours.writes[line]),
      there: sum(upstream.writes[line]),
      refusedThere: sum(upstream.refused[line]),
    }))
    .filter(({ here, there, refusedThere }) => here + there + refusedThere > 0)

const isKnown = (known: readonly Difference[], line: string): boolean => known.some(([pattern]) => pattern.test(line))
const unknown = (lines: readonly string[], known: readonly Difference[]) =>
  lines.filter((line) => !isKnown(known, line))
const unused = (lines: readonly string[], known: readonly Difference[]) =>
  known.filter(([pattern]) => !lines.some((line) => pattern.test(line))).map(([pattern]) => pattern.source)

describe("over a day, the controllers of k3ts and of Kubernetes", () => {
  test("make the same writes, but for the differences that are listed", () => {
    const onlyOne = compared()
      .filter(({ here, there, refusedThere }) => here > 0 !== there + refusedThere > 0)
      .map(({ line }) => line)
    expect(unknown(onlyOne, DIFFERENT_WRITES)).toEqual([])
    expect(unused(onlyOne, DIFFERENT_WRITES)).toEqual([])
  })

  test("write about as often, those of k3ts no more but where it is listed", () => {
    const most = ({ there, refusedThere }: Compared) => (there + refusedThere) * 1.2 + 2
    const more = compared()
      .filter((one) => one.there + one.refusedThere > 0 && one.here > most(one))
      .map(({ line, here, there }) => `${line}: ${here}, not ${there}`)
    expect(unknown(more, MORE)).toEqual([])
    expect(unused(more, MORE)).toEqual([])
  })

  test("together write as often what both write", () => {
    const both = compared().filter(({ line, here, there }) => here > 0 && there > 0 && !line.includes(" events"))
    const all = (of: "here" | "there") => both.reduce((total, one) => total + one[of], 0)
    expect(all("here") / all("there")).toBeWithin(0.9, 1.1)
  })

  test("have the same user agents", () => {
    const [here, there] = [ours.agents.filter(isCompared), upstream.agents.filter(isCompared)]
    const onlyOne = [...here.filter((one) => !there.includes(one)), ...there.filter((one) => !here.includes(one))]
    expect(unknown(onlyOne, DIFFERENT_AGENTS)).toEqual([])
    expect(unused(onlyOne, DIFFERENT_AGENTS)).toEqual([])
  })

  test("own fields under the same names", () => {
    const ofComponents = (owners: readonly string[]) =>
      owners.filter((line) => !/: (admin|users|machines|kube-scheduler) /.test(line))
    const [here, there] = [ofComponents(ours.owners), ofComponents(upstream.owners)]
    const onlyOne = [...here.filter((one) => !there.includes(one)), ...there.filter((one) => !here.includes(one))]
    expect(unknown(onlyOne, DIFFERENT_OWNERS)).toEqual([])
    expect(unused(onlyOne, DIFFERENT_OWNERS)).toEqual([])
  })
})
