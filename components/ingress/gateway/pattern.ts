import { compileRe2 } from "../../../pkg/re2/re2.ts"

/** A regular expression that must match a whole text. */
export interface Pattern {
  /** About how many steps it takes for each character of a text. */
  readonly size: number
  matches(text: string): boolean
}

/** The largest `size`: repetitions make a short pattern large. */
const LARGEST = 2000

/** @throws Error that says why the text is no pattern, or too large a one */
export function patternOf(source: string): Pattern {
  const size = sizeOf(source)
  if (size > LARGEST) throw new Error(`its repetitions make it ${size} steps long: at most ${LARGEST} are taken`)
  const compiled = compileRe2(`^(?:${source})$`)
  return { size, matches: (text) => compiled.matcher(text).find() }
}

/** Steps of a pattern: one for each character and class, times the numbers of the repetitions around it. */
export function sizeOf(source: string): number {
  /** Steps of each group that is open, the innermost last. */
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
      // A bracket right after the first one, or after its ^, is one of the class.
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
