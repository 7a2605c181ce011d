/**
 * Private members have names with `#`, which the runtime keeps private too, and which a reader of `this.#x` sees
 * without the declaration. A constructor has no such form, and what runs all the time says `private`, which costs
 * nothing.
 */
import { lineAt } from "./source.ts"
import type { SourceFile, Violation } from "./source.ts"

/** With `#` in these, 20 seeds of the hunt took 15 s of processor time, and 13 s without. */
const HOT: ReadonlySet<string> = new Set([
  "components/apiserver/call/exchange.ts",
  "components/apiserver/call/query.ts",
  "components/apiserver/http/watch/watch-stream.ts",
  "components/controller-manager/garbagecollector/graph.ts",
  "components/scheduler/plugins/pod-terms.ts",
  "components/scheduler/queue.ts",
  "pkg/apimachinery/fields.ts",
  "pkg/apimachinery/selectors/labels.ts",
  "pkg/clock/timer-heap.ts",
  "pkg/clock/virtual.ts",
  "pkg/controller/workqueue.ts",
  "pkg/metrics/registry.ts",
])
const PRIVATE = /^\s*(?:(?:static|override) )*private (?!constructor\b)[^\n]*/gm

/** Every member that is declared with `private` where that is not needed. */
export function memberViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, text, code }) =>
    (HOT.has(path) ? [] : [...code.matchAll(PRIVATE)]).map(({ 0: match, index }): Violation => ({
      path,
      line: lineAt(text, index + match.length),
      message: `declares ${match.trim().split(/[(:=]/)[0]!.trim()}`,
      mend: "give the member a name with #",
    })),
  )
}
