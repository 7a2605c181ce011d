import { clearedAtRest } from "../../cache/at-rest.ts"
import { RecentByText } from "../../cache/recent-by-text.ts"
import { compiledCharacters, countPattern, MOST_COMPILED_CHARACTERS } from "../../re2/limits.ts"
import { compileRe2 } from "../../re2/re2.ts"
import { errorMessage } from "../../errors/error-message.ts"

/**
 * Regular expressions of schemas with the syntax of Go (RE2). The time of a match is linear in the length of the text,
 * whatever the pattern, so no definition can stop the server with a pattern.
 */
export interface Pattern {
  /** What it takes when it is compiled, in characters of two bytes. */
  readonly weight: number
  /** Whether the pattern matches anywhere in a text. */
  matches(text: string): boolean
}

/** Caches patterns, which are few and the same in each version of a definition. */
const compiled = new RecentByText<Pattern>({
  entries: 20_000,
  characters: MOST_COMPILED_CHARACTERS,
  weightOf: ({ weight }) => weight,
})
/** Matching texts up to this length are cached, a limited number for each pattern, since names repeat. */
const LONGEST_REMEMBERED = 128
const MOST_REMEMBERED = 256

/** Compiles a pattern. @throws Error with Go's message when it is invalid */
export function patternOf(source: string): Pattern {
  const known = compiled.get(source)
  if (known !== undefined) return known
  const expression = compileRe2(source)
  const matched = clearedAtRest(new Set<string>())
  const pattern: Pattern = {
    weight: compiledCharacters(source),
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
  compiled.set(source, pattern)
  return pattern
}

/**
 * Returns Go's message for an invalid pattern of an object; undefined for a valid one. Source: regexp/syntax Error.
 * Differs from upstream: a pattern is refused as well when it makes all of the object's too large.
 */
export function patternProblem(source: string): string | undefined {
  const problem = countPattern(source)
  if (problem !== undefined) return problem
  try {
    patternOf(source)
    return undefined
  } catch (err) {
    return errorMessage(err)
  }
}
