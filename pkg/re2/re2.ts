import { createRequire } from "node:module"
import type * as re2js from "re2js"

/**
 * `re2js` is loaded with the first pattern: it takes some 10 ms, and most clusters have none. See pkg/cel/compile.ts
 * for why there are two ways.
 */
const load = (): typeof re2js =>
  typeof require === "function"
    ? require("re2js") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("re2js")

/**
 * Compiles a regular expression in the syntax of Go's regexp package, which matches in time that grows with the length
 * of the text, whatever the pattern.
 * @throws Error in Go's words where it is none
 */
export const compileRe2 = (source: string): re2js.RE2JS => load().RE2JS.compile(source)
