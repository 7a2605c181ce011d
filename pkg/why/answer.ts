/** What `k3ts why` answers. The same values are its JSON, so names here are an interface of the program. */
import type { Command } from "./command.ts"

export interface ObjectRef {
  /** `<group>/<version>`, or `v1`. */
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** Undefined for objects of the cluster. */
  readonly namespace?: string
}

/** One step of the chain from the object that was asked about to the cause. */
export interface Link {
  readonly object: ObjectRef
  /** What is the matter with the object, in a few words: `0 of 3 pods are available`. */
  readonly says: string
}

/** A command that removes the cause, complete: it can be run as it is. */
export interface Mend {
  readonly command: string
  /** What the command does, and what it costs: `ends pod default/old`. */
  readonly says: string
  /** What came of it where it was tried. */
  readonly tried?: Trial
}

/** What a mend did in a copy of the cluster. */
export interface Trial {
  /** `not-known` where the copy cannot tell: what ails the object there depends on programs, which do not run in it. */
  readonly verdict: "helps" | "does-not-help" | "not-known"
  /** `the Deployment is well within 5s`, or why it is not. */
  readonly says: string
}

export interface Cause {
  /** A name for programs: `image-not-found`. */
  readonly code: string
  readonly message: string
  /** What the cause was concluded from, as the cluster says it: events, conditions, lines of logs. */
  readonly evidence: readonly string[]
  /** False: other causes are possible, and the message says so. */
  readonly sure: boolean
}

/**
 * How a finding weighs: `broken` does not end by itself, `waiting` may end by itself, `under-way` takes no longer yet
 * than it may, `note` is worth knowing about an object that is well.
 */
export type Weight = "broken" | "waiting" | "under-way" | "note"

export interface Finding {
  readonly weight: Weight
  /** Of what takes its time: when it began, and until when nothing is wrong with that (RFC 3339). */
  readonly since?: string
  readonly until?: string
  readonly cause: Cause
  /** From the object that was asked about to the one that has the cause. */
  readonly chain: readonly Link[]
  readonly mends: readonly Mend[]
  /** What else could help, where no complete command is certain to. */
  readonly hints: readonly string[]
}

/** What is known of one object. */
export interface Opinion {
  readonly healthy: boolean
  /** The state of the object in a few words. */
  readonly summary: string
  /** The most important first. */
  readonly findings: readonly Finding[]
  /** What could not be found out, and why. */
  readonly unknown: readonly string[]
}

export interface Answer extends Opinion {
  readonly object: ObjectRef
}

/**
 * The state of an answer: `under-way` where nothing is wrong yet, `unknown` where the object is not well and no cause
 * was found.
 */
export type State = "healthy" | "under-way" | "unwell" | "unknown"

export function stateOf({ healthy, findings, unknown }: Opinion): State {
  if (findings.some(isWrong)) return "unwell"
  if (unknown.length > 0) return "unknown"
  if (findings.some(({ weight }) => weight === "under-way")) return "under-way"
  return healthy ? "healthy" : "unknown"
}

/** Whether a finding says that something is wrong. */
export const isWrong = ({ weight }: Pick<Finding, "weight">): boolean => weight === "broken" || weight === "waiting"

/** The exit code of each state. */
export const EXIT_CODE: Readonly<Record<State, number>> = { healthy: 0, "under-way": 0, unwell: 1, unknown: 2 }

const WEIGHTS: readonly Weight[] = ["broken", "waiting", "under-way", "note"]

/** Compares findings: those that do not end by themselves first, then those that are sure. */
export const byWeight = (a: Finding, b: Finding): number =>
  WEIGHTS.indexOf(a.weight) - WEIGHTS.indexOf(b.weight) || Number(b.cause.sure) - Number(a.cause.sure)

/** Returns a name for texts: `Pod default/web-0`, `Node vm`. */
export const nameOf = ({ kind, namespace, name }: ObjectRef): string =>
  `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`

/** Returns a finding of an object itself; the walk puts the object into the chain. */
export function finding(
  code: string,
  message: string,
  {
    evidence = [],
    sure = true,
    weight = "broken",
    mends = [],
    hints = [],
    chain = [],
  }: Partial<
    Omit<Cause, "code" | "message"> &
      Omit<Finding, "cause" | "hints"> & { readonly hints: readonly (string | Command)[] }
  > = {},
): Finding {
  return { weight, cause: { code, message, evidence, sure }, chain, mends, hints: hints.map(String) }
}

export const mend = ({ text }: Command, says: string): Mend => ({ command: text, says })
