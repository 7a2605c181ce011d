import type { HistoryEntry } from "../../components/cluster/testing/testing.ts"
import type { Program } from "./program.ts"
import { recorded } from "./run.ts"
import { nameOf } from "./world.ts"

/**
 * Runs a program with all probes, and once more without those that are known to change nothing. Returns the
 * violations, and the first difference between the two histories: revisions, objects, times and authors must be the
 * same. Heartbeats run at their own instants in both.
 */
export async function runBothWays(program: Program): Promise<readonly string[]> {
  const whole = await recorded(program, { skips: [] })
  const skipped = await recorded(program, { skips: ["probes"] })
  return [...whole.problems, ...skipped.problems, ...differences(whole.writes, skipped.writes)]
}

function differences(whole: readonly HistoryEntry[], skipped: readonly HistoryEntry[]): readonly string[] {
  const at = whole.findIndex((entry, i) => skipped[i] === undefined || textOf(entry) !== textOf(skipped[i]))
  if (at < 0 && whole.length === skipped.length) return []
  const first = at < 0 ? whole.length : at
  const words = (entry: HistoryEntry | undefined) => (entry === undefined ? "nothing" : textOf(entry).slice(0, 4000))
  return [
    `with probes left out, write ${first} of ${whole.length} differs: ${nameOf((whole[first] ?? skipped[first])!.object)}\n` +
      `    whole:   ${words(whole[first])}\n    skipped: ${words(skipped[first])}`,
  ]
}

const textOf = ({ revision, type, time, author, object }: HistoryEntry): string =>
  `${revision} ${time} ${author} ${type} ${JSON.stringify(object)}`
