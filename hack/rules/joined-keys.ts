/**
 * A key that is joined from several texts is a trap: users may write the separator, too, and then two of them share a
 * key. Whoever joins by a control character believes that no text contains it.
 */
import { isTest, lineAt } from "./source.ts"
import type { SourceFile, Violation } from "./source.ts"

/** A separator in source text that no name, but any text of a user, may contain. */
const CONTROL = String.raw`\\(?:n|t|0|x[01][0-9a-f]|u00[01][0-9a-f]|u\{0?[0-9a-f]\})`
/** Joined texts that become a key, an id, or the argument of a look-up. */
const PATTERNS: readonly RegExp[] = [
  new RegExp(String.raw`\b(?:const|let) (?:key|id|\w+Key|\w+Id) = [^;\n]*\.join\((["'\x60])${CONTROL}\1\)`, "gi"),
  new RegExp(String.raw`\b(?:const|let) (?:key|id|\w+Key|\w+Id) = \x60[^\x60\n]*\}${CONTROL}\$\{`, "gi"),
  new RegExp(String.raw`\.(?:get|set|has|add|delete)\([^()\n]*\.join\((["'\x60])${CONTROL}\1\)`, "gi"),
  new RegExp(String.raw`\.(?:get|set|has|add|delete)\(\x60[^\x60\n]*\}${CONTROL}\$\{`, "gi"),
  /\.join\((["'`])\\(?:0|x00|u0000)\1\)/g,
]

export function joinedKeyViolations(files: readonly SourceFile[]): readonly Violation[] {
  return files
    .filter(({ path }) => /^(?:cmd|components|pkg)\//.test(path) && !isTest(path))
    .flatMap(({ path, text }) => {
      const lines = new Set(
        PATTERNS.flatMap((pattern) => [...text.matchAll(pattern)].map(({ index }) => lineAt(text, index))),
      )
      return [...lines].map((line) => ({
        path,
        line,
        message: "a key is joined from texts that may contain the separator",
        mend: "use exactKey() of pkg/cache/exact-key.ts, or a map of maps",
      }))
    })
}
