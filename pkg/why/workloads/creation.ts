import type { KubeObject } from "../../apimachinery/resource.ts"
import { finding, nameOf, type Finding } from "../answer.ts"
import { command } from "../command.ts"
import { controllerOf, isOwnedBy, type Ward } from "../doctor.ts"
import { eventLine, eventsOf, seenAt } from "../events.ts"
import { refusalFinding } from "../policy/refusals.ts"
import { PODS } from "../reading/kinds.ts"

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
  const taken = await takenName(owner, message, evidence, ward)
  if (taken !== undefined) return taken
  const claim = /^Create Claim (\S+) for Pod /i.exec(message)?.[1]
  return refusedFinding(owner, claim === undefined ? what : `claim ${claim} of its pod`, message, evidence, ward)
}

/** Returns that a pod's name is taken by one that is not the owner's: a StatefulSet gives its pods fixed names. */
async function takenName(
  owner: KubeObject,
  message: string,
  evidence: readonly string[],
  { reader }: Ward,
): Promise<Finding | undefined> {
  const name = /pods "([\w.-]+)" already exists/.exec(message)?.[1]
  const { namespace = "" } = owner.metadata
  const pod = name === undefined ? undefined : await reader.get(PODS, namespace, name)
  if (name === undefined || pod === undefined || isOwnedBy(pod, owner)) return undefined
  const other = controllerOf(pod)
  return finding(
    "pod-name-taken",
    `Pod ${namespace}/${name} exists already and is ${other === undefined ? "nobody's" : `that of ${nameOf(other)}`}, so that it cannot make its own of this name`,
    { evidence, hints: [`${command`kubectl delete pod ${name} -n ${namespace}`} makes the name free`] },
  )
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
