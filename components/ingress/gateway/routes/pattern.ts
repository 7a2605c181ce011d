import { compileRe2 } from "../../../../pkg/re2/re2.ts"

/** A regular expression that must match the whole text. */
export interface Pattern {
  /** The approximate number of steps for each character of a text. */
  readonly size: number
  matches(text: string): boolean
}

/** The largest `size` that is accepted: nested repetitions make a short pattern expensive. */
const LARGEST = 2000

/** Compiles an RE2 regular expression. @throws Error for invalid syntax and for a pattern larger than `LARGEST` */
export function patternOf(source: string): Pattern {
  const size = sizeOf(source)
  if (size > LARGEST) throw new Error(`its repetitions make it ${size} steps long: at most ${LARGEST} are allowed`)
  const compiled = compileRe2(`^(?:${source})$`)
  return { size, matches: (text) => compiled.matcher(text).find() }
}

/** Returns the steps of a pattern: one for each character and class, times the counts of the repetitions around it. */
export function sizeOf(source: string): number {
  /** The steps of each open group, the innermost last. */
  const open = [0]
  let last = 0
  const add = (size: number) => {
    open[open.length - 1]! += size
    last = size
  }
  for (let i = 0; i < source.length; i++) {
    const character = source[i]!
    if (character === "\\") {
      i++
      add(1)
    } else if (character === "[") {
      // A bracket directly after the opening bracket, or after its ^, is a member of the class and does not close it.
      const start = source[i + 1] === "^" ? i + 3 : i + 2
      let end = start
      while (end < source.length && source[end] !== "]") end += source[end] === "\\" ? 2 : 1
      i = end
      add(1)
    } else if (character === "(") open.push(0)
    else if (character === ")" && open.length > 1) add(open.pop()! + 1)
    else if (character === "{") {
      const [text, least = "", most = ""] = /^\{(\d+)(?:,(\d*))?\}/.exec(source.slice(i, i + 16)) ?? []
      if (text === undefined) add(1)
      else {
        const times = Math.max(Number(least), Number(most || 0), 1)
        add(last * (times - 1))
        last *= times
        i += text.length - 1
      }
    } else add(1)
    if (open[0]! > Number.MAX_SAFE_INTEGER / 2) return Infinity
  }
  return open.reduce((sum, size) => sum + size, 0)
}
