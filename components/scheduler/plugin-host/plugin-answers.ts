/** Reads what plugins answer: values of any form, since they come from code that may do anything. */
import type { Filtered } from "../external/external.ts"
import { unresolvable, unschedulable, type SortKey, type Status } from "../framework.ts"

/** A reason is part of Events and of the pod's status: longer ones are cut, in characters. */
const LONGEST_REASON = 256

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns a refusal; undefined for none. @throws TypeError */
export function refusalAnswer(value: unknown): Status | undefined {
  if (value === undefined || value === null) return undefined
  if (!isObject(value) || typeof value["reason"] !== "string") throw new TypeError("answered no refusal")
  const reason = value["reason"].slice(0, LONGEST_REASON)
  return value["unresolvable"] === true ? unresolvable(reason) : unschedulable(reason)
}

/** @throws TypeError for an answer that is none, or is about other nodes than those that were asked about */
export function filterAnswer(value: unknown, asked: ReadonlySet<string>): Filtered {
  if (!isObject(value) || !isObject(value["refused"])) throw new TypeError("answered nothing about the nodes")
  const refused = new Map<string, Status>()
  for (const [name, refusal] of Object.entries(value["refused"])) {
    if (!asked.has(name)) throw new TypeError(`answered about node ${name.slice(0, 100)}, which it was not asked about`)
    const status = refusalAnswer(refusal)
    if (status !== undefined) refused.set(name, status)
  }
  return { refused, preFilter: refusalAnswer(value["preFilter"]) }
}

/** @throws TypeError where not every node has a score from 0 to 100 */
export function scoreAnswer(value: unknown, asked: readonly string[], weight: number): ReadonlyMap<string, number> {
  if (value === undefined || value === null) return new Map()
  if (!isObject(value)) throw new TypeError("answered no scores")
  return new Map(
    asked.map((name) => {
      const score = Object.hasOwn(value, name) ? value[name] : undefined
      if (typeof score !== "number" || !(score >= 0 && score <= 100))
        throw new TypeError(`answered no score from 0 to 100 for node ${name}`)
      return [name, score * weight]
    }),
  )
}

/** @throws TypeError for an answer that names no node */
export function nominateAnswer(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (!isObject(value) || typeof value["nominate"] !== "string") throw new TypeError("nominates no node")
  return value["nominate"]
}

/** Most parts of a key, and most characters of a text in it. */
const [MOST_PARTS, LONGEST_PART] = [8, 256]

/** @throws TypeError for an answer that orders nothing */
export function sortKeyAnswer(value: unknown): SortKey {
  const isPart = (part: unknown) =>
    typeof part === "number" || (typeof part === "string" && part.length <= LONGEST_PART)
  if (!Array.isArray(value) || value.length > MOST_PARTS || !value.every(isPart))
    throw new TypeError(`answered no key of at most ${MOST_PARTS} numbers and texts`)
  return value as SortKey
}
