import type { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import type { Diagnosis, Status } from "../framework.ts"
import { bestOf, findCandidates, type Candidate, type NoPreemption, type Preemption } from "../preemption.ts"
import type { Consultation } from "./consult.ts"
import type { External } from "../external/external.ts"

/** Most candidates of which plugins are asked whether the pod would fit without the victims. */
const MOST_ASKED = 10

const NO_VICTIMS_ACCEPTED: NoPreemption = {
  message: "preemption: the plugins or extenders of the profile accept no victims.",
  keepsNomination: true,
}

/**
 * Finds the victims for a pod of which externals have a say: extenders choose among the candidates, and the filters of
 * plugins must accept the node without the victims. A plugin's own postFilter may nominate a node where preemption
 * finds none. Source: framework/preemption preemption.go Preempt, callExtenders.
 */
export async function findVictimsWith(
  consultation: Consultation,
  diagnosis: Diagnosis,
  budgets: readonly PodDisruptionBudget[],
): Promise<Preemption> {
  const { attempt, externals, cycle, log } = consultation
  const found = findCandidates(attempt.pod, diagnosis, cycle, budgets)
  const none: NoPreemption = "message" in found ? found : NO_VICTIMS_ACCEPTED
  if ("candidates" in found) {
    const accepted = await acceptedBy(externals, found.candidates, consultation)
    if (accepted !== undefined) return { candidate: accepted }
  }
  const refused = new Map<string, Status>([...diagnosis.nodes].map(([name, { status }]) => [name, status]))
  for (const external of externals) {
    if (!external.does("postFilter")) continue
    try {
      const node = await external.postFilter(attempt, refused)
      if (node !== undefined && cycle.cache.get(node) !== undefined)
        return { candidate: { node, victims: [], budgetViolations: 0 } }
    } catch (err) {
      log.warn("A plugin's postFilter failed", { plugin: external.name, err })
    }
  }
  return none
}

async function acceptedBy(
  externals: readonly External[],
  candidates: readonly Candidate[],
  consultation: Consultation,
): Promise<Candidate | undefined> {
  const { attempt, log } = consultation
  // A node without victims was refused by an external only, which knows better than preemption what would help.
  let left: readonly Candidate[] = candidates.filter(({ victims }) => victims.length > 0)
  for (const external of externals) {
    if (external.preempt === undefined || left.length === 0) continue
    try {
      left = await external.preempt(attempt, left)
    } catch (err) {
      log.warn("An extender failed to choose pods to preempt", { extender: external.name, err })
      if (!external.ignorable) return undefined
    }
  }
  for (let asked = 0; left.length > 0 && asked < MOST_ASKED; asked++) {
    const best = bestOf(left)
    if (await fitsWithout(best, externals, consultation)) return best
    left = left.filter((one) => one !== best)
  }
  return undefined
}

/** Whether the filters of all plugins accept the node as it would be without the victims. */
async function fitsWithout(
  { node, victims }: Candidate,
  externals: readonly External[],
  { attempt, cycle }: Consultation,
): Promise<boolean> {
  const info = cycle.cache.get(node)
  if (info === undefined) return false
  const trial = info.clone()
  for (const victim of victims) trial.remove(victim)
  for (const external of externals) {
    if (external.sees !== "all" || !external.does("filter")) continue
    try {
      const { refused, preFilter } = await external.filter(attempt, [info], trial)
      if (preFilter !== undefined || refused.has(node)) return false
    } catch {
      if (!external.ignorable) return false
    }
  }
  return true
}
