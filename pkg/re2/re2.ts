import { createRequire } from "node:module"
import type * as re2js from "re2js"
import { sizeFault } from "./limits.ts"

/**
 * Loads `re2js` with the first pattern: it takes some 10 ms, and most clusters have none. pkg/cel/compile.ts says why
 * there are two ways.
 */
const load = (): typeof re2js =>
  typeof require === "function"
    ? require("re2js") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("re2js")

/**
 * Compiles a regular expression in the syntax of Go's regexp package. Its matching time grows linearly with the length
 * of the text, whatever the pattern. A pattern whose repetitions make it very large is refused before it is compiled.
 * @throws Error in Go's words when the pattern is invalid or too large
 */
export function compileRe2(source: string): re2js.RE2JS {
  const problem = sizeFault(source)
  if (problem !== undefined) throw new Error(problem)
  return load().RE2JS.compile(source)
}
