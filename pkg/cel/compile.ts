import { createRequire } from "node:module"
import type * as compiler from "./compiler.ts"
import type { CompileOptions, Compiled, Refused } from "./program.ts"

/**
 * The compiler is loaded with the first expression, since that takes some 30 ms and most clusters have none. Only Bun
 * and its bundler have `require` in a module, and the bundler only finds a call written like this one; Deno needs
 * `createRequire`.
 */
const load = (): typeof compiler =>
  typeof require === "function"
    ? require("./compiler.ts") // oxlint-disable-line typescript/no-require-imports
    : createRequire(import.meta.url)("./compiler.ts")

/** Compiles an expression with the libraries of Kubernetes 1.36. */
export const compile = (source: string, options: CompileOptions): Compiled | Refused => load().compile(source, options)
