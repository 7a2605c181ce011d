import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue, notSupported } from "../../../apimachinery/validation/field-errors.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { parseZonedCron } from "../../../cron/schedule.ts"
import { isTimeZone } from "../../../cron/zone.ts"
import type { CronJobSpec } from "./cronjobspec.ts"
import { validateJobSpec } from "./job-validation.ts"
import { pushAll } from "../../../lists/push-all.ts"

/** Rules of cron jobs. Source: validateCronJobSpec in pkg/apis/batch/validation/validation.go. */

/** The longest name of a cron job: the names of its jobs have eleven characters more, and at most 63. */
const LONGEST_NAME = 52

interface CronJobView {
  readonly metadata: ObjectMeta
  readonly spec: CronJobSpec
}

export const validateNewCronJob = ({ metadata: { name = "" } }: CronJobView): readonly Cause[] =>
  name.length > LONGEST_NAME
    ? [invalidValue("metadata.name", name, `must be no more than ${LONGEST_NAME} characters`)]
    : []

export function validateCronJob({ spec }: CronJobView, old: CronJobSpec | undefined): readonly Cause[] {
  const { timeZone, jobTemplate } = spec
  const causes: Cause[] = [...scheduleFaults(spec, old)]
  if (timeZone !== undefined && timeZone !== old?.timeZone) pushAll(causes, timeZoneFaults(timeZone))
  pushAll(causes, validateJobSpec(jobTemplate.spec, "spec.jobTemplate.spec"))
  if (jobTemplate.spec.selector !== undefined)
    causes.push(
      invalidValue("spec.jobTemplate.spec.selector", jobTemplate.spec.selector, "`selector` will be auto-generated"),
    )
  if (jobTemplate.spec.manualSelector === true)
    causes.push(notSupported("spec.jobTemplate.spec.manualSelector", true, ["nil", "false"]))
  return causes
}

function scheduleFaults({ schedule, timeZone }: CronJobSpec, old: CronJobSpec | undefined): readonly Cause[] {
  // a missing schedule was reported before
  if (schedule === "") return []
  const parsed = parseZonedCron(schedule)
  const causes: Cause[] = typeof parsed === "string" ? [invalidValue("spec.schedule", schedule, parsed)] : []
  if (!schedule.includes("TZ")) return causes
  if (old?.schedule.includes("TZ") !== true)
    causes.push(
      invalidValue("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    )
  else if (timeZone !== undefined)
    causes.push(invalidValue("spec.schedule", schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
  return causes
}

const PART = /^[A-Za-z.\-_0-9+]{1,14}$/

function timeZoneFaults(timeZone: string): readonly Cause[] {
  const wrong = (why: string) => invalidValue("spec.timeZone", timeZone, why)
  if (timeZone === "") return [wrong("timeZone must be nil or non-empty string")]
  const unknown = wrong(`unknown time zone ${timeZone}`)
  if (timeZone.split("/").some((part) => part === "." || part === ".." || part.startsWith("-") || !PART.test(part)))
    return [unknown]
  const causes: Cause[] =
    timeZone.toLowerCase() === "local"
      ? [wrong("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")]
      : []
  // Go accepts this name for the time zone of the machine
  return timeZone === "Local" || isTimeZone(timeZone) ? causes : [...causes, unknown]
}
