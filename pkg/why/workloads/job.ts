import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Job } from "../../api/batch/v1/job.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { eventLine, eventsOf, seenAt } from "../events.ts"
import { pullFailure } from "../pod/image.ts"
import { EVENTS, JOBS, refOf } from "../reading/kinds.ts"
import { wordsOf } from "../workload.ts"
import { podCondition } from "../../pods/pod-state.ts"
import { queuedFindings } from "./queue.ts"
import { creationFinding } from "./creation.ts"
import { podFindings, podsOfOwner } from "./pods.ts"
import { command } from "../command.ts"
import { changedAt, latest, USUAL_MS, within } from "../under-way.ts"

/** The managedBy of Jobs that the Job controller runs; those without one are its, too. */
const OWN = "kubernetes.io/job-controller"

export const jobDoctor = doctor(JOBS, async (job, ward) => {
  const { status, spec } = job
  const is = (type: string) => status.conditions?.find((one) => one.type === type && one.status === "True")
  if (is("Complete") !== undefined) return healthy("is complete")
  const failed = is("Failed") ?? is("FailureTarget")
  const pods = await podsOfOwner(job, ward)
  const queued = spec.suspend === true ? await queuedFindings(job, ward) : []
  if (queued.length > 0) return unwell("waits in a queue", queued)
  if (spec.suspend === true)
    return unwell("is suspended", [
      finding("job-suspended", "it is suspended, so it runs no pods", {
        mends: [
          mend(
            command`kubectl patch ${wordsOf(refOf(job))} --type=merge -p '{"spec":{"suspend":false}}'`,
            "lets it run",
          ),
        ],
      }),
    ])
  if (spec.parallelism === 0)
    return unwell("runs no pods", [
      finding("job-parallelism", "its parallelism is 0, so it runs no pods", {
        mends: [
          mend(
            command`kubectl patch ${wordsOf(refOf(job))} --type=merge -p '{"spec":{"parallelism":1}}'`,
            "runs one pod at a time",
          ),
        ],
      }),
    ])
  if (failed !== undefined) {
    const about = failedFinding(job, failed.reason ?? "", failed.message ?? "")
    const events = (await eventsOf(ward.reader, job)).filter(({ type }) => type === "Warning").map(eventLine)
    const first = { ...about, cause: { ...about.cause, evidence: [...about.cause.evidence, ...events.slice(0, 2)] } }
    // Only pods that have ended by themselves say more than that there is no time or no try left.
    const own = failed.reason === "DeadlineExceeded" ? await neverStarted(job, ward) : await podFindings(pods, ward)
    const behind = own.map((one) => ({
      ...one,
      cause: { ...one.cause, evidence: [...one.cause.evidence, first.cause.message] },
    }))
    return unwell(`has failed: ${failed.reason ?? ""}`, [...behind, ...(behind.length === 0 ? [first] : [])])
  }
  const manager = spec.managedBy ?? OWN
  if (manager !== OWN && status.startTime === undefined)
    return unwell(`is left to ${manager}`, [
      within(
        finding(
          "job-managed-elsewhere",
          `its managedBy leaves it to ${manager}, which has not started it: perhaps that controller does not run, so nobody makes its pods`,
          {
            sure: false,
            hints: [
              `install or start the controller ${manager}; without managedBy the Job controller runs a Job, and the field cannot be changed: create it again`,
            ],
          },
        ),
        ward.reader.now,
        changedAt(job),
        USUAL_MS,
      ),
    ])
  const { active = 0, succeeded = 0, failed: failures = 0 } = status
  const summary = `${succeeded} of ${spec.completions ?? 1} pods have ended with success, ${active} run${failures > 0 ? `, ${failures} failed` : ""}`
  const creation = active === 0 ? await creationFinding(job, "a pod", ward) : undefined
  const past = creation === undefined && active > 0 ? await pastFailures(pods, ward) : undefined
  if (past !== undefined) return healthy(summary, past)
  const findings: Finding[] = [...(creation === undefined ? [] : [creation]), ...(await podFindings(pods, ward))]
  if (findings.length > 0) return unwell(summary, findings)
  // It goes on with fewer pods at a time than it may have.
  const fewer = active > 0 ? await creationFinding(job, "a further pod", ward) : undefined
  const notes = fewer === undefined ? [] : [{ ...fewer, weight: "note" as const }]
  const since = parseTime(status.startTime ?? "")
  return healthy(`${summary}${since === undefined ? "" : `, for ${humanDuration(ward.reader.now - since)}`}`, notes)
})

/** How much longer than a failed pod its successor must have run to count as better, in milliseconds. */
const MARGIN_MS = 30_000

/**
 * Returns why earlier pods of a Job failed, as notes, where those that run now are well: they run for longer than the
 * failed ones did, or what ended these was not their program. Undefined where it is not so, or none failed.
 */
async function pastFailures(pods: readonly Pod[], ward: Ward): Promise<readonly Finding[] | undefined> {
  const failed = pods.filter(({ status }) => status.phase === "Failed")
  const live = pods.filter(({ status }) => status.phase === "Running")
  if (failed.length === 0 || live.length === 0) return undefined
  const ages = live.map(({ status }) => ward.reader.now - (parseTime(status.startTime ?? "") ?? ward.reader.now))
  // One that was deleted and is still there is held by somebody.
  const isPast = (pod: Pod) =>
    pod.metadata.deletionTimestamp === undefined &&
    (podCondition(pod, "DisruptionTarget")?.status === "True" ||
      ages.every((age) => age > 2 * lifetimeOf(pod) + MARGIN_MS))
  if (!failed.every(isPast) || (await podFindings(live, ward)).length > 0) return undefined
  return (await podFindings(failed, ward)).map((one): Finding => ({ ...one, weight: "note" }))
}

/** How long the containers of a pod ran, in milliseconds. */
const lifetimeOf = ({ status }: Pod): number => {
  const ends = (status.containerStatuses ?? []).map(({ state }) => parseTime(state?.terminated?.finishedAt ?? ""))
  return (latest(ends) ?? Infinity) - (parseTime(status.startTime ?? "") ?? 0)
}

/** Returns that no pod of a Job whose time was over got its image: such pods are gone, and their Events are left. */
async function neverStarted({ metadata }: Job, { reader }: Ward): Promise<readonly Finding[]> {
  const { name = "", namespace } = metadata
  const isItsPod = (pod = "") => pod.startsWith(`${name}-`) && /^(?:\d+-)?[a-z0-9]{5}$/.test(pod.slice(name.length + 1))
  const events = ((await reader.listIfAllowed(EVENTS, namespace)) ?? []).filter(
    ({ involvedObject: about }) => about.kind === "Pod" && isItsPod(about.name),
  )
  if (events.some(({ reason }) => reason === "Started")) return []
  for (const event of events.toSorted((a, b) => seenAt(b) - seenAt(a))) {
    const [, image, says = ""] = /^Failed to pull image "([^"]+)": (.*)$/s.exec(event.message ?? "") ?? []
    const failure = image === undefined ? undefined : pullFailure(image, says)
    if (failure !== undefined)
      return [
        finding(failure.code, failure.says, {
          evidence: [`${event.involvedObject.name}: ${eventLine(event)}`],
          hints: ["correct the image, and create the job again"],
        }),
      ]
  }
  return []
}

function failedFinding({ spec }: Job, reason: string, message: string): Finding {
  switch (reason) {
    case "DeadlineExceeded":
      return finding(
        "job-deadline",
        `it ran longer than its activeDeadlineSeconds of ${spec.activeDeadlineSeconds ?? 0} s, and was ended`,
        { evidence: [message], hints: ["raise the deadline, or find out what takes so long; then create it again"] },
      )
    case "BackoffLimitExceeded":
    case "MaxFailedIndexesExceeded":
    case "FailedIndexes":
      return finding(
        "job-out-of-retries",
        `it is out of retries: its pods failed more often than its backoffLimit of ${spec.backoffLimit ?? 6} allows`,
        {
          evidence: [message],
          hints: [
            "mend what makes the pods fail, and create the job again",
            ...(spec.template.spec.restartPolicy === "OnFailure"
              ? ["with restartPolicy OnFailure the last pod is deleted, with its log; with Never failed pods are kept"]
              : []),
          ],
        },
      )
    case "PodFailurePolicy":
      return finding("job-pod-failure-policy", `its podFailurePolicy ended it: ${message}`)
    default:
      return finding("job-failed", `it has failed: ${reason}${message === "" ? "" : `: ${message}`}`)
  }
}
