import type { CronJob, Job } from "../../../components/cluster/testing/testing.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { nameOf } from "../world.ts"
import { isBy, type WriteInvariant } from "./write.ts"

const SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"

/**
 * A CronJob creates each of its Jobs once, not before its time nor after its deadline, and none while it is suspended;
 * with Forbid none while another runs, and with Replace none before the others were deleted. Source:
 * cronjob_controllerv2.go.
 */
export const keepsTheSchedule: WriteInvariant = (write, seen) => {
  const { object, type } = write
  const job = object as Job
  if (object.kind !== "Job" || type !== "create" || !isBy(write, "cronjob-controller")) return []
  const uid = controllerOf(job)?.uid
  const crons = seen.recent<CronJob>("CronJob", uid)
  if (crons.length === 0) return []
  const name = nameOf(crons.at(-1)!)
  const at = job.metadata.annotations?.[SCHEDULED] ?? ""
  const problems: string[] = []
  const jobs = seen
    .all<Job>("Job")
    .filter((one) => controllerOf(one)?.uid === uid && one.metadata.uid !== job.metadata.uid)
  const twins = jobs.filter(({ metadata }) => metadata.annotations?.[SCHEDULED] === at)
  if (twins.length > 0) problems.push(`${name} creates a Job for ${at} twice`)
  if (crons.every(({ spec }) => spec.suspend === true)) problems.push(`${name} creates a Job though it is suspended`)
  // Where the clock was set, or writes failed, times and the list of active Jobs are those of before.
  if (!seen.course.wasCalm(seen.now - 600_000, seen.now)) return problems
  if (Date.parse(at) > seen.now) problems.push(`${name} creates the Job of ${at} early`)
  const deadlines = crons.map(({ spec }) => spec.startingDeadlineSeconds ?? Infinity)
  if (seen.now > Date.parse(at) + Math.max(...deadlines) * 1000)
    problems.push(`${name} creates the Job of ${at} ${(seen.now - Date.parse(at)) / 1000} s late`)
  const running = jobs.filter((one) => !hasEnded(one))
  const policies = new Set(crons.map(({ spec }) => spec.concurrencyPolicy))
  if (policies.size > 1) return problems
  if (policies.has("Forbid") && running.length > 0)
    problems.push(`${name} forbids concurrency, and creates a Job beside ${running.map(nameOf).join()}`)
  const kept = running.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  if (policies.has("Replace") && kept.length > 0)
    problems.push(`${name} replaces Jobs, and creates one beside ${kept.map(nameOf).join()}`)
  return problems
}

const hasEnded = ({ status }: Job): boolean =>
  status.conditions?.some(({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True") ===
  true
