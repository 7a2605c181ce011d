import { compileRe2 } from "../../re2/re2.ts"

export interface Pattern {
  matches(text: string): boolean
}

/** Patterns that mean the same in Go and in JavaScript. Most are names. */
const COMMON = /^[\w./@ :=,-]*$/

/**
 * Returns a regular expression in Go's syntax, which matches anywhere in a text.
 * @throws Error in Go's words
 */
export function goPattern(source: string, { before = "", after = "" } = {}): Pattern {
  if (COMMON.test(source)) {
    const pattern = new RegExp(before + source + after)
    return { matches: (text) => pattern.test(text) }
  }
  const pattern = compileRe2(before + source + after)
  return { matches: (text) => pattern.matcher(text).find() }
}

/** Returns a regular expression that matches whole texts. An empty one matches everything. */
export const wholePattern = (source: string | undefined): Pattern =>
  source === undefined || source === "" ? { matches: () => true } : goPattern(source, { before: "^(?:", after: ")$" })
