import { isAlreadyExists } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { CronJob, type CronJobStatus } from "../../../pkg/api/batch/v1/cronjob.ts"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import type { Key } from "../../../pkg/client/informer.ts"
import {
  defineController,
  type Controller,
  type ReconcileContext,
  watching,
} from "../../../pkg/controller/controller.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import { controllerOf, controllerRef, owned } from "../../../pkg/controller/owned.ts"
import { parseZonedCron } from "../../../pkg/cron/schedule.ts"
import { formatInZone, isTimeZone } from "../../../pkg/cron/zone.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { dueOf, type Timetable } from "./due.ts"
import { deleteJob, endOf, trimHistory } from "./history.ts"

const SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"

/**
 * The last seen schedule of a CronJob. Times before `since` (milliseconds since the epoch) are not due; 0 for the
 * schedule that was seen first.
 */
interface SeenSchedule {
  readonly text: string
  readonly since: number
  readonly parsed: ReturnType<typeof parseZonedCron>
}

const ofCronJob = owned(Job, CronJob)

/** A Job event concerns its CronJob when the Job is created, ends or is deleted, not when its counters change. */
const ownJobs = watching(Job, (job, context, old, deleted) =>
  old !== undefined && isSameToCronJob(job, old) ? [] : ofCronJob.keys(job, context, old, deleted),
)

function isSameToCronJob(job: Job, old: Job): boolean {
  const {
    metadata: { uid, deletionTimestamp, ownerReferences },
    status: { completionTime },
  } = old
  return (
    job.metadata.uid === uid &&
    job.metadata.deletionTimestamp === deletionTimestamp &&
    job.status.completionTime === completionTime &&
    endOf(job) === endOf(old) &&
    deepEqual(job.metadata.ownerReferences, ownerReferences)
  )
}

/** Source: pkg/controller/cronjob/metrics, ExponentialBuckets(1, 2, 10). */
const SKEW_BUCKETS = Array.from({ length: 10 }, (_, i) => 2 ** i)

/**
 * Starts Jobs on schedule. Between two runs it sleeps on one timer. Source:
 * pkg/controller/cronjob/cronjob_controllerv2.go. Differs from upstream: timers are exact, so upstream's extra 100 ms
 * are left out; schedules without a zone are in UTC.
 */
export function cronJobController(registry?: Registry): Controller<CronJob> {
  const skew = registry
    ?.histogram(
      "cronjob_controller_job_creation_skew_duration_seconds",
      "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
      SKEW_BUCKETS,
    )
    .with()
  const known = new Map<Key, SeenSchedule>()
  return defineController<CronJob>({
    name: "cronjob-controller",
    reconciles: CronJob,
    watches: [ownJobs],
    async reconcile(key, context) {
      const cron = context.informers.of(CronJob).get(key)
      if (cron === undefined) {
        known.delete(key)
        return
      }
      const text = `${cron.spec.timeZone ?? ""} ${cron.spec.schedule}`
      const before = known.get(key)
      // A new schedule counts from when it was set: earlier times are not missed runs.
      const current =
        before?.text === text
          ? before
          : { text, since: before === undefined ? 0 : context.clock.now(), parsed: parseZonedCron(cron.spec.schedule) }
      known.set(key, current)
      return sync(cron, current, { ...context, created: (late) => skew?.observe(late) })
    },
  })
}

interface CronContext extends ReconcileContext {
  /** Called when a Job was created, with the seconds since its scheduled time. */
  readonly created: (late: number) => void
}

async function sync(
  cron: CronJob,
  known: SeenSchedule,
  context: CronContext,
): Promise<{ readonly requeueAfter: number } | undefined> {
  const jobs = context.informers.of(Job).controlledBy(cron)
  const seen = takeStock(cron, jobs, context)
  const round: Round = { status: seen, requeueAfter: undefined }
  try {
    await startDue(cron, jobs, round, known, context)
  } finally {
    await trimHistory(cron, jobs, context)
    if (!deepEqual(round.status, cron.status))
      await context.client.updateStatus(CronJob, { ...cron, status: round.status })
  }
  return round.requeueAfter === undefined ? undefined : { requeueAfter: round.requeueAfter }
}

/** The result of one reconcile, filled step by step, so that the status is written even if a later step fails. */
interface Round {
  status: CronJobStatus
  requeueAfter: number | undefined
}

/** Updates the status from the existing Jobs: active Jobs that have ended or are gone are removed. */
function takeStock(cron: CronJob, jobs: readonly Job[], { events }: ReconcileContext): CronJobStatus {
  const before = cron.status.active ?? []
  let { lastSuccessfulTime } = cron.status
  const active = before.filter(({ uid, name }) => {
    const job = jobs.find(({ metadata }) => metadata.uid === uid)
    const end = job === undefined ? undefined : endOf(job)
    if (job === undefined) events.event(cron, "Normal", "MissingJob", `Active job went missing: ${name}`)
    if (end !== undefined)
      events.event(cron, "Normal", "SawCompletedJob", `Saw completed job: ${name}, condition: ${end}`)
    return job !== undefined && end === undefined
  })
  for (const job of jobs) {
    const { completionTime } = job.status
    const end = endOf(job)
    if (end === "Complete" && completionTime !== undefined && completionTime > (lastSuccessfulTime ?? ""))
      lastSuccessfulTime = completionTime
    if (end === undefined && !active.some(({ uid }) => uid === job.metadata.uid)) {
      events.event(
        cron,
        "Warning",
        "UnexpectedJob",
        `Saw a job that the controller did not create or forgot: ${job.metadata.name}`,
      )
    }
  }
  if (active.length === before.length && lastSuccessfulTime === cron.status.lastSuccessfulTime) return cron.status
  const { active: _, ...others } = cron.status
  return {
    ...others,
    ...(active.length === 0 ? {} : { active }),
    ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }),
  }
}

/**
 * Returns the parsed schedule; undefined for one that is suspended. An invalid one is reported in an event and not
 * retried until the CronJob changes.
 */
function timetableOf(cron: CronJob, { parsed }: SeenSchedule, { events }: ReconcileContext): Timetable | undefined {
  const { schedule: text, timeZone } = cron.spec
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    events.event(
      cron,
      "Warning",
      "UnknownTimeZone",
      `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone ${timeZone}`,
    )
    return undefined
  }
  if (cron.spec.suspend === true) return undefined
  if (text.includes("TZ")) {
    events.event(
      cron,
      "Warning",
      "UnsupportedSchedule",
      `CRON_TZ or TZ used in schedule ${JSON.stringify(text)} is not officially supported, see ` +
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
    )
  }
  if (typeof parsed === "string") {
    events.event(cron, "Warning", "UnparseableSchedule", `unparseable schedule: ${JSON.stringify(text)} : ${parsed}`)
    return undefined
  }
  return { schedule: parsed.schedule, zone: parsed.zone ?? timeZone ?? "UTC" }
}

async function startDue(
  cron: CronJob,
  jobs: readonly Job[],
  round: Round,
  known: SeenSchedule,
  context: CronContext,
): Promise<void> {
  const { clock, events } = context
  if (cron.metadata.deletionTimestamp !== undefined) return
  const timetable = timetableOf(cron, known, context)
  if (timetable === undefined) return
  const now = clock.now()
  const due = dueOf(cron, timetable, now, known.since)
  if (typeof due === "string")
    return events.event(cron, "Warning", "InvalidSchedule", `invalid schedule: ${cron.spec.schedule} : ${due}`)
  const { at, tooManyMissed, next } = due
  if (next !== undefined) round.requeueAfter = next - now
  if (at === undefined) return
  if (tooManyMissed)
    events.event(
      cron,
      "Warning",
      "TooManyMissedTimes",
      "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
    )
  const name = `${cron.metadata.name}-${Math.floor(at / 60_000)}`
  if ((round.status.active ?? []).some((job) => job.name === name) || cron.status.lastScheduleTime === formatTime(at))
    return
  const running = round.status.active ?? []
  if (cron.spec.concurrencyPolicy === "Forbid" && running.length > 0) {
    events.event(
      cron,
      "Normal",
      "JobAlreadyActive",
      "Not starting job because prior execution is running and concurrency policy is Forbid",
    )
    return
  }
  if (cron.spec.concurrencyPolicy === "Replace") {
    for (const job of jobs.filter(({ metadata }) => running.some(({ uid }) => uid === metadata.uid))) {
      await deleteJob(cron, job, context)
      round.status = {
        ...round.status,
        active: (round.status.active ?? []).filter(({ uid }) => uid !== job.metadata.uid),
      }
    }
  }
  const job = await createJob(cron, name, formatInZone(cron.spec.timeZone ?? "UTC", at), context)
  if (job === undefined) return
  context.created((Date.parse(job.metadata.creationTimestamp ?? "") - at) / 1000)
  const {
    apiVersion,
    kind,
    metadata: { uid, namespace, resourceVersion },
  } = job
  round.status = {
    ...round.status,
    active: [...(round.status.active ?? []), { apiVersion, kind, name, namespace, uid, resourceVersion }],
    lastScheduleTime: formatTime(at),
  }
}

/**
 * Creates the Job of one scheduled time. Its name derives from the time, so it is never created twice. Undefined when
 * another object has the name.
 */
async function createJob(
  cron: CronJob,
  name: string,
  scheduledAt: string,
  { client, events }: ReconcileContext,
): Promise<Job | undefined> {
  const { jobTemplate } = cron.spec
  const { labels, annotations } = jobTemplate.metadata
  const { namespace } = cron.metadata
  try {
    const job = await client.create(Job, {
      metadata: {
        name,
        namespace,
        labels,
        annotations: { ...annotations, [SCHEDULED_AT]: scheduledAt },
        ownerReferences: [controllerRef(cron)],
      },
      spec: jobTemplate.spec,
    })
    events.event(cron, "Normal", "SuccessfulCreate", `Created job ${name}`)
    return job
  } catch (err) {
    if (isAlreadyExists(err)) {
      // An earlier reconcile may have created the Job without writing the status.
      const job = await client.get(Job, { name, namespace })
      return controllerOf(job)?.uid === cron.metadata.uid ? job : undefined
    }
    events.event(cron, "Warning", "FailedCreate", `Error creating job: ${errorMessage(err)}`)
    throw err
  }
}
