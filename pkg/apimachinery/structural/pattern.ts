import { compileRe2 } from "../../re2/re2.ts"

/**
 * Regular expressions of schemas, as Go has them: RE2's syntax and meaning, matched in time that grows with the length
 * of the text, whatever the pattern. So no definition can stop the server with a pattern.
 */
export interface Pattern {
  /** Whether the pattern is found anywhere in a text. */
  matches(text: string): boolean
}

/** Patterns are few and come again in each version of a definition. Emptied when full. */
const compiled = new Map<string, Pattern>()
const MOST_COMPILED = 10_000
/** Texts that matched are remembered up to this length, so many for each pattern: names come again and again. */
const LONGEST_REMEMBERED = 128
const MOST_REMEMBERED = 256

/** A pattern ready to match. @throws Error in Go's words where it is none */
export function patternOf(source: string): Pattern {
  const known = compiled.get(source)
  if (known !== undefined) return known
  const expression = compileRe2(source)
  const matched = new Set<string>()
  const pattern: Pattern = {
    matches(text) {
      if (matched.has(text)) return true
      const found = expression.test(text)
      if (found && text.length <= LONGEST_REMEMBERED) {
        if (matched.size >= MOST_REMEMBERED) matched.clear()
        matched.add(text)
      }
      return found
    },
  }
  if (compiled.size >= MOST_COMPILED) compiled.clear()
  compiled.set(source, pattern)
  return pattern
}

/** Why a text is no pattern, in Go's words; undefined where it is one. Source: regexp/syntax Error. */
export function patternProblem(source: string): string | undefined {
  try {
    patternOf(source)
    return undefined
  } catch (err) {
    return err instanceof Error ? err.message : String(err)
  }
}
