import type { KubeObject } from "../../apimachinery/resource.ts"
import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { eventLine, eventsOf, seenAt } from "../events.ts"
import { refusalFinding } from "../policy/refusals.ts"

interface Condition {
  readonly type: string
  readonly status: string
  readonly message?: string | undefined
}

/** Returns why a controller cannot create its pods: by its condition, or by its newest Event about it. */
export async function creationFinding(
  owner: KubeObject & {
    readonly status: { readonly conditions?: readonly Condition[] | undefined }
  },
  what: string,
  ward: Ward,
): Promise<Finding | undefined> {
  const condition = owner.status.conditions?.find(({ type, status }) => type === "ReplicaFailure" && status === "True")
  const event = await newestFailure(owner, ward)
  const message = condition?.message ?? event?.message
  if (message === undefined || message === "") return undefined
  const evidence = event === undefined ? [`ReplicaFailure: ${message}`] : [event.line]
  const claim = /^Create Claim (\S+) for Pod /i.exec(message)?.[1]
  return refusedFinding(owner, claim === undefined ? what : `claim ${claim} of its pod`, message, evidence, ward)
}

/** Returns why `what` was not created for its owner, by the words of the API server. */
export const refusedFinding = async (
  owner: KubeObject,
  what: string,
  message: string,
  evidence: readonly string[],
  ward: Ward,
): Promise<Finding> =>
  (await refusalFinding(message, owner, what, evidence, ward)) ??
  finding("creation-failed", `${what} cannot be created: ${message}`, { evidence })

/** The newest Event about a failed creation, if no later one says that it worked. */
async function newestFailure(
  owner: KubeObject,
  { reader }: Ward,
): Promise<{ readonly message: string; readonly line: string } | undefined> {
  const events = await eventsOf(reader, owner)
  const failed = events.find(({ reason }) => reason === "FailedCreate")
  if (failed === undefined) return undefined
  const made = events.find(({ reason }) => reason === "SuccessfulCreate")
  if (made !== undefined && seenAt(made) > seenAt(failed)) return undefined
  return { message: failed.message ?? "", line: eventLine(failed) }
}
