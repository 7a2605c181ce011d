import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { formatMicroTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import { maskedChanges } from "../../../../pkg/history/masked.ts"
import { printed } from "../../../../pkg/terminal/printed.ts"
import type { Leaves } from "./leaves.ts"
import type { ObjectState, Timeline } from "./timeline.ts"

/** Where a replay first does something else than its recording. */
export interface ReplayDifference {
  /** RFC 3339. */
  readonly time: string
  readonly apiVersion: string
  readonly kind: string
  /** Empty for kinds without namespaces. */
  readonly namespace: string
  readonly name: string
  /** The write that the other side does not have. */
  readonly write: {
    readonly of: "recording" | "replay"
    readonly revision: number
    readonly user: string
    readonly verb: "create" | "update" | "delete"
  }
  /** The fields that differ; none where the object is there on one side only. */
  readonly fields: readonly DifferentField[]
  /** The object in both, as of this time; undefined where it is not there. */
  readonly recorded: KubeObject | undefined
  readonly replayed: KubeObject | undefined
  toString(): string
}

export interface DifferentField {
  readonly path: string
  /** Undefined where the field is absent. */
  readonly recorded: unknown
  readonly replayed: unknown
}

/** The states of one object in both runs. */
export interface ObjectRuns {
  readonly recording: Timeline
  readonly replay: Timeline
}

export interface CompareOptions {
  readonly toleranceMs: number
  /** The time of the replay. */
  readonly now: number
}

/** A write of one side whose effect the other side does not have. */
interface Found {
  readonly of: "recording" | "replay"
  readonly index: number
  readonly state: ObjectState
  /** Undefined where the object itself came or went. */
  readonly paths: readonly string[] | undefined
}

/** Returns the first difference of all objects. */
export function firstDifference(objects: Iterable<ObjectRuns>, options: CompareOptions): ReplayDifference | undefined {
  let first: { readonly found: Found; readonly runs: ObjectRuns } | undefined
  for (const runs of objects)
    for (const found of [inOne("recording", runs, options), inOne("replay", runs, options)])
      if (found !== undefined && (first === undefined || found.state.time < first.found.state.time))
        first = { found, runs }
  return first === undefined ? undefined : differenceOf(first.found, first.runs)
}

/** Returns the first write of one side of which the other side has not the effect within the tolerance. */
function inOne(of: Found["of"], runs: ObjectRuns, { toleranceMs, now }: CompareOptions): Found | undefined {
  const own = runs[of]
  const other = runs[of === "recording" ? "replay" : "recording"]
  for (let index = 1; index < own.states.length; index++) {
    const state = own.states[index]!
    if (!state.isCompared) continue
    // What comes may still be the same.
    if (state.time + toleranceMs > now) return undefined
    const [before, after] = [own.leaves(own.states[index - 1]!), own.leaves(state)]
    const [from, to] = [state.time - toleranceMs, state.time + toleranceMs]
    const isMissing = (holds: (leaves: Leaves | undefined) => boolean): boolean =>
      own.lasts(index, holds) - state.time >= toleranceMs && !other.had(from, to, holds)
    if ((before === undefined) !== (after === undefined)) {
      if (isMissing((leaves) => (leaves === undefined) === (after === undefined)))
        return { of, index, state, paths: undefined }
    }
    if (after === undefined) continue
    const changed = new Set([...after.keys(), ...(before?.keys() ?? [])])
    const paths = [...changed].filter((path) => {
      const value = after.get(path)
      return before?.get(path) !== value && isMissing((leaves) => leaves !== undefined && leaves.get(path) === value)
    })
    if (paths.length > 0) return { of, index, state, paths }
  }
  return undefined
}

function differenceOf({ of, index, state, paths }: Found, { recording, replay }: ObjectRuns): ReplayDifference {
  const at = ({ states }: Timeline) => states.findLast(({ time }) => time <= state.time)
  const own = of === "recording" ? recording : replay
  const [recordedState, replayedState] = [
    of === "recording" ? state : at(recording),
    of === "replay" ? state : at(replay),
  ]
  const [recorded, replayed] = [recordedState?.object, replayedState?.object]
  const [left, right] = [
    recordedState === undefined ? undefined : recording.leaves(recordedState),
    replayedState === undefined ? undefined : replay.leaves(replayedState),
  ]
  const object = (state.object ?? own.states[index - 1]!.object)!
  const { apiVersion, kind, metadata } = object
  const valueOf = (json: string | undefined): unknown =>
    json === undefined ? undefined : (JSON.parse(json) as unknown)
  const changes = (paths ?? []).map((path) => ({
    path,
    before: valueOf(left?.get(path)),
    after: valueOf(right?.get(path)),
  }))
  const fields = maskedChanges(changes, object).map(({ path, before, after }) => ({
    path,
    recorded: before,
    replayed: after,
  }))
  const hadBefore = own.states[index - 1]!.object !== undefined
  const verb = state.object === undefined ? "delete" : hadBefore ? "update" : "create"
  return new Difference(
    formatMicroTime(state.time),
    apiVersion,
    kind,
    metadata.namespace ?? "",
    metadata.name ?? "",
    { of, revision: state.revision, user: state.user, verb },
    fields,
    recorded,
    replayed,
  )
}

/** The most fields that the text tells. */
const MOST_TOLD = 10

class Difference implements ReplayDifference {
  constructor(
    readonly time: string,
    readonly apiVersion: string,
    readonly kind: string,
    readonly namespace: string,
    readonly name: string,
    readonly write: ReplayDifference["write"],
    readonly fields: readonly DifferentField[],
    readonly recorded: KubeObject | undefined,
    readonly replayed: KubeObject | undefined,
  ) {}

  toString(): string {
    const { of, revision, user, verb } = this.write
    const object = `${this.kind} ${this.namespace === "" ? "" : `${this.namespace}/`}${this.name}`
    const did = `${user} ${verb}s ${object}`
    const told = this.fields.slice(0, MOST_TOLD).map(fieldText)
    const more = this.fields.length - told.length
    const lines = [
      `${this.time}: in the ${of} (revision ${revision}) ${did}, and not in the ${of === "recording" ? "replay" : "recording"}`,
      ...told,
      ...(more > 0 ? [`  … and ${more} more fields`] : []),
    ]
    return printed(lines).trimEnd()
  }
}

const inWords = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value))

const fieldText = ({ path, recorded, replayed }: DifferentField): string =>
  `  ${path}: recorded ${inWords(recorded)}, replayed ${inWords(replayed)}`
