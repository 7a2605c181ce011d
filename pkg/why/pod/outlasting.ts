import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { latest, PROGRESS_MS, within } from "../under-way.ts"

/**
 * Returns that containers of a pod which is to end have ended with success, and others run on: a proxy beside the
 * program of a Job, for example. Undefined for other pods.
 */
export function outlastingFinding({ spec, status }: Pod, { reader }: Ward): Finding | undefined {
  if (spec.restartPolicy === "Always" || spec.restartPolicy === undefined) return undefined
  const statuses = status.containerStatuses ?? []
  const ended = statuses.filter(({ state }) => state?.terminated?.exitCode === 0)
  const running = statuses.filter(({ state }) => state?.running !== undefined)
  if (ended.length === 0 || running.length === 0 || ended.length + running.length < statuses.length) return undefined
  const since = latest(ended.map(({ state }) => parseTime(state?.terminated?.finishedAt ?? "")))
  const age = since === undefined ? "" : ` ${humanDuration(reader.now - since)} ago`
  const names = running.map(({ name }) => name)
  const one = finding(
    "containers-run-on",
    `${ended.map(({ name }) => `container ${name}`).join(" and ")} ended with success${age}, and ${names.join(", ")} ` +
      `${names.length === 1 ? "runs" : "run"} on: a pod ends when all its containers have, so perhaps ` +
      `${names.length === 1 ? "this one" : "one of these"} should be a sidecar`,
    {
      weight: "waiting",
      sure: false,
      hints: ["a sidecar is one of the initContainers, with restartPolicy: Always: it is ended when the others have"],
    },
  )
  return within(one, reader.now, since, PROGRESS_MS)
}
