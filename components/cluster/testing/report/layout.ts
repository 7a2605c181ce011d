import type { Moment } from "./moment.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"
import { largest } from "../../../../pkg/lists/extremes.ts"

/** How many similar moments of one instant are told as one. */
const FEWEST_ALIKE = 4
/** No line of the console's report is longer. */
const WIDTH = 160
/** The widest column of names. */
const WIDEST_NAME = 28

/** Replaces many similar moments of one instant, such as what an API server creates when it starts, by one. */
export function folded(moments: readonly Moment[]): readonly Moment[] {
  const result: Moment[] = []
  for (let at = 0; at < moments.length;) {
    const first = moments[at]!
    let end = at + 1
    while (isAlike(first, moments[end])) end++
    if (end - at < FEWEST_ALIKE) pushAll(result, moments.slice(at, end))
    else result.push({ ...first, what: `${first.alike}: ${end - at} times` })
    at = end
  }
  return result
}

const isAlike = (a: Moment, b: Moment | undefined): boolean =>
  a.alike !== undefined && !a.isTrouble && a.alike === b?.alike && a.who === b.who && a.time === b.time

/**
 * Returns at most `count` moments, in their order: first what came from the test, then trouble, then what happened to
 * the objects of `names`, and then the rest; of equal ones the latest. Of what came again and again, such as the ends of
 * a container that crashes, the first and the last time count.
 */
export function mostTelling(moments: readonly Moment[], count: number, names: ReadonlySet<string>): readonly Moment[] {
  if (moments.length <= count) return moments
  const first = new Map<string, number>()
  const last = new Map<string, number>()
  moments.forEach(({ who, what }, at) => {
    const key = `${who} ${what.replaceAll(/\d+/g, "")}`
    if (!first.has(key)) first.set(key, at)
    last.set(key, at)
  })
  const ends = new Set([...first.values(), ...last.values()])
  const weight = ({ isTrouble, isOfTest, about }: Moment, at: number): number => {
    if (isOfTest) return 5
    if (!ends.has(at)) return 0
    return 1 + (isTrouble ? 2 : 0) + (about !== undefined && names.has(about) ? 1 : 0)
  }
  const chosen = new Set(
    moments
      .map((moment, at) => ({ moment, at, weight: weight(moment, at) }))
      .toSorted((a, b) => b.weight - a.weight || b.at - a.at)
      .slice(0, Math.max(0, count))
      .map(({ moment }) => moment),
  )
  return moments.filter((moment) => chosen.has(moment))
}

/** Returns aligned lines, with the time since `began`; trouble has a mark. */
export function aligned(moments: readonly Moment[], began: number, width = Infinity): readonly string[] {
  const rows = moments.map(({ time, isTrouble, who, what }) => ({
    mark: isTrouble ? "!" : " ",
    at: sinceStart(time - began),
    who,
    what,
  }))
  const widthOf = (of: (row: (typeof rows)[number]) => string) =>
    Math.max(0, largest(rows.map((row) => of(row).length)))
  const [times, names] = [
    widthOf(({ at }) => at),
    Math.min(
      WIDEST_NAME,
      widthOf(({ who }) => who),
    ),
  ]
  return rows.map(({ mark, at, who, what }) => {
    const line = `${mark} ${at.padStart(times)}  ${who.padEnd(names)}  ${inOneLine(what)}`
    return line.length > width ? `${line.slice(0, width - 1)}…` : line
  })
}

const inOneLine = (text: string): string =>
  text.includes("\n")
    ? text
        .split("\n")
        .map((line) => line.trim())
        .join(" ")
    : text

/** As `aligned`, in the width of a console. */
export const forConsole = (moments: readonly Moment[], began: number): readonly string[] =>
  aligned(moments, began, WIDTH)

/** Returns `1:02.500` for a minute and two and a half seconds, `1d 02:03:04.000` for longer. */
function sinceStart(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0")
  const seconds = `${two((ms / 1000) % 60)}.${String(Math.floor(ms % 1000)).padStart(3, "0")}`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}:${seconds}`
  const hours = ms / 3_600_000
  const rest = `${two((ms / 60_000) % 60)}:${seconds}`
  return hours < 24 ? `${Math.floor(hours)}:${rest}` : `${Math.floor(hours / 24)}d ${two(hours % 24)}:${rest}`
}
