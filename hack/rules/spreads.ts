/**
 * A call like `into.push(...list)` puts each item on the stack as an argument, and throws a RangeError where that has no
 * room: for some hundred thousand items. Who can write a long list into an object, or can create many objects, could so
 * make requests fail.
 */
import { isTest, lineAt } from "./source.ts"
import type { SourceFile, Violation } from "./source.ts"

const ROOMS = ["cmd/", "components/", "pkg/"]
/** Files whose spread lists are short, whatever users write. */
const SHORT: Readonly<Record<string, string>> = {
  "pkg/storage/sorted-lines.ts": "a text that grew by a line is replaced by two at most",
}

/** What takes a list as its arguments, up to the opening parenthesis. */
const TAKERS = /(?:\.(?:push|unshift|splice)|\bMath\.(?:max|min)|\bString\.from(?:CharCode|CodePoint))\(/g

/** Every call whose arguments are the items of a list of unknown length. */
export function spreadViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, code, text }) => {
    if (isTest(path) || path in SHORT || !ROOMS.some((room) => path.startsWith(room))) return []
    return [...code.matchAll(TAKERS)]
      .filter(({ 0: match, index }) => spreads(code, index + match.length))
      .map(({ 0: match, index }): Violation => ({
        path,
        line: lineAt(text, index),
        message: `the items of a list of any length are the arguments of ${match.slice(0, -1)}`,
        mend: "use pushAll(), largest() or smallest() of pkg/lists, or a loop",
      }))
  })
}

/** Whether one of the arguments that begin at `start` is a spread list. */
function spreads(code: string, start: number): boolean {
  let depth = 0
  for (let i = start; i < code.length; i++) {
    if ("([{".includes(code[i]!)) depth++
    else if (")]}".includes(code[i]!)) {
      if (depth-- === 0) return false
    } else if (depth === 0 && code.startsWith("...", i)) return true
  }
  return false
}
