import { formatTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { historyOf } from "../history/history.ts"
import { replay } from "../options/seed.ts"
import { aligned, folded, forConsole, mostTelling } from "./layout.ts"
import type { Moment } from "./moment.ts"
import { troubledIn } from "./troubled.ts"
import { momentsOf } from "./writes.ts"
import { podInWords } from "./pod-in-words.ts"

/** The lines of a report on a console. */
const LINES = 60

/** What has happened in a cluster: what is wrong now, and how it came to it. */
export interface Report {
  /** Everything that happened, in as many lines as it needs. */
  readonly whole: string
  /** The path of the file with `whole`, if it was written. */
  readonly file: string | undefined
  /** Returns the most telling 60 lines. */
  toString(): string
}

type Sources = Pick<
  ClusterParts,
  | "storage"
  | "authorOf"
  | "clock"
  | "seed"
  | "faults"
  | "ownErrors"
  | "requestFailures"
  | "began"
  | "startedAt"
  | "assembly"
>

/** Makes a report. `write` gets the whole, and returns the path of its file, or undefined. */
export function makeReport(sources: Sources, write: (whole: string) => string | undefined): Report {
  const { storage, clock, seed, began, assembly } = sources
  const objects = storage.list("/").map(({ object }) => object)
  const { lines, names } = troubledIn(objects, (pod) => podInWords(pod, assembly.scheduler?.diagnosis(pod)))
  const moments = allOf(sources)
  const head = `The cluster until ${formatTime(clock.now())} (${replay(seed)})`
  const state =
    lines.length === 0 ? ["Every pod, workload, claim and node is ready"] : ["Not ready:", ...lines.map(indented)]
  const whole = [head, "", ...state, "", "What happened:", ...aligned(moments, began).map(indented), ""].join("\n")
  const file = write(whole)
  const short = folded(moments.filter(({ isEcho }) => isEcho !== true))
  const shown = mostTelling(short, LINES - state.length - 4, names)
  const left = moments.length - shown.length
  const hint = left === 0 ? "" : ` (${left} more lines in ${file ?? "`whole`"})`
  const text = [head, "", ...state, "", `What happened${hint}:`, ...forConsole(shown, began).map(indented)].join("\n")
  return { whole, file, toString: () => text }
}

const indented = (line: string): string => `  ${line}`

/** Returns all moments in their order. */
function allOf(sources: Sources): readonly Moment[] {
  const { storage, authorOf, faults, ownErrors, requestFailures } = sources
  // Of the start of the cluster nobody asks.
  const first = sources.startedAt()
  return [
    ...historyOf(storage, {}, authorOf).flatMap((entry) =>
      entry.revision > first ? momentsOf(entry) : momentsOf(entry).map((moment) => ({ ...moment, isEcho: true })),
    ),
    ...faults.moments(),
    ...ownErrors.moments(),
    ...requestFailures.moments(),
  ].toSorted((a, b) => a.time - b.time)
}
