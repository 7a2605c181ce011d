import { programSize } from "./program-size.ts"

/**
 * The largest size of a pattern, in instructions: it takes some 50 ms to compile. Go refuses beyond 3.3 million, which
 * would take 10 s here.
 */
export const MOST_INSTRUCTIONS = 20_000
/** Longer patterns are refused unread. */
const LONGEST = 100_000
/** What the repetitions of all patterns of one object may add to them, in instructions. */
const MOST_OF_OBJECT = 40_000
/** The most instructions of one character: `|` and `*` are two. */
const LARGEST_CHARACTER = 2
/** What a compiled pattern takes for each of its instructions, in characters of two bytes. */
const CHARACTERS_OF_INSTRUCTION = 100
/**
 * What a cache of compiled patterns may take, in characters of two bytes. A cache keeps nothing that takes more than an
 * eighth, so this is enough for the largest pattern, which would be compiled for each text otherwise.
 */
export const MOST_COMPILED_CHARACTERS = 32_000_000
/** What may be quoted of a pattern that is too large. */
const QUOTED = 64
const fault = (what: string, source: string): string =>
  `error parsing regexp: ${what}: \`${source.length > QUOTED ? `${source.slice(0, QUOTED)}…` : source}\``

/** Returns Go's message about a pattern that is too large to be compiled; undefined for any other. */
export function sizeFault(source: string): string | undefined {
  if (source.length > LONGEST) return fault("expression too large", source)
  // Without a repetition or a class of Unicode a pattern is hardly larger than its text.
  if (source.length * LARGEST_CHARACTER <= MOST_INSTRUCTIONS && !/\{\d|\\[pP]|\(\?/.test(source)) return undefined
  const { size, invalidRepeat } = programSize(source)
  if (size <= MOST_INSTRUCTIONS) return undefined
  return invalidRepeat === undefined
    ? fault("expression too large", source)
    : fault("invalid repeat count", invalidRepeat)
}

/** What all patterns of one evaluation may take, in instructions: some 250 ms to compile, and a cache holds them. */
const MOST_OF_EVALUATION = 100_000

/**
 * What the patterns of an evaluation, or of several that belong together, have taken. Expressions may compute any
 * number of patterns, of which each takes up to 50 ms to compile, and upstream charges nothing for that.
 */
export class PatternBudget {
  #seen: Set<string> | undefined
  #taken = 0

  /** Counts a pattern and its size in instructions, the same one once. Returns whether it may be compiled. */
  takes(source: string, size: number): boolean {
    if (this.#seen?.has(source) === true) return true
    this.#taken += size
    if (this.#taken > MOST_OF_EVALUATION) return false
    this.#seen = (this.#seen ?? new Set()).add(source)
    return true
  }
}

/** What a pattern takes in a cache when it is compiled, in characters of two bytes. */
export const compiledCharacters = (source: string): number => CHARACTERS_OF_INSTRUCTION * programSize(source).size

/** The size of a pattern, in instructions; 0 for one that is refused unread. */
export const sizeOfPattern = (source: string): number => (source.length > LONGEST ? 0 : programSize(source).size)

/** What the repetitions of a pattern add to its text, in instructions. */
export const expansionOf = (source: string): number =>
  Math.max(0, programSize(source).size - LARGEST_CHARACTER * source.length)

/** The patterns of one object that were counted, and what their repetitions added. */
export interface PatternsOfObject {
  seen?: Set<string>
  taken: number
}

/** Those of the object that is validated. */
let current: PatternsOfObject | undefined

/**
 * Does work that compiles the patterns of one object: all of them together may only be so large. Work that is done in
 * several steps passes the same `patterns` to each.
 */
export function withPatternsOfObject<T>(work: () => T, patterns: PatternsOfObject = { taken: 0 }): T {
  if (current !== undefined) return work()
  current = patterns
  try {
    return work()
  } finally {
    current = undefined
  }
}

/**
 * Counts a pattern of the object that is validated; the same one counts once. Returns a message when all that were
 * counted are too large.
 */
export function countPattern(source: string): string | undefined {
  if (current === undefined || current.seen?.has(source) === true) return undefined
  current.seen = (current.seen ?? new Set()).add(source)
  current.taken += expansionOf(source)
  return current.taken > MOST_OF_OBJECT
    ? `the repetitions in the patterns of this object are too large: at most ${MOST_OF_OBJECT} steps are allowed`
    : undefined
}
