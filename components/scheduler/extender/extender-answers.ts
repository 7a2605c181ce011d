/** Reads what extenders answer. Field names count in any case, as for Go's decoder. Source: extender/v1 types.go. */
import { unresolvable, unschedulable, type Status } from "../framework.ts"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns a field of an answer; undefined for one that is absent or null. */
export function fieldOf(object: unknown, name: string): unknown {
  if (!isObject(object)) throw new TypeError("answered no object")
  const lower = name.toLowerCase()
  const key = Object.hasOwn(object, name) ? name : Object.keys(object).find((one) => one.toLowerCase() === lower)
  return key === undefined ? undefined : (object[key] ?? undefined)
}

/** A reason is part of Events and of the pod's status: longer ones are cut, in characters. */
const LONGEST_REASON = 256

/** @throws Error with the extender's words, where it has some */
export function throwItsError(answer: unknown): void {
  const error = fieldOf(answer, "Error")
  if (error !== undefined && error !== "") throw new Error(String(error).slice(0, LONGEST_REASON))
}

export interface FilterResult {
  /** The names of the nodes that fit. */
  readonly names: ReadonlySet<string>
  readonly refused: ReadonlyMap<string, Status>
}

/** @throws TypeError for an answer that is none, or names nodes that were not asked about */
export function filterResult(answer: unknown, asked: ReadonlySet<string>): FilterResult {
  throwItsError(answer)
  const names = new Set(namesIn(answer))
  const unknown = [...names].find((name) => !asked.has(name))
  if (unknown !== undefined)
    throw new TypeError(
      `claims a filtered node ${JSON.stringify(unknown.slice(0, 100))} which is not found in the input node list`,
    )
  const refused = new Map<string, Status>([
    ...reasonsIn(answer, "FailedNodes", unschedulable),
    ...reasonsIn(answer, "FailedAndUnresolvableNodes", unresolvable),
  ])
  return { names, refused: new Map([...refused].filter(([name]) => asked.has(name))) }
}

function namesIn(answer: unknown): readonly string[] {
  const names = fieldOf(answer, "NodeNames")
  if (names !== undefined) return texts(names, "NodeNames")
  const nodes = fieldOf(answer, "Nodes")
  if (nodes === undefined) return []
  const items = fieldOf(nodes, "items") ?? []
  if (!Array.isArray(items)) throw new TypeError("Nodes.items must be a list")
  return texts(
    items.map((item) => fieldOf(fieldOf(item, "metadata") ?? {}, "name")),
    "the names of Nodes",
  )
}

function texts(value: unknown, what: string): readonly string[] {
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string"))
    throw new TypeError(`${what} must be a list of names`)
  return value
}

function reasonsIn(
  answer: unknown,
  field: string,
  status: (reason: string) => Status,
): readonly (readonly [string, Status])[] {
  const reasons = fieldOf(answer, field)
  if (reasons === undefined) return []
  if (!isObject(reasons)) throw new TypeError(`${field} must be reasons by node`)
  return Object.entries(reasons).map(([name, reason]) => [name, status(String(reason).slice(0, LONGEST_REASON))])
}

/** Returns the scores by node, as they are. @throws TypeError for an answer that is no list of whole numbers */
export function prioritizeResult(answer: unknown): ReadonlyMap<string, number> {
  if (!Array.isArray(answer)) throw new TypeError("answered no list of scores")
  return new Map(
    answer.map((item: unknown) => {
      const [host, score] = [fieldOf(item, "Host"), fieldOf(item, "Score") ?? 0]
      if (typeof host !== "string" || !Number.isSafeInteger(score))
        throw new TypeError("answered a score that is no whole number, or of no host")
      return [host, score as number]
    }),
  )
}

export interface MetaVictims {
  readonly uids: readonly string[]
  readonly budgetViolations: number
}

/** Returns the UIDs of the victims, by node. @throws TypeError */
export function preemptResult(answer: unknown): ReadonlyMap<string, MetaVictims> {
  const nodes = fieldOf(answer, "NodeNameToMetaVictims") ?? {}
  if (!isObject(nodes)) throw new TypeError("NodeNameToMetaVictims must be victims by node")
  return new Map(
    Object.entries(nodes).map(([name, victims]) => {
      const pods = fieldOf(victims, "Pods") ?? []
      if (!Array.isArray(pods)) throw new TypeError("Pods must be a list")
      const uids = texts(
        pods.map((pod) => fieldOf(pod, "UID")),
        "the UIDs of Pods",
      )
      return [name, { uids, budgetViolations: Number(fieldOf(victims, "NumPDBViolations") ?? 0) || 0 }]
    }),
  )
}
