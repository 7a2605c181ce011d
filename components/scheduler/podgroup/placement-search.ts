import { largest } from "../../../pkg/lists/extremes.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { PodGroupTools } from "../pod-groups.ts"
import { UNSCHEDULABLE } from "./outcome.ts"
import type { Placement } from "./placements.ts"
import { Steps } from "./steps.ts"
import { tryGroup, type Trial, type TrialOptions } from "./trial.ts"

/** What a search needs to know, which may change between two turns. */
export interface Searched {
  /** Returns the trial of the pods that still wait; undefined where none does, or the scheduler is being stopped. */
  options(): TrialOptions | undefined
  /** Returns the placements that the group may have now. */
  placements(): readonly Placement[] | { readonly fault: string }
  /** Weight of the number of pods; 0 where it does not count. */
  readonly countWeight: number
}

export type Conclusion =
  /** A trial that fits was not reverted. */
  | { readonly waiting: TrialOptions["waiting"]; readonly trial: Trial; readonly status: string }
  | { readonly fault: string }

const NOTHING: Trial = { found: [], placed: 0, fits: false, revert: () => undefined }

/**
 * Tries a group in every placement, some in each turn of the event loop, and then those with room again, the best
 * first, until one still has it. Nothing is assumed between two turns. Source: schedule_one_podgroup.go
 * podGroupSchedulingPlacementAlgorithm, findBestPlacement.
 * @param conclude is called at once with what was found, unless no pod waits any more
 */
export async function searchPlacements(
  tools: PodGroupTools,
  searched: Searched,
  conclude: (found: Conclusion) => void,
): Promise<void> {
  const steps = new Steps(tools.clock)
  const placements = searched.placements()
  if ("fault" in placements) return conclude(placements)
  const tried: Tried[] = []
  let refused: Conclusion | undefined
  for (const { domain, nodes } of placements) {
    if (steps.areMany) await steps.next()
    const options = searched.options()
    if (options === undefined) return
    const trial = tryGroup(tools, { ...options, among: nodes })
    trial.revert()
    steps.took(trial)
    const status = `0/${placements.length} placements are available, first placement status: ${trial.error ?? UNSCHEDULABLE}`
    if (trial.error !== undefined) return conclude({ waiting: options.waiting, trial, status })
    if (trial.fits) tried.push({ domain, placed: trial.placed })
    else refused ??= { waiting: options.waiting, trial, status }
  }
  for (const { domain } of bestFirst(tried, searched.countWeight, tools.random)) {
    if (steps.areMany) await steps.next()
    const options = searched.options()
    if (options === undefined) return
    const now = searched.placements()
    if ("fault" in now) return conclude(now)
    const placement = now.find((one) => one.domain === domain)
    if (placement === undefined) continue
    const trial = tryGroup(tools, { ...options, among: placement.nodes })
    if (trial.fits || trial.error !== undefined)
      return conclude({ waiting: options.waiting, trial, status: UNSCHEDULABLE })
    trial.revert()
    steps.took(trial)
    refused ??= { waiting: options.waiting, trial, status: UNSCHEDULABLE }
  }
  if (refused !== undefined) return conclude(refused)
  const options = searched.options()
  if (options !== undefined)
    conclude({ waiting: options.waiting, trial: NOTHING, status: "no feasible placements found" })
}

interface Tried {
  readonly domain: string
  /** How many pods of the group have a node there, or would have. */
  readonly placed: number
}

/** Orders placements by the part of the most pods, in percent, and its weight; those that are equal by chance. */
export function bestFirst(tried: readonly Tried[], weight: number, random: Random): readonly Tried[] {
  const most = largest(tried.map(({ placed }) => placed))
  return tried
    .map((one) => ({ one, score: Math.floor((one.placed * 100) / most) * weight, rank: random.next() }))
    .sort((a, b) => b.score - a.score || a.rank - b.rank)
    .map(({ one }) => one)
}
