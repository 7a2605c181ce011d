import type { CronJob } from "../../api/batch/v1/cronjob.ts"
import type { Job } from "../../api/batch/v1/job.ts"
import { formatTime, humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { lastRun, nextRun } from "../../cron/next.ts"
import { parseZonedCron } from "../../cron/schedule.ts"
import { isTimeZone } from "../../cron/zone.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { askThrough, doctor, healthy, isOwnedBy, unwell, type Ward } from "../doctor.ts"
import { eventLine, eventsOf } from "../events.ts"
import { CRON_JOBS, JOBS, refOf } from "../reading/kinds.ts"
import { wordsOf } from "../workload.ts"
import { refusedFinding } from "./creation.ts"
import { command } from "../command.ts"

/** How long after its time a job may start before it counts as missed, in milliseconds. */
const LATE_MS = 60_000

export const cronJobDoctor = doctor(CRON_JOBS, async (cron, ward) => {
  const { spec } = cron
  if (spec.suspend === true)
    return unwell("is suspended", [
      finding("cronjob-suspended", "it is suspended, so it starts no jobs", {
        mends: [
          mend(
            command`kubectl patch ${wordsOf(refOf(cron))} --type=merge -p '{"spec":{"suspend":false}}'`,
            "lets it start jobs",
          ),
        ],
      }),
    ])
  const zoneFinding = zoneProblem(cron)
  if (zoneFinding !== undefined) return unwell("starts no jobs", [zoneFinding])
  const parsed = parseZonedCron(spec.schedule)
  if (typeof parsed === "string")
    return unwell("starts no jobs", [
      finding("cronjob-schedule", `its schedule ${JSON.stringify(spec.schedule)} cannot be read: ${parsed}`),
    ])
  const zone = parsed.zone ?? spec.timeZone ?? "UTC"
  const next = nextRun(parsed.schedule, ward.reader.now, zone)
  if (next === undefined)
    return unwell("starts no jobs", [
      finding("cronjob-never", `its schedule ${JSON.stringify(spec.schedule)} names a time that never comes`),
    ])
  const jobs = (await ward.reader.list(JOBS, cron.metadata.namespace)).filter((job) => isOwnedBy(job, cron))
  const findings: Finding[] = [
    ...(await missed(cron, parsed.schedule, zone, jobs, ward)),
    ...(await lastJob(jobs, ward)),
  ]
  const summary = `next run ${formatTime(next)}, in ${humanDuration(next - ward.reader.now)}`
  return findings.some(({ weight }) => weight !== "note") ? unwell(summary, findings) : healthy(summary, findings)
})

function zoneProblem({ spec }: CronJob): Finding | undefined {
  return spec.timeZone === undefined || isTimeZone(spec.timeZone)
    ? undefined
    : finding("cronjob-time-zone", `its time zone ${JSON.stringify(spec.timeZone)} is not known, so it never starts`)
}

/** Returns why the last time of the schedule has passed without a job. */
async function missed(
  cron: CronJob,
  schedule: Parameters<typeof nextRun>[0],
  zone: string,
  jobs: readonly Job[],
  ward: Ward,
): Promise<readonly Finding[]> {
  const { now } = ward.reader
  const created = parseTime(cron.metadata.creationTimestamp ?? "") ?? now
  const last = parseTime(cron.status.lastScheduleTime ?? "") ?? created
  const from = Math.max(created, last)
  const due = "every" in schedule ? nextRun(schedule, from, zone) : lastRun(schedule, from, now - LATE_MS, zone)
  if (due === undefined || due > now - LATE_MS || due <= from) return []
  const events = await eventsOf(ward.reader, cron)
  const has = (reason: string) => events.find((one) => one.reason === reason)
  const active = cron.status.active ?? []
  const when = `the job of ${formatTime(due)} was not started`
  if (active.length > 0 && cron.spec.concurrencyPolicy === "Forbid") {
    const [first] = active
    const job = jobs.find(({ metadata }) => metadata.uid === first!.uid)
    const started = parseTime(job?.status.startTime ?? "")
    const behind = job === undefined ? [] : (await askThrough(ward, refOf(job))).findings
    // What keeps that job from its end is the cause.
    const causes = behind.filter(({ weight }) => weight === "broken")
    return [
      ...causes,
      finding(
        "cronjob-forbid",
        `${when}: job ${first!.name ?? ""} still runs${started === undefined ? "" : `, for ${humanDuration(now - started)}`}, and concurrencyPolicy Forbid allows one`,
        {
          evidence: has("JobAlreadyActive") === undefined ? [] : [eventLine(has("JobAlreadyActive")!)],
          hints: [
            "make the job shorter, or end it; or allow several (Allow), or have the new one end the old one (Replace)",
          ],
        },
      ),
      ...behind.filter((one) => !causes.includes(one)),
    ]
  }
  const failed = has("FailedCreate")
  if (failed !== undefined)
    return [await refusedFinding(cron, "its job", failed.message ?? "", [eventLine(failed)], ward)]
  const late = has("MissSchedule")
  const deadline = cron.spec.startingDeadlineSeconds
  if (late !== undefined || (deadline !== undefined && now - due > deadline * 1000))
    return [
      finding(
        "cronjob-missed",
        `${when}: its time passed while nobody could start it, and startingDeadlineSeconds of ${deadline ?? 0} s is over` +
          (deadline !== undefined && deadline < 10 ? "; below 10 s a job may never be started in time" : ""),
        { evidence: late === undefined ? [] : [eventLine(late)], hints: ["raise startingDeadlineSeconds"] },
      ),
    ]
  return [
    finding("cronjob-late", `${when}; perhaps the controller-manager does not run`, {
      sure: false,
      evidence: events.slice(0, 3).map(eventLine),
    }),
  ]
}

/** How many jobs are looked at, the newest first. */
const MOST_JOBS = 5

/** Returns why the newest job is not well, or the last one before it of which more is known. */
async function lastJob(jobs: readonly Job[], ward: Ward): Promise<readonly Finding[]> {
  const sorted = jobs.toSorted((a, b) =>
    (b.metadata.creationTimestamp ?? "").localeCompare(a.metadata.creationTimestamp ?? ""),
  )
  for (const job of sorted.slice(0, MOST_JOBS)) {
    const { findings } = await askThrough(ward, refOf(job))
    if (findings.some(({ weight }) => weight === "broken")) return findings
    // What one that has just begun will come to is told by those before it.
    if ((job.status.conditions ?? []).some(({ status: is }) => is === "True")) return findings
  }
  return []
}
