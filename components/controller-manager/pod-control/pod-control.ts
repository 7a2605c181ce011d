import { isNamespaceEnding, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodTemplateSpec } from "../../../pkg/api/core/v1/podtemplate/podtemplatespec.ts"
import { RecentTexts } from "../../../pkg/cache/recent-texts.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerRef } from "../../../pkg/controller/owned.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

type PodContext = Pick<ReconcileContext, "client" | "events">

/**
 * Creates a pod from a template, owned by `owner`, and records an event. Source: pkg/controller/controller_utils.go
 * RealPodControl.
 */
export async function createPod(
  owner: KubeObject,
  template: PodTemplateSpec,
  { client, events }: PodContext,
  named: { readonly name: string } | { readonly generateName: string } = { generateName: generateNameFor(owner) },
): Promise<Pod> {
  const { labels, annotations, finalizers } = template.metadata
  try {
    const pod = await client.create(Pod, {
      metadata: {
        ...named,
        namespace: owner.metadata.namespace,
        labels,
        annotations,
        finalizers,
        ownerReferences: [controllerRef(owner)],
      },
      spec: template.spec,
    })
    events.event(owner, "Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`)
    return pod
  } catch (err) {
    if (!isNamespaceEnding(err)) events.event(owner, "Warning", "FailedCreate", `Error creating: ${errorMessage(err)}`)
    throw err
  }
}

/** Deletes a pod of `owner`; succeeds if the pod is gone already. */
export async function deletePod(owner: KubeObject, pod: Pod, { client, events }: PodContext): Promise<void> {
  try {
    await client.delete(Pod, pod.metadata, { preconditions: uidOf(pod) })
    events.event(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`)
  } catch (err) {
    if (isNotFound(err)) return
    events.event(owner, "Warning", "FailedDelete", `Error deleting: ${errorMessage(err)}`)
    throw err
  }
}

const uidOf = (pod: Pod): { readonly uid?: string } => (pod.metadata.uid === undefined ? {} : { uid: pod.metadata.uid })

/** Pods of one controller share the text. */
const generateNames = new RecentTexts()
/** Returns the prefix of the names of the owner's pods: its name and a dash. */
const generateNameFor = (owner: KubeObject): string => generateNames.of(`${owner.metadata.name}-`)

/**
 * Runs `task` `count` times, in batches of 1, 2, 4 … at once, and stops after the first batch with a failure: a quota
 * that refuses one pod should not be asked a thousand times. Returns the number of successes and the first failure; a
 * refusal because the namespace is being deleted is no failure. Source: controller_utils / slowStartBatch.
 */
export async function slowStart(
  count: number,
  task: () => Promise<unknown>,
): Promise<{ readonly succeeded: number; readonly failure?: unknown }> {
  let succeeded = 0
  for (let batch = 1, left = count; left > 0; batch = Math.min(2 * batch, left)) {
    const results = await Promise.allSettled(Array.from({ length: Math.min(batch, left) }, task))
    succeeded += results.filter(({ status }) => status === "fulfilled").length
    const failed = results.find((result) => result.status === "rejected")
    if (failed !== undefined)
      return isNamespaceEnding(failed.reason) ? { succeeded } : { succeeded, failure: failed.reason as unknown }
    left -= results.length
  }
  return { succeeded }
}
