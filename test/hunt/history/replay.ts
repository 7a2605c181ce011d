import { countsDisruptions, keepsBudgets } from "./budgets.ts"
import { followsMetrics, staysUp } from "./autoscaling.ts"
import { bindsOnce } from "./claims.ts"
import { timesTransitions } from "./condition-times.ts"
import type { Course } from "./course.ts"
import { backsOffCrashes } from "./crash-back-off.ts"
import { keepsTheSchedule } from "./cron-concurrency.ts"
import { keepsOneOnEachNode } from "./daemon-rollouts.ts"
import { addsTheGracePeriod, endsWithinTheGrace } from "./deletions.ts"
import { countsGenerations } from "./generations.ts"
import { changesSomething, keepsIdentity } from "./identity.ts"
import { backsOffJobs } from "./job-back-off.ts"
import { keepsParallelism } from "./job-pods.ts"
import { managesWhatIsThere } from "./managed-fields.ts"
import { keepsTheOrder } from "./ordered-ready.ts"
import { hasItsOwner } from "./owners.ts"
import { isPlacedWhereItFits } from "./placement.ts"
import { goesForward } from "./pod-life.ts"
import { keepsQuotas } from "./quotas.ts"
import { createsNoMoreThanReplicas } from "./replica-counts.ts"
import { keepsTheRollout } from "./rollouts.ts"
import { Seen, type Write } from "./seen.ts"
import type { WriteInvariant } from "./write.ts"

/** What holds at every write, whatever faults there were. */
export const AT_EACH_WRITE: Readonly<Record<string, WriteInvariant>> = {
  addsTheGracePeriod,
  backsOffCrashes,
  backsOffJobs,
  bindsOnce,
  changesSomething,
  countsDisruptions,
  countsGenerations,
  createsNoMoreThanReplicas,
  endsWithinTheGrace,
  followsMetrics,
  goesForward,
  hasItsOwner,
  isPlacedWhereItFits,
  keepsBudgets,
  keepsIdentity,
  keepsOneOnEachNode,
  keepsParallelism,
  keepsQuotas,
  keepsTheOrder,
  keepsTheRollout,
  keepsTheSchedule,
  managesWhatIsThere,
  staysUp,
  timesTransitions,
}

const MOST_PROBLEMS = 10

/** Replays all writes, and returns what each of them broke. */
export function brokenBy(
  writes: Iterable<Write>,
  course: Course,
  invariants: Readonly<Record<string, WriteInvariant>> = AT_EACH_WRITE,
): readonly string[] {
  const seen = new Seen(course)
  const problems: string[] = []
  for (const write of writes) {
    seen.take(write)
    for (const [name, invariant] of Object.entries(invariants))
      for (const problem of invariant(write, seen))
        problems.push(`${name}: ${problem} (revision ${write.revision} at ${write.time} by ${write.author})`)
    if (problems.length > MOST_PROBLEMS) break
  }
  return problems
}
