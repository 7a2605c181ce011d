import type { LabelSelector } from "../../apimachinery/meta.ts"
import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import type { Job } from "../../api/batch/v1/job.ts"
import { errorMessage } from "../../errors/error-message.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { controllerOf, describeAnnotations, describeLabels } from "./metadata.ts"
import { describePodTemplate } from "./pod-template.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { longTime } from "./times.ts"

const JOBS = { group: "batch", version: "v1", resource: "jobs" }
/** Longer lists of indexes are cut at the next comma. */
const MOST_INDEXES = 50

export const describeJob: Describer = async (describing, namespace, name) => {
  const job = await describing.client.get<Job>(JOBS, namespace, name)
  const events = await eventsOf(describing, job)
  const { metadata, spec } = job
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "Selector:", selectorOf(spec.selector))
    describeLabels(w, "Labels", metadata.labels)
    describeAnnotations(w, "Annotations", metadata.annotations)
    const controller = controllerOf(metadata)
    if (controller !== undefined) w.row(0, "Controlled By:", controller)
    describeSettings(w, job)
    describeProgress(w, job, describing)
    describePodTemplate(w, spec.template, describing)
    describeEvents(w, events, describing.now())
  })
}

/** Returns the text of a selector that objects may lack. */
export function selectorOf(selector: LabelSelector | undefined): string {
  try {
    return fromLabelSelector(selector).toString()
  } catch (err) {
    return `Failed to get selector: ${errorMessage(err)}`
  }
}

function describeSettings(w: PrefixWriter, { spec }: Job): void {
  const { parallelism, completions, completionMode, suspend, backoffLimit, ttlSecondsAfterFinished: ttl } = spec
  if (parallelism !== undefined) w.row(0, "Parallelism:", parallelism)
  w.row(0, "Completions:", completions ?? "<unset>")
  if (completionMode !== undefined) w.row(0, "Completion Mode:", completionMode)
  if (suspend !== undefined) w.row(0, "Suspend:", suspend)
  if (backoffLimit !== undefined) w.row(0, "Backoff Limit:", backoffLimit)
  if (ttl !== undefined) w.row(0, "TTL Seconds After Finished:", ttl)
}

function describeProgress(w: PrefixWriter, { spec, status }: Job, { zone }: Describing): void {
  const { startTime, completionTime, active = 0, ready, succeeded = 0, failed = 0, completedIndexes = "" } = status
  if (startTime) w.row(0, "Start Time:", longTime(startTime, zone))
  if (completionTime) w.row(0, "Completed At:", longTime(completionTime, zone))
  if (startTime && completionTime)
    w.row(0, "Duration:", humanDuration((parseTime(completionTime) ?? 0) - (parseTime(startTime) ?? 0)))
  const { activeDeadlineSeconds: deadline, completionMode } = spec
  if (deadline !== undefined) w.row(0, "Active Deadline Seconds:", `${deadline}s`)
  const running = ready === undefined ? `${active} Active` : `${active} Active (${ready} Ready)`
  w.row(0, "Pods Statuses:", `${running} / ${succeeded} Succeeded / ${failed} Failed`)
  if (completionMode === "Indexed") w.row(0, "Completed Indexes:", indexesText(completedIndexes))
}

function indexesText(indexes: string): string {
  const comma = indexes.indexOf(",", MOST_INDEXES)
  return indexes === "" ? "<none>" : comma < 0 ? indexes : `${indexes.slice(0, comma + 1)}...`
}
