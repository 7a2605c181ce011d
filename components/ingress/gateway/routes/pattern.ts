import { programSize } from "../../../../pkg/re2/program-size.ts"
import { compileRe2 } from "../../../../pkg/re2/re2.ts"

/** A regular expression that must match the whole text. */
export interface Pattern {
  /** The approximate number of steps for each character of a text. */
  readonly size: number
  matches(text: string): boolean
}

/** The largest `size` that is accepted: nested repetitions make a short pattern expensive. */
const LARGEST = 2500

/** Compiles an RE2 regular expression. @throws Error for invalid syntax and for a pattern larger than `LARGEST` */
export function patternOf(source: string): Pattern {
  const { size } = programSize(source)
  if (size > LARGEST) throw new Error(`its repetitions make it ${size} steps long: at most ${LARGEST} are allowed`)
  const compiled = compileRe2(`^(?:${source})$`)
  return { size, matches: (text) => compiled.matcher(text).find() }
}
