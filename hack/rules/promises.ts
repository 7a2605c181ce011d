/**
 * In the API server most of what may take time is there at once, and what follows must then happen in the same turn.
 * Tests for promises that are written out at each place hide that: one function says it, and why.
 */
import { isTest, lineAt } from "./source.ts"
import type { SourceFile, Violation } from "./source.ts"

const PLACE = "components/apiserver/call/maybe-promise.ts"

/** Every test for a promise in the API server, outside the file that has the functions for it. */
export function promiseViolations(files: readonly SourceFile[]): readonly Violation[] {
  return files
    .filter(({ path }) => path.startsWith("components/apiserver/") && path !== PLACE && !isTest(path))
    .flatMap(({ path, code, text }) =>
      [...code.matchAll(/instanceof Promise\b/g)].map(({ index }) => ({
        path,
        line: lineAt(text, index),
        message: "a value is tested for being a promise",
        mend: `use whenReady() or isPending() of ${PLACE}, or await`,
      })),
    )
}
