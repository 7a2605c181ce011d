/**
 * The format of a recording: what a cluster was, and what has been written to it since (docs/replay.md).
 *
 * - The first line is a JSON object in plain text, the head: `head -1 incident.k3ts` shows it.
 * - The rest is gzip (RFC 1952; one member a block): lines of JSON, each a record. First the objects at the beginning,
 *   in no order; then the writes since, in theirs; last the end, which counts them. A file without an end is cut off.
 *
 * A reader allocates nothing for what a head or an end announces, and every line has a limit.
 */
import type { KubeObject } from "../apimachinery/resource.ts"

/** The version of the format. A file of a later version is refused. */
export const RECORDING_FORMAT = 1
/** The longest line: the largest object that a server takes is a fifth of it. */
export const MOST_LINE_BYTES = 16 * 2 ** 20
/** The most bytes of all lines together: as objects in memory they take several times as many. */
export const MOST_BYTES = 2 ** 29
/** The deepest nesting of a line. Kinds of Kubernetes need some 30; what reads objects calls itself for each level. */
export const MOST_DEPTH = 200
/** The longest span, in milliseconds. */
export const LONGEST_SPAN_MS = 31 * 24 * 3_600_000

/** Whence authors are known: from the server's history, or only from the objects' managedFields. */
export type RecordedFrom = "history" | "watches"

export interface RecordingHead {
  /** Tells what the file is, and the version of its format. */
  readonly k3tsRecording: number
  /** RFC 3339: when the span begins. */
  readonly begin: string
  readonly from: RecordedFrom
  /** The version of the server. */
  readonly server: string
  /** The namespaces that were recorded; empty for all. */
  readonly namespaces: readonly string[]
  readonly anonymised: boolean
}

/** An object as it was at the beginning, and its place in the API. */
export interface RecordedObject {
  readonly type: "object"
  /** Plural: `deployments`. */
  readonly resource: string
  readonly object: KubeObject
}

/** One write. */
export interface RecordedWrite {
  readonly type: "write"
  readonly resource: string
  readonly revision: number
  /** RFC 3339. */
  readonly time: string
  readonly verb: "create" | "update" | "delete"
  /** Empty where only the clients are known. */
  readonly user: string
  /** The field managers by which it was written. */
  readonly clients: readonly string[]
  /** `status` or `scale` where that was written. */
  readonly subresource: string
  /** Whether a kubelet has written it: what it says of the node and its containers. */
  readonly report: boolean
  /** The object after the write; of a deleted one only what names it. */
  readonly object: KubeObject
}

export interface RecordingEnd {
  readonly type: "end"
  /** RFC 3339: when the span ends. */
  readonly time: string
  readonly objects: number
  readonly writes: number
  /** The kinds that were recorded, by group and plural: `apps/deployments`, `/pods`. */
  readonly resources: readonly string[]
  /** In words, what was not recorded. */
  readonly left: readonly string[]
}

/** A whole recording. */
export interface Recording {
  readonly head: RecordingHead
  readonly objects: readonly RecordedObject[]
  readonly writes: readonly RecordedWrite[]
  readonly end: RecordingEnd
}

/** A recording that cannot be read; the message says why. */
export class RecordingError extends Error {
  override readonly name = "RecordingError"
}

export const tooLarge = (mostBytes: number): RecordingError =>
  new RecordingError(`it has more than ${mostBytes >> 20} MiB of JSON: record a shorter span, or one namespace`)
