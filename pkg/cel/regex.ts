import { RecentByText } from "../cache/recent-by-text.ts"
import {
  compiledCharacters,
  countPattern,
  MOST_COMPILED_CHARACTERS,
  type PatternBudget,
  sizeOfPattern,
} from "../re2/limits.ts"
import { compileRe2 } from "../re2/re2.ts"
import { errorMessage } from "../errors/error-message.ts"
import { matchingCost } from "./cost/sizes.ts"
import { affordable, CostExceeded } from "./limits.ts"

/**
 * A regular expression with the syntax of Go's regexp package. The time of a match is linear in the length of string
 * and pattern; the backtracking expressions of JavaScript could run for hours.
 */
export interface Pattern {
  /** Whether the pattern matches anywhere in a string. */
  matches(text: string): boolean
  /** Returns the non-overlapping matches in a string, from left to right; at most `limit` unless that is negative. */
  findAll(text: string, limit: number): string[]
}

/**
 * The most characters that all searches in one string may read. A search for `a.*b|a` reads the whole rest of the
 * string for every match, as upstream's does; here that ends the evaluation after some tenths of a second.
 */
const MOST_WORK = 20_000_000

interface CompiledPattern {
  readonly pattern: Pattern | string
  /** In instructions: every evaluation counts it, and to work it out takes longer than most evaluations. */
  readonly size: number
  readonly weight: number
}

const known = new RecentByText<CompiledPattern>({
  entries: 1000,
  characters: MOST_COMPILED_CHARACTERS,
  weightOf: ({ weight }) => weight,
})

/** What the evaluation that runs now may compile. */
let current: PatternBudget | undefined

/** Lets an evaluation begin that may compile so much. Returns what ends it. */
export function beginPatterns(budget: PatternBudget): PatternBudget | undefined {
  const before = current
  current = budget
  return before
}

/** Goes back to what `beginPatterns` returned. */
export const endPatterns = (before: PatternBudget | undefined): void => void (current = before)

/**
 * Compiles a pattern; returns Go's message as a string when it is invalid. The last patterns are cached, since
 * expressions may compute the same patterns for every object.
 * @throws CostExceeded when the patterns of the evaluation that runs now are too large together
 */
export function compilePattern(source: string): Pattern | string {
  const before = known.get(source)
  const size = before?.size ?? sizeOfPattern(source)
  if (current?.takes(source, size) === false) throw new CostExceeded()
  if (before !== undefined) return before.pattern
  const pattern = compileAnew(source)
  known.set(source, {
    pattern,
    size,
    weight: typeof pattern === "string" ? pattern.length : compiledCharacters(source),
  })
  return pattern
}

/** The functions whose last required argument is a pattern. */
export const PATTERN_FUNCTIONS: ReadonlySet<string> = new Set(["matches", "find", "findAll"])

/** Returns why a constant pattern cannot be compiled; undefined when it was. */
export function constantFault(source: string): string | undefined {
  const pattern = countPattern(source) ?? compilePattern(source)
  return typeof pattern === "string" ? pattern : undefined
}

function compileAnew(source: string): Pattern | string {
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
    return errorMessage(err)
  }
}
