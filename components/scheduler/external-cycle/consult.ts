import type { Logger } from "../../../pkg/log/log.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { Diagnosis, Refusal, Status } from "../framework.ts"
import type { NodeInfo } from "../node-info.ts"
import { findAmong, findFeasible, type CycleContext, type Outcome } from "../schedule-one.ts"
import { podName } from "../scheduling-context.ts"
import type { Attempt, External } from "../external/external.ts"

/** How often a pod is decided again at once, because the nodes that were accepted do not fit any more. */
const MOST_ROUNDS = 3

export interface Consultation {
  readonly attempt: Attempt
  readonly externals: readonly External[]
  readonly cycle: CycleContext
  readonly log: Logger
  /** Where the search among the nodes begins; moved on by each search, so that every node gets its turn. */
  readonly turn: { startAt: number }
  /** Whether the pod still waits for a node. */
  isWaiting(): boolean
}

/** The outcome, or undefined for a pod that needs none any more. */
export type Consulted<T> = { readonly settled: T } | Exclude<Outcome, { readonly node: string }> | undefined

/**
 * Finds a node for a pod of which externals have a say. They are asked about the nodes that fit, which takes time;
 * meanwhile other pods get their nodes. So in the end all filters run again over what the externals have accepted, and
 * `settle` is called with the choice in the same turn.
 */
export async function consult<T>(consultation: Consultation, settle: (node: string) => T): Promise<Consulted<T>> {
  const { attempt, cycle, isWaiting } = consultation
  let last: Outcome | undefined
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const accepted = await acceptedNodes(consultation)
    if (!isWaiting()) return undefined
    if (!(accepted instanceof Map)) return accepted as Exclude<Outcome, { readonly node: string }>
    const outcome = findAmong(attempt.pod, cycle, accepted)
    if ("node" in outcome) return { settled: settle(outcome.node) }
    last = outcome
  }
  return last as Exclude<Outcome, { readonly node: string }>
}

/** Returns the nodes that the externals accept, with the sum of their scores; or why there is none. */
async function acceptedNodes({
  attempt,
  externals,
  cycle,
  log,
  turn,
}: Consultation): Promise<ReadonlyMap<string, number> | Outcome> {
  const filtering = externals.filter((one) => one.does("filter") || one.does("preFilter"))
  // An extender gets as many nodes as are scored; what a plugin refuses must not keep the search from going on.
  const looksAtAll = filtering.some(({ sees }) => sees === "all")
  const search = findFeasible(attempt.pod, cycle, turn.startAt, undefined, looksAtAll)
  turn.startAt = (turn.startAt + search.looked) % Math.max(1, cycle.cache.list.length)
  if ("outcome" in search) return search.outcome
  const refusals = new Map<string, Refusal>(search.refused.map(([{ name }, refusal]) => [name, refusal]))
  let left: readonly NodeInfo[] = search.feasible
  for (const external of filtering) {
    if (left.length === 0) break
    try {
      const { refused, preFilter } = await external.filter(attempt, left)
      if (preFilter !== undefined) return refusedAsAWhole(external.name, preFilter, cycle)
      left = left.filter(({ name }) => !refused.has(name))
      for (const [name, status] of refused) refusals.set(name, { plugin: external.name, status })
    } catch (err) {
      if (!external.ignorable) return { error: errorMessage(err) }
      log.warn("A pod is scheduled without a plugin or an extender that failed", { pod: podName(attempt.pod), err })
    }
  }
  if (left.length === 0) return noneLeft(refusals, cycle)
  return scored({ attempt, externals, log }, left)
}

function refusedAsAWhole(plugin: string, status: Status, { cache }: CycleContext): Outcome {
  const diagnosis: Diagnosis = { nodes: new Map(), totalNodes: cache.list.length, preFilter: { plugin, status } }
  return { diagnosis, plugins: new Set([plugin]) }
}

function noneLeft(refusals: ReadonlyMap<string, Refusal>, { cache }: CycleContext): Outcome {
  return {
    diagnosis: { nodes: refusals, totalNodes: cache.list.length },
    plugins: new Set([...refusals.values()].map(({ plugin }) => plugin)),
  }
}

/** Asks all at once. What fails adds nothing: a pod rather goes to a worse node than to none. */
async function scored(
  { attempt, externals, log }: Pick<Consultation, "attempt" | "externals" | "log">,
  nodes: readonly NodeInfo[],
): Promise<ReadonlyMap<string, number>> {
  const sums = new Map(nodes.map(({ name }) => [name, 0]))
  const scoring = externals.filter((one) => one.does("score"))
  if (nodes.length < 2) return sums
  const answers = await Promise.allSettled(scoring.map((one) => one.score(attempt, nodes)))
  for (const answer of answers) {
    if (answer.status === "rejected")
      log.warn("Nodes are ranked without a plugin or an extender that failed", {
        pod: podName(attempt.pod),
        err: answer.reason,
      })
    else for (const [name, score] of answer.value) if (sums.has(name)) sums.set(name, sums.get(name)! + score)
  }
  return sums
}
