import { compileRe2 } from "../re2/re2.ts"
import { matchingCost } from "./cost/sizes.ts"
import { affordable, CostExceeded } from "./limits.ts"

/**
 * Regular expressions as Go's regexp package has them. Matching takes time that grows with the length of the text and
 * the pattern, whatever the pattern: that of a browser or of Bun could be made to run for hours.
 */
export interface Pattern {
  /** Whether the pattern matches anywhere in a text. */
  matches(text: string): boolean
  /** The matches in a text that do not overlap, from left to right; at most `limit` where that is not negative. */
  findAll(text: string, limit: number): string[]
}

/**
 * Characters that all searches of one text may look at. A search for `a.*b|a` looks at the whole rest of the text for
 * every match, as upstream's does; here that ends the evaluation after some tenths of a second.
 */
const MOST_WORK = 20_000_000

const MOST_KEPT = 1000
const known = new Map<string, Pattern | string>()

/**
 * Compiles a pattern; gives Go's message as a string where it is none. The last thousand patterns are kept, since
 * expressions may work out their patterns anew for every object.
 */
export function compilePattern(source: string): Pattern | string {
  const before = known.get(source)
  if (before !== undefined) return before
  const made = compileAnew(source)
  if (known.size >= MOST_KEPT) known.clear()
  known.set(source, made)
  return made
}

/** Longer patterns are refused; Go refuses patterns by the size of their program. */
const LONGEST = 100_000

function compileAnew(source: string): Pattern | string {
  if (source.length > LONGEST) return `error parsing regexp: expression too large: \`${source.slice(0, 64)}…\``
  try {
    const compiled = compileRe2(source)
    const isUnbounded = /[*+]|\{[0-9]+,\}/.test(source)
    return {
      matches(text) {
        affordable(matchingCost(text, source.length))
        return compiled.matcher(text).find()
      },
      findAll(text, limit) {
        affordable(matchingCost(text, source.length))
        const found: string[] = []
        const matcher = compiled.matcher(text)
        let work = 0
        while ((limit < 0 || found.length < limit) && matcher.find()) {
          found.push(matcher.group() ?? "")
          if (isUnbounded) work += text.length - matcher.end()
          if (work > MOST_WORK) throw new CostExceeded()
        }
        return found
      },
    }
  } catch (err) {
    return err instanceof Error ? err.message : String(err)
  }
}
